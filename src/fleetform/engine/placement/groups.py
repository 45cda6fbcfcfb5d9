"""Decision groups: chosen clusters in named groups and the rest, each in pieces of a size."""

from __future__ import annotations

from typing import NamedTuple

from fleetform.engine.placement.facts import Cluster
from fleetform.engine.placement.pool import ClusterPool, Group
from fleetform.model.kinds.base import ClusterSelector
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
    size = _size(wanted.clusters_per_decision_group, chosen.bit_count())
    found: list[DecisionGroupResult] = []
    left = chosen
    for named in wanted.decision_groups or []:
        taken = left & _selected(named.group_cluster_selector, pool)
        found += _pieces(named.group_name, pool.members(taken), size)
        left &= ~taken
    return (*found, *_pieces("", pool.members(left), size))


def _selected(selector: ClusterSelector | None, pool: ClusterPool) -> Group:
    try:
        matchers = compile_clusters(selector)
    except SelectorError:
        return 0
    group = 0
    for matcher in matchers:
        group |= pool.matching(matcher)
    return group


def _pieces(name: str, clusters: tuple[Cluster, ...], size: int) -> list[DecisionGroupResult]:
    return [DecisionGroupResult(name, clusters[start : start + size]) for start in range(0, len(clusters), size)]


def _size(wanted: int | str | None, chosen: int) -> int:
    if isinstance(wanted, str):
        # In whole numbers: 7 % of 100 is 7, where floating point makes it 8.
        wanted = -(-int(wanted.removesuffix("%")) * chosen // 100)
    return max(1, chosen if wanted is None else wanted)
