"""Inputs: what a plugin is made of, as trees: its values and variables, what they hash to, what its render takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fleetform.engine.configs import UNKNOWN_HASH
from fleetform.engine.envsubst import is_name_of_variable
from fleetform.engine.frames import Frame
from fleetform.engine.hashing import input_hash
from fleetform.engine.layers import Owner
from fleetform.engine.outputs import Binders
from fleetform.engine.paths import PathError, set_in_tree
from fleetform.engine.prepare import Prepared
from fleetform.engine.programs import Program
from fleetform.engine.templates import Template
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.preset import Substitution
from fleetform.model.results.bindings import Bound, Missing
from fleetform.model.results.decisions import ABSENT, Decisions, Item, OptionDecision, PluginDecision, Secret
from fleetform.model.results.rendering import RendererName, RenderInput

_NO_SUBSTITUTION = Substitution()


def values_tree(options: Mapping[str, OptionDecision]) -> dict[str, Any]:
    """The values as the renderer gets them, secrets still inside; never print this."""
    tree: dict[str, Any] = {}
    for decision in options.values():
        if decision.value is ABSENT:
            continue
        try:
            # A copy: a deeper option may be put into this one's value.
            set_in_tree(tree, decision.slot.steps, _copied(decision.value))
        except PathError:
            # Options that overlap are an error of their definition; the first of the two stays.
            continue
    return tree


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value


def has_secret(value: Any) -> bool:
    if isinstance(value, Secret):
        return True
    if isinstance(value, dict):
        return any(map(has_secret, value.values()))
    return isinstance(value, list) and any(map(has_secret, value))


def with_placeholders(value: Any) -> Any:
    """A value as it may be rendered, kept and shown: each secret by a text that tells where it comes from (S5)."""
    if isinstance(value, Secret):
        return f"<secret {value.ref.name}/{value.ref.key}>" if value.ref is not None else "<secret>"
    if isinstance(value, dict):
        return {key: with_placeholders(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_placeholders(each) for each in value]
    return value


def renderer_of(spec: PluginDefinitionSpec) -> RendererName | None:
    """What renders a definition; None where it names nothing to render."""
    source = spec.source
    if source is None:
        return None
    if source.helm is not None:
        return "helm"
    if source.kustomize is not None:
        return "kustomize"
    return "manifests" if source.manifests is not None else None


class Inputs:
    """What the plugins of one pass are made of."""

    def __init__(self, decisions: Decisions) -> None:
        self._prepared: Prepared = decisions.memory
        self._binders = Binders(self._prepared)

    def bound(self, plugin: PluginDecision) -> list[Bound]:
        """A plugin's bindings, in the order in which they are written."""
        binder = self._binders.of(self._owner(plugin))
        return list(binder.bound(plugin.cluster, plugin.name)) if binder is not None else []

    def substituted(self, plugin: PluginDecision) -> dict[str, Any]:
        """The variables that a plugin's owner names; one that stands for nothing is left out."""
        owner = self._owner(plugin)
        binder = self._binders.of(owner)
        if binder is None:
            return owner.substitute
        return dict(_filled_in(binder.program, binder.frame(plugin.cluster, plugin.name)))

    def written_substitute(self, plugin: PluginDecision) -> dict[str, Any]:
        """The variables as they are written, mentions and all."""
        program = self._owner(plugin).program
        return {each.name: each.written for each in program.variables} if program is not None else {}

    def variables(self, plugin: PluginDecision) -> dict[str, Any]:
        """All variables: scalar options that bear the name of one, and above them what the owner names (S39)."""
        by_name = {
            decision.name: decision.value
            for decision in plugin.options.values()
            if is_name_of_variable(decision.name)
            and decision.value is not ABSENT
            and (isinstance(decision.value, Secret) or not isinstance(decision.value, (dict, list, tuple)))
        }
        return {**by_name, **self.substituted(plugin)}

    def mentions(self, plugin: PluginDecision, item: Item) -> tuple[str, ...]:
        """The names that an item mentions, as this plugin reads it."""
        template = self._template(plugin, item)
        return template.names if template is not None else ()

    def mentioned_by(self, plugin: PluginDecision, name: str) -> list[str]:
        """The names that a binding of a plugin mentions."""
        program = self._owner(plugin).program
        step = next((each for each in program.steps if each.name == name), None) if program is not None else None
        return list(step.template.names) if step is not None else []

    def producers(self, plugin: PluginDecision) -> list[tuple[str, str | None]]:
        """The definitions whose outputs a plugin reads, and the plugins on its cluster that offer them."""
        program = self._owner(plugin).program
        found: list[tuple[str, str | None]] = []
        for definition in program.producers if program is not None else ():
            there = self._binders.producers(plugin.cluster, definition)
            found += [(definition, name) for _, name in there] or [(definition, None)]
        return found

    def parts(self, plugin: PluginDecision) -> dict[str, Any]:
        """What a plugin is made of beside its values."""
        target = plugin.target
        parts: dict[str, Any] = {"releaseName": target.release_name, "releaseNamespace": target.release_namespace}
        if target.revision is not None:
            parts["revision"] = {"definition": target.definition, "version": target.revision.version}
            parts["source"] = _tree(target.revision.object.spec.source)
        parts["configs"] = [[*each.identity, each.spec_hash] for each in plugin.configs.effective]
        spec = target.owner.spec
        parts["delivery"] = _tree(getattr(spec, "delivery", None))
        parts["substitution"] = _tree(getattr(spec, "substitution", None)) or None
        parts["downstream"] = downstream = self._downstream(plugin)
        on_cluster = downstream["variables"] if downstream is not None else {}
        variables = self.substituted(plugin) if spec.substitute else {}
        parts["substitute"] = {name: each for name, each in variables.items() if name not in on_cluster}
        return parts

    def hash(self, plugin: PluginDecision, values: dict[str, Any]) -> str | None:
        """The inputHash of a plugin with these values; None where a part of it is not known (B18)."""
        unknown = any(each.spec_hash == UNKNOWN_HASH for each in plugin.configs.effective)
        unknown = unknown or any(each.gate != "downstream" for each in plugin.missing)
        if plugin.target.revision is None or unknown or has_secret(values):
            return None
        parts = self.parts(plugin)
        if has_secret(parts):
            return None
        if parts["downstream"] is not None:
            known = {name: each for name, each in plugin.options.items() if name not in parts["downstream"]["options"]}
            values = values_tree(known)
        return input_hash({**parts, "values": values})

    def _downstream(self, plugin: PluginDecision) -> dict[str, Any] | None:
        """What is made of values of the cluster, as it is written: they change without anybody's edit (B16)."""
        binder = self._binders.of(self._owner(plugin))
        if binder is None or not binder.program.reads_cluster:
            return None
        frame = binder.frame(plugin.cluster, plugin.name)
        of_cluster = self._binders.of_cluster(self._owner(plugin), plugin.cluster, plugin.name)
        if not of_cluster:
            return None
        program = binder.program
        options = {name: self._written(plugin, each, of_cluster) for name, each in plugin.options.items()}
        values = dict(zip((each.name for each in program.steps), frame.values, strict=True))
        return {
            "options": {name: written for name, written in options.items() if written is not None},
            "variables": {each.name: each.written for each in program.variables if _reads(each.template, of_cluster)},
            "bindings": {name: _tree(program.written[name].binding) for name in sorted(of_cluster)},
            "names": {
                name: value
                for name, value in sorted(values.items())
                if name not in of_cluster and value.__class__ is not Missing
            },
        }

    def _written(self, plugin: PluginDecision, decision: OptionDecision, of_cluster: set[str]) -> Any:
        """What is written for an option, where a value of the cluster is in it."""
        items = [item for item in (decision.winner, *(part.winner for part in decision.parts)) if item is not None]
        if not any(_reads(self._template(plugin, item), of_cluster) for item in items):
            return None
        return [[item.text, item.value if item.value is not ABSENT else item.expression] for item in items]

    def _template(self, plugin: PluginDecision, item: Item) -> Template | None:
        program = self._owner(plugin).program
        return program.template(item) if program is not None else None

    def _owner(self, plugin: PluginDecision) -> Owner:
        return self._prepared.owners[plugin.target.owner]

    # ---- Rendering

    def render_input(self, plugin: PluginDecision) -> RenderInput | None:
        """What a plugin's render takes; None where there is nothing to render."""
        revision = plugin.target.revision
        renderer = renderer_of(revision.object.spec) if revision is not None else None
        if revision is None or renderer is None:
            return None
        substitution = getattr(plugin.target.owner.spec, "substitution", None) or _NO_SUBSTITUTION
        by_helm = renderer == "helm"
        return RenderInput(
            revision.object,
            renderer,
            with_placeholders(values_tree(plugin.options)) if by_helm else {},
            with_placeholders(self.variables(plugin)) if not by_helm else {},
            plugin.target.release_name,
            plugin.target.release_namespace,
            tuple((*each.identity, each.spec_hash) for each in plugin.configs.effective),
            substitution.strict,
            substitution.only == "Declared",
        )

    def holds_secrets(self, plugin: PluginDecision) -> list[str]:
        """The options and variables whose values are secret."""
        options = [name for name, each in plugin.options.items() if has_secret(each.value)]
        return options + [name for name, each in self.substituted(plugin).items() if has_secret(each)]


def _filled_in(program: Program, frame: Frame) -> Iterator[tuple[str, Any]]:
    for each in program.variables:
        value = each.template.make(frame) if each.template is not None else each.written
        if value.__class__ is not Missing:
            yield each.name, value


def _reads(template: Template | None, names: set[str]) -> bool:
    return template is not None and not names.isdisjoint(template.names)


def _tree(record: Any) -> Any:
    return msgspec.to_builtins(record) if record is not None else None
