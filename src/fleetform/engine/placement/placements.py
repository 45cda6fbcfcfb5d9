"""Placements of a snapshot: what each chooses, found when it is asked for, and once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from fleetform.engine.placement.choice import PlacementChoice
from fleetform.engine.placement.facts import Cluster
from fleetform.engine.placement.place import Placed, place, why_not, why_not_others
from fleetform.engine.placement.pool import ClusterPool, Sets
from fleetform.model.kinds.placement import (
    ClusterSetBindingSpec,
    ClusterSetSpec,
    PlacementScoreSpec,
    PlacementSpec,
)
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.times import parse_time

Spec = TypeVar("Spec")
# An organization's clusters, by name.
ClustersOf = Callable[[str], Mapping[str, Cluster]]
# Kinds that decide what placements choose.
KINDS = ("Placement", "ManagedClusterSet", "ManagedClusterSetBinding", "AddOnPlacementScore")


class Placements:
    """What the placements of all organizations choose."""

    def __init__(self, snapshot: Snapshot, clusters_of: ClustersOf) -> None:
        self.at, self._selected, self._objects = snapshot.at, snapshot.selected, snapshot.others
        self.clusters, self._clusters_of = snapshot.clusters, clusters_of
        self._choices: dict[Ref, PlacementChoice] = {}
        self._placed: dict[Ref, Placed] = {}
        self._members: dict[Ref, frozenset[Cluster]] = {}
        self._pools: dict[str, ClusterPool] = {}

    @cached_property
    def objects(self) -> dict[Ref, Object[PlacementSpec]]:
        return {ref: each for ref, each in self._objects.items() if isinstance(each.spec, PlacementSpec)}

    def placed(self, ref: Ref) -> Placed | None:
        """What a placement chooses; None if there is no such placement."""
        if ref not in self._placed:
            object_ = self.objects.get(ref)
            if object_ is None:
                return None
            placed = place(self._choice(ref))
            ends = [placed.look_again_at] if placed.look_again_at is not None else []
            if object_.spec.prioritizers is not None:
                times = [_end_of(each.spec) for each in self._scores.get(ref.organization, ())]
                # A score counts until its very end, so that what is chosen may change right after it.
                ends += [each + timedelta(microseconds=1) for each in times if each is not None and each >= self.at]
            self._placed[ref] = replace(placed, look_again_at=min(ends, default=None))
        return self._placed[ref]

    def chosen(self, organization: str, name: str) -> tuple[Cluster, ...]:
        """The clusters that a placement of an organization chooses, by name."""
        placed = self.placed(Ref("Placement", organization, name))
        return placed.chosen if placed is not None else ()

    def members(self, organization: str, name: str) -> frozenset[Cluster]:
        """The same, to look a cluster up among them."""
        ref = Ref("Placement", organization, name)
        found = self._members.get(ref)
        if found is None:
            found = self._members[ref] = frozenset(self.chosen(organization, name))
        return found

    def why_not(self, ref: Ref, cluster: str) -> str | None:
        """Why a placement does not choose a cluster, in words; None if it does."""
        return why_not(self._choice(ref), cluster)

    def why_not_others(self, ref: Ref) -> dict[str, str]:
        """Why a placement does not choose each of the clusters that it does not."""
        return why_not_others(self._choice(ref))

    def _choice(self, ref: Ref) -> PlacementChoice:
        """The choice of a placement, which what it chooses and why not share."""
        if ref not in self._choices:
            placement, earlier = self.objects[ref], self._selected.get(ref, frozenset())
            self._choices[ref] = PlacementChoice(
                placement.spec,
                self._pool(ref.organization),
                at=self.at,
                sets=self._sets(placement),
                earlier=earlier,
                # What others had chosen before: what they choose now would depend on the order of placements.
                load=self._loads.get(ref.organization, Counter()) - Counter(earlier),
            )
        return self._choices[ref]

    @cached_property
    def _loads(self) -> dict[str, Counter[str]]:
        loads: dict[str, Counter[str]] = {}
        # Also of placements that are not in the input: an export may hold their decisions alone.
        for ref, chosen in self._selected.items():
            loads.setdefault(ref.organization, Counter()).update(chosen)
        return loads

    def _sets(self, placement: Object[PlacementSpec]) -> Sets | None:
        """The cluster sets of Open Cluster Management; by its conventions, those bound to the placement's namespace."""
        organization = placement.ref.organization
        declared = {each.ref.name: each.spec for each in self._cluster_sets.get(organization, ())}
        if not placement.conventions.sets_are_bound:
            return Sets(declared) if declared or placement.spec.cluster_sets else None
        namespace = placement.ref.name.partition("/")[0]
        bindings = [each.spec for each in self._set_bindings.get(organization, ())]
        return Sets(declared, {each.cluster_set for each in bindings if each.namespace == namespace})

    def _pool(self, organization: str) -> ClusterPool:
        if organization not in self._pools:
            scores: dict[tuple[str, str, str], int] = {}
            for each in [one.spec for one in self._scores.get(organization, ())]:
                end = _end_of(each)
                if end is None or end >= self.at:
                    scores.update(((each.cluster, each.resource, name), score) for name, score in each.scores.items())
            self._pools[organization] = ClusterPool(self._clusters_of(organization).values(), scores)
        return self._pools[organization]

    @cached_property
    def _cluster_sets(self) -> dict[str, list[Object[ClusterSetSpec]]]:
        return _by_organization(self._objects, "ManagedClusterSet", ClusterSetSpec)

    @cached_property
    def _set_bindings(self) -> dict[str, list[Object[ClusterSetBindingSpec]]]:
        return _by_organization(self._objects, "ManagedClusterSetBinding", ClusterSetBindingSpec)

    @cached_property
    def _scores(self) -> dict[str, list[Object[PlacementScoreSpec]]]:
        return _by_organization(self._objects, "AddOnPlacementScore", PlacementScoreSpec)

    def look_again(self) -> Iterator[datetime]:
        """When what was chosen may change by itself."""
        return (each.look_again_at for each in self._placed.values() if each.look_again_at is not None)

    def keep(self, before: Placements) -> None:
        """Take over what an earlier pass chose, as far as time alone does not change it.

        Without its choices and pools: they hold the time of that pass, and are made again when somebody asks why.
        """
        for ref, placed in before._placed.items():
            if placed.look_again_at is None or placed.look_again_at > self.at:
                self._placed[ref] = placed
                if ref in before._members:
                    self._members[ref] = before._members[ref]


def placements_after(snapshot: Snapshot, clusters_of: ClustersOf, before: Placements | None) -> Placements:
    """What placements choose; if nothing that decides it differs, what they chose in the pass before."""
    if before is None:
        return Placements(snapshot, clusters_of)
    same = snapshot.clusters is before.clusters and snapshot.selected == before._selected
    same = same and (snapshot.others is before._objects or _deciding(snapshot.others) == _deciding(before._objects))
    if not same:
        return Placements(snapshot, clusters_of)
    if snapshot.at == before.at and snapshot.others is before._objects:
        return before
    placements = Placements(snapshot, clusters_of)
    if snapshot.at >= before.at:
        placements.keep(before)
    return placements


def _deciding(others: Mapping[Ref, Object[object]]) -> list[Object[object]]:
    return [each for ref, each in others.items() if ref.kind in KINDS]


def _by_organization(others: Mapping[Ref, Object[Any]], kind: str, spec: type[Spec]) -> dict[str, list[Object[Spec]]]:
    found: dict[str, list[Object[Spec]]] = {}
    for ref, each in others.items():
        if ref.kind == kind and isinstance(each.spec, spec):
            found.setdefault(ref.organization, []).append(each)
    return found


def _end_of(scores: PlacementScoreSpec) -> datetime | None:
    """When scores end; a time that cannot be read ends nothing."""
    try:
        return parse_time(scores.valid_until) if scores.valid_until is not None else None
    except ValueError:
        return None
