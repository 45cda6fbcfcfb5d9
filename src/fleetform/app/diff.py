"""diff: what a change does to every cluster, plugin and option, read once however many clusters it touches."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import UNSET, structs

from fleetform.app.answering.masks import masked
from fleetform.app.answering.plugins import reported_gates
from fleetform.app.answering.references import object_reference, reported
from fleetform.app.answering.upgrades import affected_values, changelog, options_of
from fleetform.app.comparing.beside import beside
from fleetform.app.comparing.causes import Sides, cause_of
from fleetform.app.comparing.change_names import owner_changes, whole_change
from fleetform.app.comparing.config_changes import config_changes
from fleetform.app.comparing.earlier_side import with_earlier_side
from fleetform.app.comparing.manifest_changes import ManifestChanges
from fleetform.app.comparing.plugin_changes import PluginChange, compare
from fleetform.app.comparing.same_values import known_of
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.secrets import has_secret
from fleetform.engine.versions.span import span_between
from fleetform.model.answers.base import MASKED
from fleetform.model.answers.diff import (
    ChangedOption,
    ChangedOwner,
    ChangedPlugin,
    ChangedVariable,
    ClusterGroup,
    DefinitionUpgrade,
    Diff,
    DiffSummary,
    NotedOverride,
    NotedOverrides,
    UnknownChange,
    VersionChange,
)
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT
from fleetform.ports.rendering import Renders
from fleetform.syntax.hashing import content_hash
from fleetform.syntax.versions import parse_version


def diff(before: Fleet, after: Fleet, scope: Scope, renders: Renders | None = None) -> Diff:
    """The difference from what runs to what would; a blocked upgrade is shown as it is wanted, with its gates (S22).

    renders: what shows the objects that change, too.
    """
    after = with_earlier_side(beside(after, before), before)
    changes, unknown = compare(before, after, scope)
    manifests = ManifestChanges(before, after, changes, renders) if renders is not None else None
    upgrades = _upgrades(before, after, changes)
    breaking = {key for key, each in upgrades.items() if each.breaking}
    changed = [_changed_plugin(Sides(before, after, each), _span_key(each) in breaking, manifests) for each in changes]
    found = [each for each in after.findings.of_objects if each.object is None or scope.offers(each.object)]
    if manifests is not None:
        found += manifests.findings()
    # The texts of every version passed on the way, each once.
    passed = {(each.definition, parse_version(each.version)): each for up in upgrades.values() for each in up.changelog}
    return Diff(
        from_=before.input.name,
        to=after.input.name,
        change_id=whole_change(before, after, scope),
        rollouts=[
            ChangedOwner(
                organization=each.owner.organization,
                preset=each.owner.name,
                name=each.rollout,
                change_id=each.change_id,
            )
            for each in owner_changes(before, after, changes)
        ],
        summary=_summary(changes, len(unknown)),
        changes=changed,
        unknown=[
            UnknownChange(
                organization=each.plugin.organization,
                cluster=each.plugin.cluster.ref.name,
                plugin=each.plugin.name,
                options=list(each.options),
                variables=list(each.variables),
            )
            for each in unknown
        ],
        groups=_groups(changed),
        changelog=[passed[key] for key in sorted(passed) if passed[key].text or passed[key].breaking],
        upgrades=list(upgrades.values()),
        overrides=_noted_overrides(before, after, scope),
        diagnostics=reported(found, after.input.locator),
    )


# ---- Changes


def _changed_plugin(sides: Sides, breaking: bool, manifests: ManifestChanges | None) -> ChangedPlugin:
    change = sides.change
    plugin, one, other = change.either, change.before, change.after
    owner = plugin.target.owner.ref
    options = []
    for option in change.options:
        # Secret on one side is secret on both: a value does not become harmless by a change.
        decisions = (option.before, option.after)
        secret = any(each is not None and each.slot.secret for each in decisions)
        given = [known_of(each) for each in decisions]
        then, now = (MASKED if secret and value is not ABSENT else masked(value) for value in given)
        options.append(ChangedOption(path=option.name, from_=then, to=now, cause=cause_of(sides, option)))
    variables = []
    for each in change.variables:
        values = (each.before, each.after)
        secret = any(map(has_secret, values))
        then, now = (MASKED if secret and value is not ABSENT else masked(value) for value in values)
        variables.append(ChangedVariable(name=each.name, from_=then, to=now))
    return ChangedPlugin(
        organization=plugin.organization,
        cluster=plugin.cluster.ref.name,
        plugin=plugin.name,
        preset=owner.name if owner.kind == "PluginPreset" else None,
        definition=plugin.target.definition,
        action=change.action,
        version=VersionChange(
            from_=one.version if one is not None else None, to=other.version if other is not None else None
        ),
        breaking=breaking,
        options=options,
        variables=variables,
        also=list(change.also),
        configs=config_changes(one.configs, other.configs) if one is not None and other is not None else [],
        blocked=reported_gates(other.gates, plugin, sides.after.input.locator) if other is not None else [],
        manifests=manifests.of(change) if manifests is not None else [],
    )


def _summary(changes: list[PluginChange], unknown: int) -> DiffSummary:
    actions = [each.action for each in changes]
    return DiffSummary(
        clusters=len({(each.either.organization, each.either.cluster.ref.name) for each in changes}),
        plugins=len(changes),
        options=sum(len(each.options) for each in changes if each.before is not None),
        installs=actions.count("install"),
        upgrades=actions.count("upgrade"),
        downgrades=actions.count("downgrade"),
        deletes=actions.count("delete"),
        blocked=sum(bool(each.after.gates) for each in changes if each.after is not None),
        unknown=unknown,
    )


def _groups(changes: list[ChangedPlugin]) -> list[ClusterGroup]:
    """Clusters whose changes are the same, the largest group first."""
    by_cluster: dict[tuple[str, str], list[ChangedPlugin]] = {}
    for change in changes:
        by_cluster.setdefault((change.organization, change.cluster), []).append(change)
    alike: dict[str, list[tuple[str, str]]] = {}
    for cluster, members in by_cluster.items():
        alike.setdefault("\n".join(signature(each) for each in members), []).append(cluster)
    groups = [
        ClusterGroup(clusters=[name for _, name in clusters], changes=len(by_cluster[clusters[0]]))
        for clusters in alike.values()
    ]
    return sorted(groups, key=lambda group: (-len(group.clusters), group.clusters))


def signature(change: ChangedPlugin) -> str:
    """What makes two clusters' changes the same: all but the cluster and the names and places that follow from it."""
    causes = [f"{each.cause.kind}/{each.cause.name}" if each.cause is not None else None for each in change.options]
    what = {
        "owner": change.preset or change.plugin,
        "organization": change.organization,
        "action": change.action,
        "version": change.version,
        "options": [
            [each.path, each.from_, each.to, cause] for each, cause in zip(change.options, causes, strict=True)
        ],
        "variables": change.variables,
        "also": change.also,
        "configs": change.configs,
        "blocked": [[each.gate, each.message] for each in change.blocked],
    }
    return content_hash(msgspec.to_builtins(what))


# ---- Upgrades


class SpanKey(NamedTuple):
    """A definition and the two versions of an upgrade."""

    organization: str
    definition: str
    low: str
    high: str


def _span_key(change: PluginChange) -> SpanKey | None:
    """The span of an upgrade; None for any other change."""
    if change.action != "upgrade" or change.before is None or change.after is None:
        return None
    goal = change.after.target.revision
    assert goal is not None
    return SpanKey(goal.object.ref.organization, goal.object.ref.name, change.before.version or "", goal.version)


def _upgrades(before: Fleet, after: Fleet, changes: list[PluginChange]) -> dict[SpanKey, DefinitionUpgrade]:
    """Every span of versions that plugins pass, once: what it brings, on how many clusters, whose values it affects."""
    spans: dict[SpanKey, list[PluginChange]] = {}
    for change in changes:
        key = _span_key(change)
        if key is not None:
            spans.setdefault(key, []).append(change)
    upgrades = {}
    for key in sorted(spans, key=lambda key: (*key[:2], parse_version(key.low), parse_version(key.high))):
        low, high = spans[key][0].before, spans[key][0].after
        assert low is not None
        assert high is not None
        running, goal = low.target.revision, high.target.revision
        assert running is not None
        assert goal is not None
        versions = {**before.decisions.versions_of(running), **after.decisions.versions_of(goal)}
        span = span_between(versions, running, goal)
        entries = changelog(span)
        affected = {}
        for plugin in (each.after for each in spans[key] if each.after is not None):
            for value in affected_values(span, plugin, after.input.locator):
                place = value.object.place
                where = (place.file, place.line) if place is not UNSET else ("", 0)
                affected[value.path, value.effect, where] = value
        upgrades[key] = DefinitionUpgrade(
            definition=goal.object.ref.name,
            from_=low.version,
            to=goal.version,
            plugins=len(spans[key]),
            breaking=any(each.breaking for each in entries),
            changelog=entries,
            options=options_of(span, versions),
            affected=[affected[place] for place in sorted(affected)],
        )
    return upgrades


# ---- Overrides


def _noted_overrides(before: Fleet, after: Fleet, scope: Scope) -> NotedOverrides:
    """Overrides without effect and ties after the change; new says that the change made them so."""
    old, now = _odd_overrides(before, scope), _odd_overrides(after, scope)
    noted: dict[str, list[NotedOverride]] = {}
    for kind, found in now.items():
        known = {each.ref for each in old[kind]}
        noted[kind] = [
            NotedOverride(**structs.asdict(object_reference(each, after.input.locator)), new=each.ref not in known)
            for each in sorted(found, key=lambda each: each.ref)
        ]
    return NotedOverrides(**noted)


def _odd_overrides(fleet: Fleet, scope: Scope) -> dict[str, list[Object[object]]]:
    """Overrides that reach no plugin, that others hide everywhere, and that tie with another."""
    effects = fleet.findings.effects
    active = [each for each in fleet.decisions.overrides if scope.holds(each.ref)]
    tied = {each.layer.object for tie in effects.ties() for each in (tie.winner, tie.loser)}
    return {
        "dead": [each for each in active if not effects.reaches_any(each)],
        "shadowed": [each for each in active if effects.is_shadowed(each)],
        "ties": [each for each in active if each in tied],
    }
