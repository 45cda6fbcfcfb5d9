"""Rows: an owner's plugins, each with what is stored of it, its cluster, and the candidate that a plan takes for it.

An owner may have a plugin on every cluster. After one event on one of them only that row is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from fleetform.engine.plan.records import Candidate, ClusterFacts
from fleetform.engine.world.candidate import Facts
from fleetform.engine.world.parts import has_dependencies
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision, PluginKey
from fleetform.model.state import UNKNOWN, PluginState


class Row(Struct, frozen=True, eq=False, gc=False):
    """One plugin. There may be a hundred thousand: a tuple would take twice the room."""

    plugin: PluginDecision
    state: PluginState
    facts: ClusterFacts
    candidate: Candidate


class Rows(NamedTuple):
    """By key, in order of clusters. beside is what else is on the clusters of plugins that wait for others."""

    by_key: dict[PluginKey, Row]
    beside: list[ClusterDecisions]


class Surrounding(NamedTuple):
    """What rows are made from: what is stored of plugins, what matters of clusters, and what is decided there.

    candidate makes one. moved are the keys of which any of that may be another than in the rows before; None: any.
    """

    states: Mapping[PluginKey, PluginState]
    facts: Facts
    decided: Mapping[Ref, ClusterDecisions]
    candidate: Callable[[PluginKey, PluginDecision, PluginState, ClusterFacts], Candidate]
    moved: Iterable[PluginKey] | None


def rows_of(plugins: Mapping[PluginKey, PluginDecision], around: Surrounding, before: Rows | None) -> Rows:
    """The rows of an owner. before is what they were, if candidates are still made in the same way: it saves work.

    It is given back as it is if nothing is another.
    """
    moved = around.moved
    if before is None or before.beside or moved is None:
        return _all_rows(plugins, around, before)
    made = {}
    for key in moved:
        plugin = plugins.get(key)
        if plugin is not None:
            if has_dependencies(plugin):
                return _all_rows(plugins, around, before)
            known = before.by_key.get(key)
            # What matters of a cluster is the same while the cluster is: it would be in none of these rows otherwise.
            same = known is not None and known.plugin.cluster is plugin.cluster
            made[key] = _row(key, plugin, around, known, known.facts if known is not None and same else None)
    if all(before.by_key.get(key) is row for key, row in made.items()):
        return before
    return Rows({**before.by_key, **made}, [])


def _all_rows(plugins: Mapping[PluginKey, PluginDecision], around: Surrounding, before: Rows | None) -> Rows:
    beside = [around.decided[each.cluster.ref] for each in plugins.values() if has_dependencies(each)]
    # What plugins of other owners are beside them is told for all of them at once.
    known = before.by_key if before is not None and not beside else {}
    found = {key: _row(key, plugin, around, known.get(key)) for key, plugin in plugins.items()}
    same = before is not None and before.beside == beside and list(before.by_key) == list(found)
    if before is not None and same and all(map(_says_the_same, before.by_key.values(), found.values())):
        return before
    return Rows(found, beside)


def _row(
    key: PluginKey, plugin: PluginDecision, around: Surrounding, before: Row | None, facts: ClusterFacts | None = None
) -> Row:
    """The one before, if nothing is another."""
    state, facts = around.states.get(key, UNKNOWN), facts or around.facts.of(plugin.cluster)
    if before is not None and before.plugin is plugin and before.state is state and before.facts == facts:
        return before
    return Row(plugin, state, facts, around.candidate(key, plugin, state, facts))


def _says_the_same(one: Row, other: Row) -> bool:
    return one is other or (one.plugin is other.plugin and one.state == other.state and one.facts == other.facts)
