"""What runs, for a plan from one side to another: what the earlier side wants, by hash, and healthy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from fleetform.app.comparing.earlier_side import with_earlier_side
from fleetform.app.comparing.plugin_changes import compare
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.world.stored import AdmittedObjects
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, Deployed, PluginState


def running_side(fleet: Fleet, before: Fleet) -> Fleet:
    """The same fleet, where all that the one before it wants is admitted and healthy, unless a state says otherwise.

    What differs is what a comparison of the two finds, so that a simulation starts what a preview shows and nothing
    else: hashes that nobody knows, for want of a secret's content, neither start plugins nor keep them from it.
    """
    known = fleet.snapshot.states
    fleet = with_earlier_side(fleet, before)
    changes, _ = compare(before, fleet, Scope(None))
    changed = {each.either.key for each in changes}
    then, now = _wanted(before), _wanted(fleet)
    states: dict[Ref, Mapping[str, PluginState]] = {}
    for ref, here in fleet.snapshot.states.items():
        on_cluster = dict(here)
        for name, state in here.items():
            stored = known.get(ref, {}).get(name, UNKNOWN)
            key = (ref.organization, ref.name, name)
            if stored.admitted is None and state.admitted is not None:
                runs = _runs(key, state.admitted, then, now, key in changed)
                on_cluster[name] = structs.replace(state, admitted=runs, last_healthy=runs)
        states[ref] = on_cluster
    stored_rollouts = fleet.state.rollouts
    owners = before.owner_changes
    contents = {ref: AdmittedObjects(owners.contents(ref)) for ref in owners.owners}
    rollouts = structs.replace(stored_rollouts, admitted={**contents, **stored_rollouts.admitted})
    return replace(
        fleet, snapshot=replace(fleet.snapshot, states=states), state=replace(fleet.state, rollouts=rollouts)
    )


def _wanted(fleet: Fleet) -> dict[PluginKey, Deployed]:
    """What each plugin of a fleet gets; at the version that runs, if gates keep it from the one that is wanted."""
    changes = fleet.world.changes
    return {each.key: each.meanwhile or each.wanted for change in changes for each in change.candidates}


def _runs(
    key: PluginKey,
    admitted: Deployed,
    then: Mapping[PluginKey, Deployed],
    now: Mapping[PluginKey, Deployed],
    changed: bool,
) -> Deployed:
    earlier, later = then.get(key), now.get(key)
    if not changed and later is not None:
        return later
    if earlier is None:
        return admitted
    same = later is not None and later.input_hash == earlier.input_hash
    return structs.replace(earlier, input_hash=None) if same else earlier
