"""What the later of two fleets takes from the earlier one: what is wanted there is what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.model.objects import Ref
from fleetform.model.state import UNKNOWN, Deployed, PluginState


def with_earlier_side(fleet: Fleet, before: Fleet) -> Fleet:
    """The same fleet, where what the one before it wants is what runs, whatever it is offered now."""
    then, now = before.snapshot, fleet.snapshot
    # What a version rendered before is what it must render now (R2-35).
    both = [key for key in then.definitions if key in now.definitions]
    recorded = {key: digest for key in both if (digest := before.digests(key).found) is not None}
    found = {key: digest for key in recorded if (digest := fleet.digests(key).found) is not None}
    known = {**then.retired, **then.definitions, **now.retired}
    placed = {ref: before.placements.placed(ref) for ref in before.placements.objects}
    selected = {ref: frozenset(each.names) for ref, each in placed.items() if each is not None}
    # What runs is what a state knows and, if none does, what the earlier fleet wants.
    states: dict[Ref, Mapping[str, PluginState]] = dict(now.states)
    for ref, here in before.decisions.clusters.items():
        on_cluster = dict(now.states.get(ref, {}))
        for name, plugin in here.plugins.items():
            state, definition = on_cluster.get(name, UNKNOWN), plugin.target.definition
            if state.admitted is None or state.admitted.version is None:
                if plugin.version is not None:
                    on_cluster[name] = structs.replace(state, admitted=Deployed(plugin.version, definition))
            elif state.admitted.definition is None:
                admitted = structs.replace(state.admitted, definition=definition)
                on_cluster[name] = structs.replace(state, admitted=admitted)
        states[ref] = on_cluster
    snapshot = replace(
        now,
        states=states,
        retired={key: each for key, each in known.items() if key not in now.definitions},
        selected={**selected, **now.selected},
        recorded={**recorded, **now.recorded},
        found={**found, **now.found},
    )
    return replace(fleet, snapshot=snapshot)
