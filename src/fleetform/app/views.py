"""Answers as plain data, in the shapes that docs/reference/cli.md promises. Secrets are masked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fleetform.engine.configs import UNKNOWN_HASH
from fleetform.engine.effects import applied_overrides
from fleetform.engine.hashing import input_hash
from fleetform.engine.paths import PathError, get_in, set_in_tree, text_of
from fleetform.model.objects import At, Object, Ref
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


def plugin_hash(plugin: PluginDecision, values: dict[str, Any]) -> str | None:
    """The inputHash of a plugin with these values; None where a secret's content is not known (B18)."""
    unknown = any(each.spec_hash == UNKNOWN_HASH for each in plugin.configs.effective)
    if plugin.target.revision is None or unknown or has_secret(values):
        return None
    return input_hash({**made_of(plugin), "values": values})


def made_of(plugin: PluginDecision) -> dict[str, Any]:
    """What a plugin is made of beside its values, as it was written."""
    target = plugin.target
    parts: dict[str, Any] = {"releaseName": target.release_name, "releaseNamespace": target.release_namespace}
    if target.revision is not None:
        parts["revision"] = {"definition": target.definition, "version": target.revision.version}
        parts["source"] = _tree(target.revision.object.spec.source)
    parts["configs"] = [[*each.identity, each.spec_hash] for each in plugin.configs.effective]
    parts["delivery"] = _tree(getattr(target.owner.spec, "delivery", None))
    return parts


def _tree(record: Any) -> Any:
    return msgspec.to_builtins(record) if record is not None else None


def speaker_view(item: Item, locator: Locator, secret: bool = False) -> dict[str, Any]:
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
    view = {**speaker_view(item, locator, secret), "value": item_value(item, secret, inside)}
    if item.strategy != "Replace":
        view["strategy"] = item.strategy
    return view


def option_view(decision: OptionDecision, locator: Locator) -> dict[str, Any]:
    option = decision.slot.option
    secret = decision.slot.secret
    winner = decision.winner
    view: dict[str, Any] = {
        "path": decision.name,
        "type": option.type if option is not None else None,
        "value": masked(decision.value),
        "winner": {**speaker_view(winner, locator, secret), "tie": decision.tie} if winner is not None else None,
        "hidden": [hidden_view(item, secret, locator) for item in decision.hidden],
        "migratedFrom": winner.migrated_from if winner is not None else None,
        "mentions": [],
    }
    if decision.parts:
        view["parts"] = [_part_view(decision, part, secret, locator) for part in decision.parts]
    if decision.removed_by is not None:
        view["removedBy"] = speaker_view(decision.removed_by, locator)
    if decision.problem is not None:
        view["problem"] = decision.problem
    return view


def _part_view(decision: OptionDecision, part: Part, secret: bool, locator: Locator) -> dict[str, Any]:
    path = decision.slot.steps + part.steps
    return {
        "path": text_of(path),
        "option": decision.name,
        "inside": text_of(part.steps),
        "value": dict(MASKED) if secret else masked(part.value),
        "winner": {**speaker_view(part.winner, locator, secret), "tie": part.tie},
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
