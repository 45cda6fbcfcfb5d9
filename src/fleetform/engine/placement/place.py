"""Placements: which clusters are chosen, in which groups, and why others are not.

Selection has memory (B32). Clusters that were chosen earlier and qualify still come first, newcomers fill the places
that are left by score. A score that moves by a point, or a better newcomer, then uninstalls nothing: a cluster leaves
only when it no longer qualifies, or when fewer are wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from fleetform.engine.placement.choice import Choice
from fleetform.engine.placement.facts import Cluster
from fleetform.engine.placement.groups import DecisionGroupResult, decision_groups
from fleetform.engine.placement.pool import ClusterPool, Sets
from fleetform.engine.placement.why import Reasons
from fleetform.model.kinds.placement import PlacementSpec

_NO_LOAD: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Placed:
    """Chosen clusters by name, in their groups; look_again_at is when the answer may change by itself."""

    chosen: tuple[Cluster, ...]
    groups: tuple[DecisionGroupResult, ...]
    look_again_at: datetime | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(cluster.ref.name for cluster in self.chosen)


def place(
    spec: PlacementSpec,
    pool: ClusterPool,
    *,
    at: datetime,
    sets: Sets | None = None,
    earlier: Collection[str] = frozenset(),
    load: Mapping[str, int] = _NO_LOAD,
) -> Placed:
    """What a placement chooses.

    earlier names what it chose before; load says how many other placements had chosen a cluster, for Balance. Without
    sets, every cluster may be chosen.
    """
    choice = Choice(spec, pool, at=at, sets=sets, earlier=earlier, load=load)
    groups = decision_groups(spec.decision_groups, pool, choice.chosen)
    return Placed(pool.members(choice.chosen), groups, choice.look_again_at)


def why_not(
    spec: PlacementSpec,
    pool: ClusterPool,
    cluster: str,
    *,
    at: datetime,
    sets: Sets | None = None,
    earlier: Collection[str] = frozenset(),
    load: Mapping[str, int] = _NO_LOAD,
) -> str | None:
    """Why a placement does not choose a cluster, in words; None where it does."""
    return Reasons(Choice(spec, pool, at=at, sets=sets, earlier=earlier, load=load)).of(cluster)


def why_not_others(
    spec: PlacementSpec,
    pool: ClusterPool,
    *,
    at: datetime,
    sets: Sets | None = None,
    earlier: Collection[str] = frozenset(),
    load: Mapping[str, int] = _NO_LOAD,
) -> dict[str, str]:
    """Why a placement does not choose those that it does not choose, by name: as why_not says, and all at once."""
    return Reasons(Choice(spec, pool, at=at, sets=sets, earlier=earlier, load=load)).of_all()
