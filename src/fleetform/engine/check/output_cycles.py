"""Cycles of outputs: plugins of one cluster that wait for each other's outputs can never be resolved (B17)."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.cycles import in_order
from fleetform.engine.decisions import Decisions
from fleetform.engine.index.outputs import Binders
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import At, Object
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic

# Owners that bind outputs of other plugins; most fleets have none.
_Programs = dict[Object[object], Program]
# Their plugins on one cluster, by name.
_Consumers = dict[str, PluginDecision]


def lint_output_cycles(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each cycle once, however many clusters it is on."""
    found = {object_: owner.program for object_, owner in decisions.index.owners.items()}
    programs = {object_: each for object_, each in found.items() if each is not None and each.producers}
    by_cluster: dict[Object[ClusterSpec], _Consumers] = {}
    for plugin in decisions.plugins.values() if programs else ():
        if plugin.target.owner in programs:
            by_cluster.setdefault(plugin.cluster, {})[plugin.name] = plugin
    reported: set[tuple[Object[object], ...]] = set()
    for consumers in by_cluster.values():
        for cycle in _cycles(consumers, programs, decisions.binders):
            owners = tuple([each.target.owner for each in cycle])
            if owners not in reported:
                reported.add(owners)
                yield _diagnostic(cycle, programs)


def _cycles(consumers: _Consumers, programs: _Programs, binders: Binders) -> list[list[PluginDecision]]:
    graph: dict[str, list[str]] = {}
    for name, plugin in consumers.items():
        graph[name] = []
        for definition in programs[plugin.target.owner].producers:
            producers = binders.producers(plugin.cluster, definition)
            # Of several plugins of one definition no output is read; that has a finding of its own.
            if len(producers) == 1:
                owner, other = producers[0]
                if other in consumers and consumers[other].target.owner is owner.object:
                    graph[name].append(other)
    return [[consumers[name] for name in cycle] for cycle in in_order(graph)[0]]


def _diagnostic(cycle: list[PluginDecision], programs: _Programs) -> Diagnostic:
    first = cycle[0]
    names = " → ".join(each.target.owner.ref.name for each in (*cycle, first))
    message = f"{names} wait for each other's outputs on {first.cluster.ref.name}"
    if len(cycle) == 1:
        message = f"{first.target.owner.ref.name} waits for an output of its own on {first.cluster.ref.name}"
    places: list[At] = []
    for each, following in zip(cycle, (*cycle[1:], first), strict=True):
        # Where the owner of each binds an output of the next.
        program = programs[each.target.owner]
        refs = [(one.path, one.binding.plugin_output_ref) for one in program.bindings.values()]
        path = next(path for path, ref in refs if ref is not None and ref.definition == following.target.definition)
        places.append(program.object.at(*path))
    hint = "break the cycle at one of them"
    return Diagnostic("output-cycle", message, hint, "error", first.target.owner.ref, places[0], tuple(places[1:]))
