"""diff: what a change does to every cluster, plugin and option, read once however many clusters it touches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleetform.app.causes import Sides, cause_of
from fleetform.app.compare import OptionChange, PluginChange, VariableChange, compare
from fleetform.app.config_changes import config_changes
from fleetform.app.fleet import Fleet
from fleetform.app.manifest_changes import ManifestChanges
from fleetform.app.objects import content_of
from fleetform.app.scope import Scope
from fleetform.app.upgrades import affected_view, span_view
from fleetform.app.views import (
    MASKED,
    diagnostics_view,
    gate_view,
    masked,
    object_ref,
)
from fleetform.engine.bindings.fields import api_version_of
from fleetform.engine.desired import has_secret
from fleetform.engine.report.effects import Effects
from fleetform.engine.versions.span import span_between
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, OptionDecision
from fleetform.ports import Renders
from fleetform.syntax.hashing import CHANGE_ID, content_hash
from fleetform.syntax.names import api_group
from fleetform.syntax.versions import parse_version

View = dict[str, Any]
_NOT_PART_OF_A_CHANGE = ("Approval", "Rollout", "PluginDefinitionRevision", "PluginState")


def diff(before: Fleet, after: Fleet, scope: Scope, renders: Renders | None = None) -> View:
    """The Diff from what runs to what would; a blocked upgrade is shown as it is wanted, with what blocks it (S22).

    renders: what shows the objects that change, too.
    """
    after = after.after(before)
    changes, unknown = compare(before, after, scope)
    manifests = ManifestChanges(before, after, changes, renders) if renders is not None else None
    locator = after.input.locator
    upgrades = _upgrades(before, after, changes)
    breaking = {key for key, each in upgrades.items() if each["breaking"]}
    views = [
        {
            **_change_view(before, after, change, _span_key(change) in breaking),
            "manifests": manifests.of(change) if manifests is not None else [],
        }
        for change in changes
    ]
    found = [each for each in after.object_findings if each.object is None or scope.offers(each.object)]
    return {
        "kind": "Diff",
        "from": before.input.name,
        "to": after.input.name,
        "changeId": change_id(before, after, scope),
        "summary": _summary(changes, unknown),
        "changes": views,
        "groups": _groups(views),
        "changelog": _changelog(upgrades.values()),
        "upgrades": list(upgrades.values()),
        "overrides": _odd_overrides(before, after, scope),
        "diagnostics": diagnostics_view([*found, *(manifests.findings() if manifests is not None else ())], locator),
    }


# ---- Views


def _change_view(before: Fleet, after: Fleet, change: PluginChange, breaking: bool) -> View:
    plugin = change.either
    versions = {
        "from": change.before.version if change.before is not None else None,
        "to": change.after.version if change.after is not None else None,
    }
    blocked = change.after.gates if change.after is not None else ()
    return {
        "organization": plugin.organization,
        "cluster": plugin.cluster.ref.name,
        "plugin": plugin.name,
        "preset": plugin.target.owner.ref.name if plugin.target.owner.ref.kind == "PluginPreset" else None,
        "definition": plugin.target.definition,
        "action": change.action,
        "version": versions,
        "breaking": breaking,
        "options": [_option_change_view(Sides(before, after, change), each) for each in change.options],
        "variables": [_variable_change_view(each) for each in change.variables],
        "also": list(change.also),
        "configs": _configs_of(change),
        "blocked": [gate_view(gate, plugin, after.input.locator) for gate in blocked],
    }


def _option_change_view(sides: Sides, change: OptionChange) -> View:
    # Secret on one side is secret on both: a value does not become harmless by a change.
    secret = any(each is not None and each.slot.secret for each in (change.before, change.after))
    return {
        "path": change.name,
        "from": _shown(change.before, secret),
        "to": _shown(change.after, secret),
        "cause": cause_of(sides, change),
    }


def _variable_change_view(change: VariableChange) -> View:
    values = (change.before, change.after)
    secret = any(map(has_secret, values))
    before, after = (dict(MASKED) if secret and each is not ABSENT else masked(each) for each in values)
    return {"name": change.name, "from": before, "to": after}


def _shown(decision: OptionDecision | None, secret: bool) -> Any:
    if decision is None or decision.value is ABSENT:
        return None
    return dict(MASKED) if secret else masked(decision.value)


def _summary(changes: list[PluginChange], unknown: int) -> View:
    count = {action: sum(each.action == action for each in changes) for action in _ACTIONS}
    return {
        "clusters": len({(each.either.organization, each.either.cluster.ref.name) for each in changes}),
        "plugins": len(changes),
        "options": sum(len(each.options) for each in changes if each.before is not None),
        "installs": count["install"],
        "upgrades": count["upgrade"],
        "downgrades": count["downgrade"],
        "deletes": count["delete"],
        "blocked": sum(bool(each.after.gates) for each in changes if each.after is not None),
        "unknown": unknown,
    }


_ACTIONS = ("install", "upgrade", "downgrade", "reconfigure", "delete", "retain", "handover")


def _groups(views: list[View]) -> list[View]:
    """Clusters whose changes are the same, the largest group first."""
    by_cluster: dict[tuple[str, str], list[View]] = {}
    for view in views:
        by_cluster.setdefault((view["organization"], view["cluster"]), []).append(view)
    alike: dict[str, list[tuple[str, str]]] = {}
    for cluster, members in by_cluster.items():
        alike.setdefault("\n".join(signature(each) for each in members), []).append(cluster)
    groups = [
        {"clusters": [name for _, name in clusters], "changes": len(by_cluster[clusters[0]])}
        for clusters in alike.values()
    ]
    return sorted(groups, key=lambda group: (-len(group["clusters"]), group["clusters"]))


def signature(view: View) -> str:
    """What makes two clusters' changes the same: all but the cluster and the names and places that follow from it."""
    what = {
        "owner": view["preset"] or view["plugin"],
        "organization": view["organization"],
        "action": view["action"],
        "version": view["version"],
        "options": [[each["path"], each["from"], each["to"], _cause_name(each["cause"])] for each in view["options"]],
        "variables": view["variables"],
        "also": view["also"],
        "configs": view["configs"],
        "blocked": [[each["gate"], each["message"]] for each in view["blocked"]],
    }
    return content_hash(what)


def _cause_name(cause: View | None) -> str | None:
    return f"{cause['kind']}/{cause['name']}" if cause is not None else None


def _configs_of(change: PluginChange) -> list[View]:
    if change.before is None or change.after is None:
        return []
    return config_changes(change.before.configs, change.after.configs)


SpanKey = tuple[str, str, str, str]


def _span_key(change: PluginChange) -> SpanKey | None:
    """The definition and the two versions of an upgrade; None for any other change."""
    if change.action != "upgrade" or change.before is None or change.after is None:
        return None
    goal = change.after.target.revision
    assert goal is not None
    return goal.object.ref.organization, goal.object.ref.name, change.before.version or "", goal.version


def _upgrades(before: Fleet, after: Fleet, changes: list[PluginChange]) -> dict[SpanKey, View]:
    """Every span of versions that plugins pass, once: what it brings, on how many clusters, whose values it meets."""
    spans: dict[SpanKey, list[PluginChange]] = {}
    for change in changes:
        key = _span_key(change)
        if key is not None:
            spans.setdefault(key, []).append(change)
    return {key: _span_view(before, after, spans[key]) for key in sorted(spans, key=_span_order)}


def _span_order(key: SpanKey) -> tuple[Any, ...]:
    organization, name, low, high = key
    return organization, name, parse_version(low), parse_version(high)


def _span_view(before: Fleet, after: Fleet, members: list[PluginChange]) -> View:
    low, high = members[0].before, members[0].after
    assert low is not None
    assert high is not None
    goal = high.target.revision
    assert goal is not None
    running = low.target.revision
    assert running is not None
    versions = {**before.decisions.versions_of(running), **after.decisions.versions_of(goal)}
    span = span_between(versions, running, goal)
    told = span_view(span, versions)
    affected = {}
    for change in members:
        assert change.after is not None
        for view in affected_view(span, change.after, after.input.locator):
            place = view["object"].get("place") or {}
            affected[view["path"], view["effect"], place.get("file", ""), place.get("line", 0)] = view
    return {
        "definition": goal.object.ref.name,
        "from": low.version,
        "to": goal.version,
        "plugins": len(members),
        "breaking": any(each["breaking"] for each in told["changelog"]),
        **told,
        "affected": [affected[key] for key in sorted(affected)],
    }


def _changelog(upgrades: Iterable[View]) -> list[View]:
    """The texts of every version passed on the way, each once."""
    passed = {(each["definition"], parse_version(each["version"])): each for up in upgrades for each in up["changelog"]}
    return [passed[key] for key in sorted(passed) if passed[key]["text"] or passed[key]["breaking"]]


def _odd_overrides(before: Fleet, after: Fleet, scope: Scope) -> View:
    """Overrides without effect and ties after the change; new says that the change made them so."""
    old, now = _odd(before, scope), _odd(after, scope)
    return {
        kind: [
            {**object_ref(each, after.input.locator), "new": each.ref not in {other.ref for other in old[kind]}}
            for each in sorted(found, key=lambda each: each.ref)
        ]
        for kind, found in now.items()
    }


def _odd(fleet: Fleet, scope: Scope) -> dict[str, list[Object[Any]]]:
    effects = Effects(fleet.decisions)
    active = [each for each in fleet.decisions.overrides if scope.holds(each.ref)]
    tied = {each.layer.object for tie in effects.ties() for each in (tie.winner, tie.loser)}
    return {
        "dead": [each for each in active if not effects.plugins(each)],
        "shadowed": [each for each in active if effects.is_shadowed(each)],
        "ties": [each for each in active if each in tied],
    }


# ---- What the change consists of


def change_id(before: Fleet, after: Fleet, scope: Scope) -> str:
    """A name for the change: the same objects changed in the same way have the same one. Secrets do not count."""
    old, new = _contents(before, scope), _contents(after, scope)
    keys = sorted(old.keys() | new.keys())
    return CHANGE_ID + content_hash([[*key, new.get(key, "absent")] for key in keys if old.get(key) != new.get(key)])


def _contents(fleet: Fleet, scope: Scope) -> dict[tuple[str, str, str], str]:
    """What every object says that may make a difference: all that bindings may read, annotations included."""
    organizations = set(fleet.organizations)
    counted = [
        each
        for each in fleet.snapshot.objects
        # A namespace of no organization may be a module's own.
        if (scope.offers(each.ref) or each.ref.organization not in organizations)
        and each.ref.kind not in (*_NOT_PART_OF_A_CHANGE, "Secret")
    ]
    return {_identity(each): content_hash([content_of(each), _annotations(each)]) for each in counted}


def _annotations(object_: Object[Any]) -> dict[str, str]:
    """Those that people write for themselves: our own are stamps, which say when and not what."""
    written = object_.metadata.annotations or {}
    return {key: value for key, value in written.items() if not key.startswith("fleetform.dev/")}


def _identity(object_: Object[Any]) -> tuple[str, str, str]:
    """What is one object on both sides: objects of two groups may bear one name, versions of a definition do."""
    version = object_.spec.version if isinstance(object_.spec, PluginDefinitionSpec) else ""
    return str(object_.ref), api_group(api_version_of(object_)), version
