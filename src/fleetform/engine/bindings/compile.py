"""Programs: an owner's bindings, compiled once, in an order in which each follows those that it refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import UNSET, structs

from fleetform.engine.bindings.builtin import PLAIN, built_in, is_built_in, probably_meant
from fleetform.engine.bindings.conversions import Conversion, ConversionError, convert
from fleetform.engine.bindings.cycles import in_order
from fleetform.engine.bindings.plugin_variables import Make, PluginVariables, constant
from fleetform.engine.bindings.templates import Template, compile_template
from fleetform.engine.bindings.value_sources import (
    OUTPUT,
    ValueSource,
    cluster_field,
    either,
    field_on_cluster,
    literal,
    object_field,
    parts_of,
    plugin_output,
)
from fleetform.model.conventions import VariableSyntax
from fleetform.model.kinds.definition import ObjectFieldRef, Output
from fleetform.model.kinds.preset import Binding, OwnerSpec
from fleetform.model.objects import At, Object, Path
from fleetform.model.results.bindings import Section, Unresolved
from fleetform.model.results.decisions import Secret
from fleetform.model.shape import did_you_mean
from fleetform.syntax.variables import ExpandError, as_text, variable_references, variable_references_in

_FIELDS: tuple[tuple[str, Section], ...] = (("controlPlaneBindings", "control-plane"), ("bindings", "downstream"))
SOURCES = ("value", "objectFieldRef", "clusterFieldRef", "pluginOutputRef")
_BIND_IT = "bind it, or write $$( for the text $("
# What a default or optional makes up for. A value that nobody has read yet is not missing, and a wrong one stays wrong.
_MADE_UP_FOR = ("", "config-missing", "dependency")


class LocatedBinding(NamedTuple):
    """A binding, its section and its path in the owner."""

    section: Section
    path: Path
    binding: Binding


class CompiledBinding(NamedTuple):
    """One binding, compiled."""

    name: str
    section: Section
    path: Path
    template: Template
    source: ValueSource


class Variable(NamedTuple):
    """One entry of substitute: what is written, and what fills it in if it refers to variables."""

    name: str
    path: Path
    written: object
    template: Template | None


class Program:
    """An owner's bindings in the order of their evaluation, and what is wrong with them on every cluster.

    crossings are variables of the control plane that refer to variables of the cluster, which have no value yet when
    the former are resolved (R3-20).
    """

    def __init__(self, object_: Object[OwnerSpec]) -> None:
        self.object = object_
        self.syntax: VariableSyntax = object_.conventions.variables
        self.namespaces: tuple[str, ...] = (object_.ref.organization,)
        if object_.conventions.reads_own_namespace:
            # Fleeet looks for objects beside the module, whose namespace need not be the organization.
            self.namespaces = (object_.metadata.namespace or "default", object_.ref.organization)
        # Of two bindings of one name the first counts; a check reports the second.
        self.bindings = {each.binding.name: each for each in reversed(list(written_bindings(object_)))}
        # Maps and lists, which have no form within a text.
        self.aggregates = {
            name
            for name, each in self.bindings.items()
            if isinstance(each.binding.value, (dict, list)) and each.binding.as_ is None
        }
        graph = {
            name: sorted({other for other in references_in(each.binding, self.syntax) if other in self.bindings})
            for name, each in self.bindings.items()
        }
        self.cycles, ordered = in_order(graph)
        self._cycle_of = {name: cycle for cycle in self.cycles for name in cycle}
        self.crossings: list[tuple[str, str]] = []
        self.steps: list[CompiledBinding] = []
        self._slots: dict[str, int] = {}
        # Those of a cycle need no order: they cannot be resolved, and all that refer to them come later.
        for name in (*self._cycle_of, *ordered):
            step = self._compile(name)
            self._slots[name] = len(self.steps)
            self.steps.append(step)
        bindings = list(self.bindings.values())
        self.reads_cluster = any(
            each.section == "downstream" and each.binding.object_field_ref is not None for each in bindings
        )
        # The definitions whose outputs are read.
        refs = [each.binding.plugin_output_ref for each in bindings]
        self.producers = sorted({each.definition for each in refs if each is not None})
        self.varying = [(index, each.template.make) for index, each in enumerate(self.steps) if each.template.varies]
        self.variables = [
            Variable(name, path, value, _as_variable(name, self.compile(value, object_.at(*path)), object_.at(*path)))
            for name, path, value in substitutions(object_)
        ]
        # What makes the values of those that refer to variables.
        self.substituted = [each.template.make for each in self.variables if each.template is not None]

    @property
    def names(self) -> list[str]:
        """Every variable that may be referred to, but for labels and facts."""
        return [*self.bindings, *PLAIN]

    @property
    def references(self) -> Iterator[ObjectFieldRef]:
        """The fields of objects that are read in the control plane."""
        for each in self.bindings.values():
            if each.section == "control-plane" and each.binding.object_field_ref is not None:
                yield each.binding.object_field_ref

    def compile(self, tree: object, at: At) -> Template | None:
        """What fills in a tree that this owner wrote; None if it refers to no variable."""
        return compile_template(tree, self._template_of(at), self.syntax, at)

    def compile_value(self, tree: object, at: At) -> Template | None:
        """The same for an option's value, in which what cannot be resolved stays where it stands."""
        return compile_template(tree, self._template_of(at), self.syntax, at, with_holes=True)

    def outputs(self, outputs: Iterable[Output], definition: Object[object]) -> dict[str, ValueSource]:
        """What a definition offers to others, with the variables of this plugin."""
        found: dict[str, ValueSource] = {}
        for index, each in enumerate(outputs):
            at = definition.at("spec", "outputs", index)
            if each.object_field_ref is not None:
                ref = each.object_field_ref
                # An object that the plugin itself makes is on the cluster.
                here = object_field(self.compile, each.name, ref, at, self.namespaces)
                source = either(here, field_on_cluster(self.compile, each.name, ref, at, f"{OUTPUT}{each.name}"))
                names = tuple(
                    name for part in parts_of(ref) for name in variable_references_in(part, syntax=self.syntax)
                )
                source = source._replace(names=names)
            elif each.value is None:
                message = f"the output {each.name} is null"
                source = ValueSource(constant(Unresolved("value-type", message, at=at, reported=True)))
            elif each.value is not UNSET:
                source = literal(self.compile, each.value, at)
            else:
                continue
            found[each.name] = source._replace(steps=self._needed(source.names))
        return found

    def bound_to(self, names: Iterable[str], variables: PluginVariables) -> list[object]:
        """The values of those among some names that are bound."""
        return [variables.values[self._slots[each]] for each in names if each in self._slots]

    def _needed(self, names: Iterable[str]) -> list[tuple[int, Make]]:
        """The steps that vary and that variables depend on, in order."""
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in self._slots and name not in needed:
                needed.add(name)
                waiting += self.steps[self._slots[name]].template.names
        return [each for each in self.varying if self.steps[each[0]].name in needed]

    def _compile(self, name: str) -> CompiledBinding:
        section, path, binding = self.bindings[name]
        at = self.object.at(*path)
        cycle = self._cycle_of.get(name)
        if cycle is not None:
            message = f"{name} cannot be resolved: it refers to itself, {' → '.join([*cycle, cycle[0]])}"
            unresolved = constant(Unresolved("value-type", message, "", at, reported=True))
            return CompiledBinding(name, section, path, Template(unresolved), ValueSource(unresolved))
        names = references_in(binding, self.syntax)
        if section == "control-plane":
            crossed = [each for each in names if each in self.bindings and self.bindings[each].section != section]
            self.crossings += [(name, each) for each in crossed]
        templates = [self._template_of(at)(each) for each in names]
        source = self._source(binding, section, at)
        on_cluster = section == "downstream" and binding.object_field_ref is not None
        varies = on_cluster or binding.cluster_field_ref is not None or binding.plugin_output_ref is not None
        template = Template(
            self._finished(binding, source.value, at),
            tuple(dict.fromkeys(names)),
            varies or any(each.varies for each in templates),
            # An output may be optional for the plugin that offers it.
            binding.optional or binding.plugin_output_ref is not None or any(each.optional for each in templates),
        )
        return CompiledBinding(name, section, path, template, source)

    def out_of_reach(self, located: LocatedBinding) -> str | None:
        """The namespace that a binding reads from and may not; whether it holds anything is not shown either (B15)."""
        ref = located.binding.object_field_ref
        namespace = ref.namespace if ref is not None and located.section == "control-plane" else None
        if namespace is None or namespace in self.namespaces or variable_references(namespace, syntax=self.syntax):
            return None
        return namespace

    def _source(self, binding: Binding, section: Section, at: At) -> ValueSource:
        if len(sources_of(binding)) != 1 or binding.value is None or binding.default is None:
            message = f"{binding.name} cannot be resolved: its binding is wrong"
            return ValueSource(constant(Unresolved("value-type", message, at=at, reported=True)))
        if binding.object_field_ref is not None:
            if section == "downstream":
                return field_on_cluster(self.compile, binding.name, binding.object_field_ref, at)
            source = object_field(self.compile, binding.name, binding.object_field_ref, at, self.namespaces)
            if self.out_of_reach(self.bindings[binding.name]) is None:
                return source
            # It is never resolved, and a check reports it where it is written.
            return source._replace(value=lambda variables: structs.replace(source.value(variables), reported=True))
        if binding.cluster_field_ref is not None:
            return cluster_field(self.compile, binding.name, binding.cluster_field_ref.path, at)
        if binding.plugin_output_ref is not None:
            return plugin_output(self.compile, binding.name, binding.plugin_output_ref, at)
        return literal(self.compile, binding.value, at)

    def _template_of(self, at: At) -> Callable[[str], Template]:
        """What fills in a variable that is referred to at a place, by name."""

        def template_of(name: str) -> Template:
            slot = self._slots.get(name)
            if slot is not None:
                step = self.steps[slot].template
                in_text: Unresolved | None = None
                try:
                    if name in self.aggregates:
                        as_text(self.bindings[name].binding.value, name)
                except ExpandError as error:
                    # A check reports it where the owner writes it; overrides are written by others (S37).
                    reported = at.origin is self.object.origin
                    in_text = Unresolved("value-type", error.message, error.hint, at, reported)
                return Template(lambda variables: variables.values[slot], (), step.varies, step.optional, in_text)
            found = built_in(name, at) if is_built_in(name, self.syntax) else None
            if found is not None:
                return found
            near = probably_meant(name, self.syntax)
            hint = f"did you mean {near}?" if near is not None else did_you_mean(name, self.names, _BIND_IT)
            return Template(constant(Unresolved("config-missing", f"$({name}) is not bound", hint, at)))

        return template_of

    def _finished(self, binding: Binding, make: Make, at: At) -> Make:
        """With the binding's default, optional and as."""
        how: Conversion | None = binding.as_
        fallback = literal(self.compile, binding.default, at).value if binding.default is not UNSET else None
        if how is None and fallback is None and not binding.optional:
            return make
        left_out = Unresolved("", f"{binding.name} is optional, and cannot be resolved here", at=at)

        def finished(variables: PluginVariables) -> object:
            value = make(variables)
            if isinstance(value, Unresolved) and value.gate in _MADE_UP_FOR:
                if fallback is None:
                    return left_out if binding.optional else value
                value = fallback(variables)
            if how is None or isinstance(value, Unresolved):
                return value
            try:
                return convert(value, how)
            except ConversionError as error:
                return Unresolved("value-type", f"{binding.name} cannot be read as {how}: {error}", "", at)

        return finished


def _as_variable(name: str, template: Template | None, at: At) -> Template | None:
    """What fills in a variable of substitute, which is text: a map or a list has no form there without `as` (S63)."""
    if template is None:
        return None

    def make(variables: PluginVariables) -> object:
        value = template.make(variables)
        plain = value.plain if isinstance(value, Secret) else value
        if not isinstance(plain, (dict, list)):
            return value
        what = "a map" if isinstance(plain, dict) else "a list"
        message = f"the variable {name} is text, and cannot be {what}"
        return Unresolved("value-type", message, "bind it with as: json or yaml, and refer to that", at)

    return template._replace(make=make)


# ---- What an owner writes


def sources_of(binding: Binding) -> list[str]:
    """The sources that a binding names, of which there must be one."""
    refs = (binding.object_field_ref, binding.cluster_field_ref, binding.plugin_output_ref)
    present = (binding.value is not UNSET, *(each is not None for each in refs))
    return [name for name, is_there in zip(SOURCES, present, strict=True) if is_there]


def binds_variables(object_: Object[OwnerSpec]) -> bool:
    """Whether `$(…)` refers to variables in an owner: if it has a section of bindings, be it empty (B6)."""
    spec = object_.spec
    return spec.control_plane_bindings is not None or spec.bindings is not None


def written_bindings(object_: Object[OwnerSpec]) -> Iterator[LocatedBinding]:
    """The bindings of an owner, with their places."""
    spec = object_.spec
    for field, section in _FIELDS:
        bindings = spec.control_plane_bindings if section == "control-plane" else spec.bindings
        for index, binding in enumerate(bindings or []):
            yield LocatedBinding(section, ("spec", field, index), binding)


def substitutions(object_: Object[OwnerSpec]) -> Iterator[tuple[str, Path, object]]:
    """The entries of an owner's substitute, in any of its forms; one without a value refers to its own name."""
    written = object_.spec.substitute
    path: Path = ("spec", "substitute")
    if isinstance(written, dict):
        for name, value in written.items():
            yield name, (*path, name), value
        return
    for index, entry in enumerate(written or []):
        if isinstance(entry.get("name"), str) and set(entry) <= {"name", "value"}:
            yield entry["name"], (*path, index), entry.get("value", f"$({entry['name']})")
        elif len(entry) == 1:
            name, value = next(iter(entry.items()))
            yield name, (*path, index), value


def references_in(binding: Binding, syntax: VariableSyntax) -> list[str]:
    """Every variable that any part of a binding refers to."""
    parts: list[object] = [each for each in (binding.value, binding.default) if each is not UNSET]
    parts += parts_of(binding.object_field_ref) if binding.object_field_ref is not None else ()
    parts += [binding.cluster_field_ref.path] if binding.cluster_field_ref is not None else []
    parts += [binding.plugin_output_ref.output] if binding.plugin_output_ref is not None else []
    return [name for part in parts for name in variable_references_in(part, syntax=syntax)]
