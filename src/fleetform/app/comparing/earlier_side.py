"""What the later of two fleets takes from the earlier one: what is wanted there is what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.model.objects import Ref
from fleetform.model.state import UNKNOWN, Deployed, PluginState


def with_earlier_side(fleet: Fleet, before: Fleet) -> Fleet:
    """The same fleet, where what the one before it wants is what runs, whatever it is offered now.

    If it is decided from that one (beside), this is so only on clusters that get something else: where both get the
    very same, that it runs changes nothing.
    """
    then, now = before.snapshot, fleet.snapshot
    decided_from_it = fleet.previous is before.decisions
    # What a version rendered before is what it must render now (R2-35). That it still does makes no difference.
    recorded, found = dict(now.recorded), dict(now.found)
    for key in then.definitions:
        rendered = before.digests(key).found if key in now.definitions else None
        if rendered is not None:
            first, last = now.recorded.get(key, rendered), now.found.get(key) or fleet.digests(key).found
            if last is not None and first != last:
                recorded[key], found[key] = first, last
    known = {**then.retired, **then.definitions, **now.retired}
    placed = {ref: before.placements.placed(ref) for ref in before.placements.objects}
    selected = {ref: frozenset(each.names) for ref, each in placed.items() if each is not None}
    # What runs is what a state knows and, if none does, what the earlier fleet wants.
    states: dict[Ref, Mapping[str, PluginState]] = dict(now.states)
    for ref, here in before.decisions.clusters.items():
        if decided_from_it and fleet.decisions.clusters.get(ref) is here:
            continue
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
        recorded=recorded,
        found=found,
    )
    return replace(fleet, snapshot=snapshot, previous=fleet.decisions if decided_from_it else None)
