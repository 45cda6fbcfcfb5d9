"""Programs: an owner's bindings, compiled once, in an order in which each follows those that it mentions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import UNSET, structs

from fleetform.engine.bindings.builtin import PLAIN, built_in, is_built_in, meant
from fleetform.engine.bindings.conversions import Conversion, ConversionError, convert
from fleetform.engine.bindings.cycles import in_order
from fleetform.engine.bindings.readers import (
    OUTPUT,
    Make,
    Source,
    cluster_field,
    either,
    field_on_cluster,
    literal,
    object_field,
    parts_of,
    plugin_output,
)
from fleetform.engine.bindings.templates import Template, compile_template, constant
from fleetform.model.conventions import VariableSyntax
from fleetform.model.kinds.definition import ObjectFieldRef, Output
from fleetform.model.kinds.preset import Binding
from fleetform.model.objects import At, Object, Path
from fleetform.model.results.bindings import Section, Unresolved
from fleetform.model.shape import did_you_mean
from fleetform.syntax.variables import ExpandError, as_text, variable_references, variable_references_in

_FIELDS: tuple[tuple[str, Section], ...] = (("controlPlaneBindings", "control-plane"), ("bindings", "downstream"))
SOURCES = ("value", "objectFieldRef", "clusterFieldRef", "pluginOutputRef")
_BIND_IT = "bind it, or write $$( for the text $("
# What a default or optional makes up for. What nobody has read yet is not missing, and what is wrong stays wrong.
_MADE_UP_FOR = ("", "config-missing", "dependency")


class Written(NamedTuple):
    """A binding and where it stands."""

    section: Section
    path: Path
    binding: Binding


class Step(NamedTuple):
    """One binding, compiled."""

    name: str
    section: Section
    path: Path
    template: Template
    source: Source


class Variable(NamedTuple):
    """One entry of substitute: what is written, and what fills it in where it mentions names."""

    name: str
    path: Path
    written: Any
    template: Template | None


class Program:
    """An owner's bindings in the order of their evaluation, and what is wrong with them whatever the cluster.

    crossings are names of the control plane that mention names of the cluster, which are not known yet then (R3-20).
    """

    def __init__(self, object_: Object[Any]) -> None:
        self.object = object_
        self.syntax: VariableSyntax = object_.conventions.variables
        self.homes: tuple[str, ...] = (object_.ref.organization,)
        if object_.conventions.reads_own_namespace:
            # There objects are looked for beside the module, whose namespace need not be the organization.
            self.homes = (object_.metadata.namespace or "default", object_.ref.organization)
        self.written = {each.binding.name: each for each in reversed(list(written_bindings(object_)))}
        # Maps and lists, which have no form within a text.
        self.aggregates = {
            name
            for name, each in self.written.items()
            if isinstance(each.binding.value, (dict, list)) and each.binding.as_ is None
        }
        self.cycles: list[list[str]] = []
        self.crossings: list[tuple[str, str]] = []
        self.steps: list[Step] = []
        self._slots: dict[str, int] = {}
        for name in self._in_order():
            step = self._compile(name)
            self._slots[name] = len(self.steps)
            self.steps.append(step)
        refs = [each.binding.plugin_output_ref for each in self.written.values()]
        self.reads_cluster = any(
            each.section == "downstream" and each.binding.object_field_ref is not None for each in self.written.values()
        )
        # The definitions whose outputs are read.
        self.producers = sorted({each.definition for each in refs if each is not None})
        self.varying = [(index, each.template.make) for index, each in enumerate(self.steps) if each.template.varies]
        self.variables = [
            Variable(name, path, value, self.compile(value, object_.at(*path)))
            for name, path, value in substitutions(object_)
        ]
        # What variables mention beside bindings, which are looked at anyway.
        templates = [each.template for each in self.variables if each.template is not None]
        self.loose = [each.make for each in templates if not self.written.keys() >= set(each.names)]

    @property
    def names(self) -> list[str]:
        """Every name that may be mentioned, but for labels and facts."""
        return [*self.written, *PLAIN]

    @property
    def references(self) -> Iterator[ObjectFieldRef]:
        """The fields of objects that are read in the control plane."""
        for each in self.written.values():
            if each.section == "control-plane" and each.binding.object_field_ref is not None:
                yield each.binding.object_field_ref

    def compile(self, tree: Any, at: At) -> Template | None:
        """What fills in a tree that this owner wrote; None where it is text and nothing else."""
        return compile_template(tree, self._name_of(at), self.syntax, at)

    def outputs(self, outputs: Iterable[Output], definition: Object[Any]) -> dict[str, Source]:
        """What a definition offers to others, with the names of this plugin."""
        found: dict[str, Source] = {}
        for index, each in enumerate(outputs):
            at = definition.at("spec", "outputs", index)
            if each.object_field_ref is not None:
                ref = each.object_field_ref
                # An object that the plugin itself makes is on the cluster.
                here = object_field(self.compile, each.name, ref, at, self.homes)
                source = either(here, field_on_cluster(self.compile, each.name, ref, at, f"{OUTPUT}{each.name}"))
                names = tuple(
                    name for part in parts_of(ref) for name in variable_references_in(part, syntax=self.syntax)
                )
                source = source._replace(names=names)
            elif each.value is None:
                message = f"the output {each.name} is null"
                source = Source(constant(Unresolved("value-type", message, at=at, reported=True)))
            elif each.value is not UNSET:
                source = literal(self.compile, each.value, at)
            else:
                continue
            found[each.name] = source._replace(steps=self._needed(source.names))
        return found

    def _needed(self, names: Iterable[str]) -> list[tuple[int, Make]]:
        """The steps that vary and that names stand on, in order."""
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in self._slots and name not in needed:
                needed.add(name)
                waiting += self.steps[self._slots[name]].template.names
        return [each for each in self.varying if self.steps[each[0]].name in needed]

    def _in_order(self) -> list[str]:
        """Names after those that they mention; those of a cycle, and only those, come first, and cannot be resolved."""
        graph = {
            name: sorted({other for other in variables_of(each.binding, self.syntax) if other in self.written})
            for name, each in self.written.items()
        }
        self.cycles, ordered = in_order(graph)
        self._cycle_of = {name: cycle for cycle in self.cycles for name in cycle}
        return [*self._cycle_of, *ordered]

    def _compile(self, name: str) -> Step:
        section, path, binding = self.written[name]
        at = self.object.at(*path)
        cycle = self._cycle_of.get(name)
        if cycle is not None:
            message = f"{name} cannot be resolved: it mentions itself, {' → '.join([*cycle, cycle[0]])}"
            nothing = constant(Unresolved("value-type", message, "", at, reported=True))
            return Step(name, section, path, Template(nothing), Source(nothing))
        mentioned = variables_of(binding, self.syntax)
        if section == "control-plane":
            crossed = [each for each in mentioned if each in self.written and self.written[each].section != section]
            self.crossings += [(name, each) for each in crossed]
        templates = [self._name_of(at)(each) for each in mentioned]
        source = self._source(binding, section, at)
        on_cluster = section == "downstream" and binding.object_field_ref is not None
        here = on_cluster or binding.cluster_field_ref is not None or binding.plugin_output_ref is not None
        template = Template(
            self._finished(binding, source.value, at),
            tuple(dict.fromkeys(mentioned)),
            here or any(each.varies for each in templates),
            # What another plugin offers may be optional there.
            binding.optional or binding.plugin_output_ref is not None or any(each.optional for each in templates),
        )
        return Step(name, section, path, template, source)

    def _in_text(self, name: str, at: At) -> Unresolved | None:
        """Why a name cannot stand within a text; of what its owner writes itself validation tells (S37)."""
        if name not in self.aggregates:
            return None
        try:
            as_text(self.written[name].binding.value, name)
        except ExpandError as error:
            return Unresolved("value-type", error.message, error.hint, at, reported=at.origin is self.object.origin)
        return None

    def out_of_reach(self, written: Written) -> str | None:
        """The namespace that a binding reads from and may not; whether anything is there is not told either (B15)."""
        ref = written.binding.object_field_ref
        namespace = ref.namespace if ref is not None and written.section == "control-plane" else None
        if namespace is None or namespace in self.homes or variable_references(namespace, syntax=self.syntax):
            return None
        return namespace

    def _source(self, binding: Binding, section: Section, at: At) -> Source:
        if len(sources_of(binding)) != 1 or binding.value is None or binding.default is None:
            message = f"{binding.name} cannot be resolved: its binding is wrong"
            return Source(constant(Unresolved("value-type", message, at=at, reported=True)))
        if binding.object_field_ref is not None:
            if section == "downstream":
                return field_on_cluster(self.compile, binding.name, binding.object_field_ref, at)
            source = object_field(self.compile, binding.name, binding.object_field_ref, at, self.homes)
            out_of_reach = self.out_of_reach(self.written[binding.name]) is not None
            return source._replace(value=_told(source.value)) if out_of_reach else source
        if binding.cluster_field_ref is not None:
            return cluster_field(self.compile, binding.name, binding.cluster_field_ref.path, at)
        if binding.plugin_output_ref is not None:
            return plugin_output(self.compile, binding.name, binding.plugin_output_ref, at)
        return literal(self.compile, binding.value, at)

    def _name_of(self, at: At) -> Callable[[str], Template]:
        def name_of(name: str) -> Template:
            slot = self._slots.get(name)
            if slot is not None:
                step = self.steps[slot].template
                in_text = self._in_text(name, at)
                return Template(lambda frame: frame.values[slot], (), step.varies, step.optional, in_text)
            found = built_in(name, at) if is_built_in(name, self.syntax) else None
            if found is not None:
                return found
            near = meant(name, self.syntax)
            hint = f"did you mean {near}?" if near is not None else did_you_mean(name, self.names, _BIND_IT)
            return Template(constant(Unresolved("config-missing", f"$({name}) is not bound", hint, at)))

        return name_of

    def _finished(self, binding: Binding, make: Make, at: At) -> Make:
        """With the binding's default, optional and as."""
        how: Conversion | None = binding.as_
        fallback = literal(self.compile, binding.default, at).value if binding.default is not UNSET else None
        if how is None and fallback is None and not binding.optional:
            return make
        nothing = Unresolved("", f"{binding.name} is optional, and cannot be resolved here", at=at)

        def finished(frame: Any) -> Any:
            value = make(frame)
            if value.__class__ is not Unresolved:
                return _converted(value, how, binding.name, at) if how is not None else value
            if value.gate not in _MADE_UP_FOR:
                return value
            if fallback is None:
                return nothing if binding.optional else value
            made = fallback(frame)
            if how is None or made.__class__ is Unresolved:
                return made
            return _converted(made, how, binding.name, at)

        return finished


def _told(make: Make) -> Make:
    """What can only come to nothing, and is told where it is written."""
    return lambda frame: structs.replace(make(frame), reported=True)


def _converted(value: Any, how: Conversion, name: str, at: At) -> Any:
    try:
        return convert(value, how)
    except ConversionError as error:
        return Unresolved("value-type", f"{name} cannot be read as {how}: {error}", "", at)


# ---- What an owner writes


def sources_of(binding: Binding) -> list[str]:
    """The sources that a binding names, of which there must be one."""
    refs = (binding.object_field_ref, binding.cluster_field_ref, binding.plugin_output_ref)
    given_ = (binding.value is not UNSET, *(each is not None for each in refs))
    return [name for name, is_there in zip(SOURCES, given_, strict=True) if is_there]


def in_force(object_: Object[Any]) -> bool:
    """Whether mentions count here: where there is a section of bindings, be it empty (B6)."""
    spec = object_.spec
    return spec.control_plane_bindings is not None or spec.bindings is not None


def written_bindings(object_: Object[Any]) -> Iterator[Written]:
    """The bindings of an owner, with their places."""
    spec = object_.spec
    for field, section in _FIELDS:
        bindings = spec.control_plane_bindings if section == "control-plane" else spec.bindings
        for index, binding in enumerate(bindings or []):
            yield Written(section, ("spec", field, index), binding)


def substitutions(object_: Object[Any]) -> Iterator[tuple[str, Path, Any]]:
    """The variables that an owner names, in any of the seed's forms; one without a value mentions its own name."""
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


def variables_of(binding: Binding, syntax: VariableSyntax) -> list[str]:
    """Every name that any part of a binding mentions."""
    parts: list[Any] = [each for each in (binding.value, binding.default) if each is not UNSET]
    parts += parts_of(binding.object_field_ref) if binding.object_field_ref is not None else ()
    parts += [binding.cluster_field_ref.path] if binding.cluster_field_ref is not None else []
    parts += [binding.plugin_output_ref.output] if binding.plugin_output_ref is not None else []
    return [name for part in parts for name in variable_references_in(part, syntax=syntax)]


# ---- Cycles
