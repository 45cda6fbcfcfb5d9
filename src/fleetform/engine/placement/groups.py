"""Decision groups: chosen clusters in named groups and the rest, each in pieces of a size."""

from __future__ import annotations

from typing import NamedTuple

from fleetform.engine.placement.facts import Cluster
from fleetform.engine.placement.pool import ClusterPool, Group, claim_requirements
from fleetform.model.kinds.placement import DecisionGroups
from fleetform.syntax.selectors import SelectorError, compile_clusters


class DecisionGroupResult(NamedTuple):
    """Chosen clusters that belong together, by name; the group without a name holds what no other took."""

    name: str
    clusters: tuple[Cluster, ...]


def decision_groups(wanted: DecisionGroups | None, pool: ClusterPool, chosen: Group) -> tuple[DecisionGroupResult, ...]:
    """The groups of the chosen clusters, in order; a group larger than the size is several of the same name."""
    if wanted is None:
        return (DecisionGroupResult("", pool.members(chosen)),) if chosen else ()
    count, size = chosen.bit_count(), wanted.clusters_per_decision_group
    if isinstance(size, str):
        # In whole numbers: 7 % of 100 is 7, and 8 with floating point.
        size = -(-int(size.removesuffix("%")) * count // 100)
    size = max(1, count if size is None else size)
    found: list[DecisionGroupResult] = []
    left = chosen
    for named in wanted.decision_groups or []:
        taken: Group = 0
        try:
            selector = named.group_cluster_selector
            for matcher in compile_clusters(selector):
                taken |= left & pool.matching(matcher)
            by_claim = claim_requirements(selector.claim_selector if selector is not None else None)
            if by_claim:
                taken &= pool.claims.fulfilling(by_claim)
        except SelectorError:
            # Reported by a check; the group then has no clusters.
            taken = 0
        found += _pieces(named.group_name, pool.members(taken), size)
        left &= ~taken
    return (*found, *_pieces("", pool.members(left), size))


def _pieces(name: str, clusters: tuple[Cluster, ...], size: int) -> list[DecisionGroupResult]:
    return [DecisionGroupResult(name, clusters[start : start + size]) for start in range(0, len(clusters), size)]
