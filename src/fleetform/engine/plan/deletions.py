"""Deletions: plugins that are no longer wanted. A removal is a planned change that cannot be undone (B22).

Few go by the gates of their clusters, many wait for approval, and none goes after a load or render that was not whole:
what is missing there may only not have been read. Dependents go before what they depend on.
"""

from __future__ import annotations

from collections import Counter

from fleetform.engine.plan.gates.deletes import deletes, incomplete, most_deletes
from fleetform.engine.plan.gates.freeze import freeze
from fleetform.engine.plan.gates.in_flight import occupied
from fleetform.engine.plan.gates.unreachable import silent
from fleetform.engine.plan.gates.veto import held
from fleetform.engine.plan.gates.window import window
from fleetform.engine.plan.records import Reason, Removal, Step, World
from fleetform.engine.plan.view import Pass
from fleetform.model.results.advice import Advice
from fleetform.model.state import UNKNOWN


def plan_removals(round_: Pass) -> list[Step]:
    """A step for each removal, in the order given."""
    world = round_.world
    if not world.removals:
        return []
    counts = Counter(each.key[0] for each in world.removals if not each.retain)
    installed = Counter(key[0] for key, progress in world.states.items() if progress.admitted is not None)
    steps = []
    for removal in world.removals:
        progress = world.states.get(removal.key, UNKNOWN)
        if removal.retain:
            steps.append(Step(removal.key, "nothing", "UpToDate", progress))
            continue
        organization = removal.key[0]
        most = most_deletes(world.limits_of(organization), installed[organization])
        reasons = _reasons(round_, removal, counts[organization], most)
        if reasons:
            if any(reason.gate == "veto" for reason in reasons):
                steps.append(Step(removal.key, "block", "Blocked", progress, reasons))
            else:
                steps.append(Step(removal.key, "wait", "Waiting", progress, reasons))
            continue
        round_.busy[removal.cluster.key] = removal.key
        steps.append(Step(removal.key, "delete", "InFlight", progress))
    return steps


def _reasons(round_: Pass, removal: Removal, count: int, most: int) -> tuple[Reason, ...]:
    world, now, almanac = round_.world, round_.now, round_.almanac
    limits, cluster = world.limits_of(removal.key[0]), removal.cluster
    today = almanac.today(removal.calendar, now)
    found = [
        None if world.complete else incomplete(removal.owner),
        deletes(removal, limits.deletes_approval, count, most),
        held(cluster),
        silent(cluster, limits, now),
        occupied(round_.busy, cluster.key, removal.key),
        _dependents(world, removal),
        freeze(today, passes_soft=False),
    ]
    if removal.calendar.allow:
        starts = almanac.starts_at(today, f"{cluster.name}/{removal.change_id}", now)
        found.append(window(today, removal.calendar, starts, now))
    return tuple(each for each in found if each is not None)


def _dependents(world: World, removal: Removal) -> Reason | None:
    organization, cluster, name = removal.key
    for dependent in removal.dependents:
        if world.states.get((organization, cluster, dependent), UNKNOWN).admitted is not None:
            message = f"{dependent} depends on {name} and is still on {cluster}"
            do = Advice("wait-for-plugin", organization, cluster=cluster, plugin=dependent)
            return Reason("dependency", message, do)
    return None
