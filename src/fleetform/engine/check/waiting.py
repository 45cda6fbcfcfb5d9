"""Plugins that wait for each other's outputs: on one cluster they must form no cycle (B17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.cycles import in_order
from fleetform.engine.decisions import Decisions
from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders
from fleetform.model.objects import At, Object
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic

# The plugins of one cluster that read outputs, by name.
_Readers = dict[str, PluginDecision]
_Programs = dict[Object[Any], Program]


def lint_waiting(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each cycle once, however many clusters it is on."""
    programs = _programs(decisions.index)
    binders = decisions.binders
    told: set[tuple[Object[Any], ...]] = set()
    for readers in _by_cluster(decisions, programs).values():
        for cycle in _cycles(readers, programs, binders):
            owners = tuple([each.target.owner for each in cycle])
            if owners not in told:
                told.add(owners)
                yield _diagnostic(cycle, programs)


def _programs(index: Index) -> _Programs:
    """Those that read outputs; most fleets have none."""
    found = {object_: owner.program for object_, owner in index.owners.items()}
    return {object_: each for object_, each in found.items() if each is not None and each.producers}


def _by_cluster(decisions: Decisions, programs: _Programs) -> dict[Any, _Readers]:
    found: dict[Any, _Readers] = {}
    for plugin in decisions.plugins.values() if programs else ():
        if plugin.target.owner in programs:
            found.setdefault(plugin.cluster, {})[plugin.name] = plugin
    return found


def _cycles(readers: _Readers, programs: _Programs, binders: Binders) -> list[list[PluginDecision]]:
    graph = {
        name: [
            other
            for definition in programs[plugin.target.owner].producers
            if (other := _producer(plugin, definition, readers, binders)) is not None
        ]
        for name, plugin in readers.items()
    }
    cycles, _ = in_order(graph)
    return [[readers[name] for name in cycle] for cycle in cycles]


def _producer(plugin: PluginDecision, definition: str, readers: _Readers, binders: Binders) -> str | None:
    """Which of the readers a plugin waits for; of several plugins of a definition none is read, which is told of."""
    producers = binders.producers(plugin.cluster, definition)
    if len(producers) != 1:
        return None
    owner, name = producers[0]
    return name if name in readers and readers[name].target.owner is owner.object else None


def _diagnostic(cycle: list[PluginDecision], programs: _Programs) -> Diagnostic:
    first = cycle[0]
    names = " → ".join(each.target.owner.ref.name for each in (*cycle, first))
    message = f"{names} wait for each other's outputs on {first.cluster.ref.name}"
    if len(cycle) == 1:
        message = f"{first.target.owner.ref.name} waits for an output of its own on {first.cluster.ref.name}"
    following = zip(cycle, (*cycle[1:], first), strict=True)
    at, *related = [_place(programs[each.target.owner], other.target.definition) for each, other in following]
    hint = "break the cycle at one of them"
    return Diagnostic("output-cycle", message, hint, "error", first.target.owner.ref, at, tuple(related))


def _place(program: Program, definition: str) -> At:
    """Where an owner names an output of a definition."""
    refs = [(each.path, each.binding.plugin_output_ref) for each in program.written.values()]
    return next(program.object.at(*path) for path, ref in refs if ref is not None and ref.definition == definition)
