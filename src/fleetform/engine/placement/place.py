"""Placements: which clusters are chosen, in which groups, and why others are not.

Selection has memory (B32). Clusters that were chosen earlier and qualify still come first, newcomers fill the places
that are left by score. A score that moves by a point, or a better newcomer, then uninstalls nothing: a cluster leaves
only when it no longer qualifies, or when fewer are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fleetform.engine.placement.choice import PlacementChoice
from fleetform.engine.placement.facts import Cluster
from fleetform.engine.placement.groups import DecisionGroupResult, decision_groups
from fleetform.engine.placement.why import Reasons


@dataclass(frozen=True, slots=True)
class Placed:
    """Chosen clusters by name, in their groups; look_again_at is when the answer may change by itself."""

    chosen: tuple[Cluster, ...]
    groups: tuple[DecisionGroupResult, ...]
    look_again_at: datetime | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(cluster.ref.name for cluster in self.chosen)


def place(choice: PlacementChoice) -> Placed:
    """What a placement chooses."""
    groups = decision_groups(choice.spec.decision_groups, choice.pool, choice.chosen)
    return Placed(choice.pool.members(choice.chosen), groups, choice.look_again_at)


def why_not(choice: PlacementChoice, cluster: str) -> str | None:
    """Why a placement does not choose a cluster, in words; None if it does."""
    return Reasons(choice).of(cluster)


def why_not_others(choice: PlacementChoice) -> dict[str, str]:
    """Why a placement does not choose those that it does not choose, by name: as why_not answers, all at once."""
    return Reasons(choice).of_all()
