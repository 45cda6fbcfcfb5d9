"""Plugins that wait for each other's outputs: on one cluster they must form no circle (B17)."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from fleetform.engine.layers import Owner
from fleetform.engine.prepare import Prepared
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Decisions, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic


def lint_waiting(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each circle once, however many clusters it is on."""
    told: set[frozenset[Object[Any]]] = set()
    for plugins in _by_cluster(decisions).values():
        cycle = _cycle(decisions, plugins)
        owners = frozenset(each.target.owner for each in cycle)
        if not cycle or owners in told:
            continue
        told.add(owners)
        first = cycle[0]
        names = " → ".join(each.target.owner.ref.name for each in (*cycle, first))
        message = f"{names} wait for each other's outputs on {first.cluster.ref.name}"
        related = tuple(_place(decisions, each) for each in cycle[1:])
        at = _place(decisions, first)
        owner = first.target.owner.ref
        yield Diagnostic("output-cycle", message, "break the circle at one of them", "error", owner, at, related)


def _by_cluster(decisions: Decisions) -> dict[Any, list[PluginDecision]]:
    """The plugins that need others' outputs; most fleets have none."""
    found: dict[Any, list[PluginDecision]] = {}
    for plugin in decisions.plugins.values():
        if _producers(decisions, plugin):
            found.setdefault(plugin.cluster, []).append(plugin)
    return found


def _cycle(decisions: Decisions, plugins: list[PluginDecision]) -> list[PluginDecision]:
    by_definition = {each.target.definition: each for each in plugins}
    graph = {name: [*_producers(decisions, each)] for name, each in by_definition.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names = list(reversed(error.args[1]))[:-1]
        start = names.index(min(names))
        return [by_definition[name] for name in names[start:] + names[:start]]
    return []


def _owner(decisions: Decisions, plugin: PluginDecision) -> Owner:
    prepared: Prepared = decisions.memory
    return prepared.owners[plugin.target.owner]


def _producers(decisions: Decisions, plugin: PluginDecision) -> list[str]:
    program = _owner(decisions, plugin).program
    return program.producers if program is not None else []


def _place(decisions: Decisions, plugin: PluginDecision) -> Any:
    """Where a plugin's owner names an output."""
    program = _owner(decisions, plugin).program
    assert program is not None
    written = next(each for each in program.written.values() if each.binding.plugin_output_ref is not None)
    return plugin.target.owner.at(*written.path)
