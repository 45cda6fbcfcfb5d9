"""What all conversions share: names that native files can bear, a selector of nothing, and notes of what is lost."""

from __future__ import annotations

from fleetform.app.fleet import Fleet
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds import KINDS
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic


def is_native_kind(object_: Object[object]) -> bool:
    return object_.ref.kind in KINDS


def native_name(ref: Ref) -> str:
    """A name without the namespace that is part of it in Open Cluster Management."""
    return ref.name.replace("/", "-")


def selector_of_nothing() -> JsonMap:
    """A selector of no cluster: one without names would select them all."""
    return {"labelSelector": {"matchLabels": {"fleetform.dev/selected": "true"}}}


def declare_used_options(fleet: Fleet, definition: Object[PluginDefinitionSpec], tree: JsonMap) -> None:
    """Declare options that values are set for and that the definition leaves out: there they pass, natively not."""
    ref = definition.ref
    names = {each["name"] for each in tree["spec"].get("options", ())}
    for plugin in fleet.decisions.plugins.values():
        revision = plugin.target.revision
        if plugin.target.definition != ref.name or revision is None or revision.object is not definition:
            continue
        used = [each for each in plugin.options.values() if each.slot.option is None and each.winner is not None]
        for option in sorted(used, key=lambda each: each.name):
            if option.name not in names:
                names.add(option.name)
                tree["spec"].setdefault("options", []).append({"name": option.name, "type": "any"})


def loss(object_: Object[object], message: str, hint: str, *path: str) -> Diagnostic:
    """Something that a native file cannot say."""
    return Diagnostic("foreign-note", message, hint, "info", object_.ref, object_.at(*path))
