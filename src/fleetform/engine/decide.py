"""Decide: what every plugin on every cluster gets. Composes the stages, cluster by cluster.

A pass that is given the one before decides again only what a change can reach, and shares everything else with it. The
answer never depends on that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from fleetform.engine.deciding import Deciding
from fleetform.engine.decisions import Decisions
from fleetform.engine.incremental.changes import Changes, adopted
from fleetform.engine.incremental.reached import Reached, reached_by
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders
from fleetform.engine.layers.owners import Owner
from fleetform.engine.options.shared import Sharing
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import (
    ClusterDecisions,
    PluginDecision,
)
from fleetform.model.snapshot import Snapshot


def decide(snapshot: Snapshot, previous: Decisions | None = None) -> Decisions:
    """What every plugin on every cluster gets. previous only saves work: the answer does not depend on it."""
    if previous is None:
        return _decide_all(Index(snapshot))
    snapshot = adopted(snapshot, previous.index.snapshot)
    changes = Changes(snapshot, previous.index.snapshot, previous.next_due)
    if changes.nothing:
        index = previous.index.at_time(snapshot)
        return replace(previous, index=index)
    index = Index(snapshot, previous.index)
    changed = sum(each in index.owners for each in changes.objects("presets", "plugins"))
    if changed * 2 > len(index.owners):
        # To look for the little that stays as it was would cost more than it saves.
        return _decide_all(index)
    return _decide_again(index, previous, reached_by(changes, index, previous))


class PartlyDecided(NamedTuple):
    """What a change comes to on some of the clusters that it can reach; left are those that were not looked at."""

    decisions: Decisions
    left: list[Cluster]


def decide_reached(
    snapshot: Snapshot, previous: Decisions, most: int, first: Collection[Ref] = frozenset()
) -> PartlyDecided:
    """What a change can reach, and nothing else: decided on clusters with about most plugins of it at the most.

    first are clusters to begin with. Where nothing was left the answer holds for all.
    """
    snapshot = adopted(snapshot, previous.index.snapshot)
    changes = Changes(snapshot, previous.index.snapshot, previous.next_due)
    if changes.nothing:
        return PartlyDecided(replace(previous, clusters={}), [])
    index = Index(snapshot, previous.index)
    reached, binders = reached_by(changes, index, previous), Binders(index)
    deciding = Deciding(index, binders, reached.sharing(previous.sharing, binders), previous.index)
    clusters: dict[Ref, ClusterDecisions] = {}
    left = []
    for cluster, owners in sorted(reached.on_clusters(), key=lambda each: (each[0].ref not in first, each[0].ref)):
        if most <= 0:
            left.append(cluster)
            continue
        before = previous.clusters.get(cluster.ref)
        kept = before if before is not None and before.cluster is cluster else None
        clusters[cluster.ref] = here = deciding.on(cluster, kept, owners)
        most -= len(here.plugins) if owners is None or kept is None else max(len(owners), 1)
    return PartlyDecided(deciding.decisions({ref: clusters[ref] for ref in sorted(clusters)}), left)


def decide_some(index: Index, owners: Mapping[Cluster, Collection[Owner]]) -> Decisions:
    """What some owners get on some clusters, for a question about them alone.

    What else the clusters get is left out, and so is next_due, which is about all of them.
    """
    binders = Binders(index)
    sharing = Sharing(index, binders)
    deciding = Deciding(index, binders, sharing)
    clusters = sorted(owners, key=lambda each: each.ref)
    return Decisions({each.ref: deciding.some(each, owners[each]) for each in clusters}, index, sharing, binders)


def at_version(decisions: Decisions, plugin: PluginDecision, version: str) -> PluginDecision | None:
    """What a plugin would get at another version with what is written there; None if the version is not known.

    The decisions may be those of another side: its owner is then found by name.
    """
    index, ref = decisions.index, plugin.target.owner.ref
    object_: Object[Any] | None = index.snapshot.presets.get(ref) or index.snapshot.plugins.get(ref)
    cluster = index.snapshot.clusters.get(plugin.cluster.ref)
    if object_ is None or cluster is None:
        return None
    owner = index.owners[object_]
    revision = index.definitions.known(owner).get(version)
    selected = next((each for each in index.owners_on(cluster) if each.owner is owner), None)
    if revision is None or selected is None:
        return None
    return Deciding(index, decisions.binders, decisions.sharing).at_revision(cluster, selected, revision)


def side_of(decisions: Decisions, snapshot: Snapshot) -> Decisions:
    """Another side of a fleet, of which nothing is decided yet: to ask for single plugins (at_version)."""
    index = Index(snapshot, decisions.index)
    binders = Binders(index)
    return Decisions({}, index, Sharing(index, binders), binders)


def _decide_all(index: Index) -> Decisions:
    deciding = Deciding(index)
    return deciding.decisions({ref: deciding.on(each) for ref, each in sorted(index.snapshot.clusters.items())})


def _decide_again(index: Index, previous: Decisions, reached: Reached) -> Decisions:
    """The decisions, with only those made anew that a change can reach."""
    binders = Binders(index)
    deciding = Deciding(index, binders, reached.sharing(previous.sharing, binders), previous.index)
    clusters = dict(previous.clusters)
    for cluster in index.clusters.gone:
        if cluster.ref not in index.snapshot.clusters:
            del clusters[cluster.ref]
    for cluster, owners in reached.on_clusters():
        before = previous.clusters.get(cluster.ref)
        if before is not None and before.cluster is not cluster:
            before = None
        clusters[cluster.ref] = deciding.on(cluster, before, owners)
    if any(cluster.ref not in previous.clusters for cluster in index.clusters.came):
        clusters = {ref: clusters[ref] for ref in sorted(clusters)}
    return deciding.decisions(clusters, previous.openings)
