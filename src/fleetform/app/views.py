"""Answers as plain data, in the shapes that docs/reference/cli.md promises. Secrets are masked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fleetform.engine.desired import Inputs
from fleetform.engine.report.effects import applied_overrides
from fleetform.model.objects import At, Object, Ref
from fleetform.model.results.bindings import Bound
from fleetform.model.results.configs import ConfigReference
from fleetform.model.results.decisions import (
    ABSENT,
    Gate,
    Item,
    OptionDecision,
    Part,
    PluginDecision,
    Secret,
    Steps,
)
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports import Locator
from fleetform.syntax.option_paths import get_in, text_of

MASKED = {"secret": True, "digest": "unknown"}


def place_view(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "column": place.column}


def ref_view(ref: Ref, at: At | None, locator: Locator) -> dict[str, Any]:
    view: dict[str, Any] = {"kind": ref.kind, "organization": ref.organization, "name": ref.name}
    if at is not None:
        view["place"] = place_view(locator.place(at))
    return view


def object_ref(object_: Object[Any], locator: Locator) -> dict[str, Any]:
    return ref_view(object_.ref, object_.at(), locator)


def diagnostic_view(diagnostic: Diagnostic, locator: Locator) -> dict[str, Any]:
    at = diagnostic.at
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "object": str(diagnostic.object) if diagnostic.object else None,
        "path": diagnostic.path,
        "place": place_view(locator.place(at)) if at is not None else None,
        "related": [place_view(locator.place(each)) for each in diagnostic.related],
    }


def diagnostics_view(diagnostics: Iterable[Diagnostic], locator: Locator) -> list[dict[str, Any]]:
    return [diagnostic_view(each, locator) for each in diagnostics]


def masked(value: Any) -> Any:
    """A value as it may be shown: secrets by a mark, no value as null."""
    if value is ABSENT:
        return None
    if isinstance(value, Secret):
        return dict(MASKED)
    if isinstance(value, dict):
        return {key: masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value]
    return value


def provenance_view(item: Item, locator: Locator, secret: bool = False) -> dict[str, Any]:
    view: dict[str, Any] = {
        "layer": item.layer.name,
        "rank": item.layer.rank,
        "object": ref_view(item.layer.object.ref, item.at, locator),
    }
    if item.layer.part:
        view["part"] = item.layer.part
    if item.expression is not None and not secret:
        view["expression"] = item.expression
    if item.migrated_from is not None:
        view["migratedFrom"] = item.migrated_from
    return view


def item_value(item: Item, secret: bool, inside: Steps = ()) -> Any:
    """What an item says (about a path inside its value), as it may be shown."""
    if item.strategy == "Remove":
        return None
    if item.secret is not None or secret:
        return dict(MASKED)
    if item.expression is not None:
        return {"expression": item.expression}
    return masked(get_in(item.value, inside))


def hidden_view(item: Item, secret: bool, locator: Locator, inside: Steps = ()) -> dict[str, Any]:
    view = {**provenance_view(item, locator, secret), "value": item_value(item, secret, inside)}
    if item.strategy != "Replace":
        view["strategy"] = item.strategy
    return view


def variables_of(inputs: Inputs, plugin: PluginDecision, decision: OptionDecision) -> list[str]:
    """The names that those mention who made an option what it is."""
    items = [item for item in (decision.winner, *(part.winner for part in decision.parts)) if item is not None]
    return sorted({name for item in items for name in inputs.variable_references(plugin, item)})


def bound_view(bound: Bound, owner: Object[Any], locator: Locator) -> dict[str, Any]:
    """What a name stands for: who says so, and what it was read from."""
    source = bound.source
    view: dict[str, Any] = {
        "name": bound.name,
        "value": None if bound.unresolved is not None else masked(bound.value),
        "from": object_ref(source, locator) if source is not None else ref_view(owner.ref, bound.at, locator),
        "resolved": bound.resolved,
        "section": bound.section,
        "place": place_view(locator.place(bound.at)),
    }
    if bound.unresolved is not None:
        view["problem"], view["do"] = bound.unresolved.message, bound.unresolved.do
    return view


def option_view(decision: OptionDecision, locator: Locator, mentions: Iterable[str] = ()) -> dict[str, Any]:
    option = decision.slot.option
    secret = decision.slot.secret
    winner = decision.winner
    view: dict[str, Any] = {
        "path": decision.name,
        "type": option.type if option is not None else None,
        "value": masked(decision.value),
        "winner": {**provenance_view(winner, locator, secret), "tie": decision.tie} if winner is not None else None,
        "hidden": [hidden_view(item, secret, locator) for item in decision.hidden],
        "migratedFrom": winner.migrated_from if winner is not None else None,
        "mentions": list(mentions),
    }
    if decision.parts:
        view["parts"] = [_part_view(decision, part, secret, locator) for part in decision.parts]
    if decision.removed_by is not None:
        view["removedBy"] = provenance_view(decision.removed_by, locator)
    if decision.problem is not None:
        view["problem"] = decision.problem
    if decision.unresolved is not None:
        view["problem"] = decision.unresolved.message
    return view


def _part_view(decision: OptionDecision, part: Part, secret: bool, locator: Locator) -> dict[str, Any]:
    path = decision.slot.steps + part.steps
    return {
        "path": text_of(path),
        "option": decision.name,
        "inside": text_of(part.steps),
        "value": dict(MASKED) if secret else masked(part.value),
        "winner": {**provenance_view(part.winner, locator, secret), "tie": part.tie},
        "hidden": [hidden_view(item, secret, locator, _below(item, path)) for item in part.hidden],
    }


def _below(item: Item, path: Steps) -> Steps:
    """The rest of a path below what an item speaks of."""
    return path[len(item.steps) :]


def applied_view(plugin: PluginDecision, options: Mapping[str, OptionDecision]) -> list[dict[str, Any]]:
    return [
        {"name": each.override.ref.name, "rank": each.rank, "won": list(each.won), "lost": list(each.lost)}
        for each in applied_overrides(plugin.shared.overrides, options)
    ]


def config_view(reference: ConfigReference, locator: Locator) -> dict[str, Any]:
    """A config that somebody names: what it is, who names it, and where."""
    group, resource, namespace, name = reference.identity
    view: dict[str, Any] = {
        "group": group,
        "resource": resource,
        "namespace": namespace,
        "name": name,
        "specHash": reference.spec_hash,
        "place": reference.place,
        "index": reference.index,
        "from": ref_view(reference.object.ref, reference.at, locator),
    }
    if reference.part:
        view["part"] = reference.part
    return view


def configs_view(plugin: PluginDecision, locator: Locator) -> dict[str, Any]:
    configs = plugin.configs
    hidden = [{**config_view(each.reference, locator), "reason": each.reason} for each in configs.hidden]
    return {
        "configMode": configs.mode,
        "configs": [config_view(each, locator) for each in configs.effective],
        "configsHidden": hidden,
    }


def gate_view(gate: Gate, plugin: PluginDecision, locator: Locator) -> dict[str, Any]:
    at = gate.at if gate.at is not None else plugin.target.owner.at()
    return {
        "gate": gate.gate,
        "option": gate.option or None,
        "message": gate.message,
        "until": None,
        "object": ref_view(gate.ref or plugin.target.owner.ref, at, locator),
        "do": gate.do,
    }
