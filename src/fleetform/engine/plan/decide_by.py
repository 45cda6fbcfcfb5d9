"""Decide by: until when an approval can wait without moving the end, and what a later one costs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.records import World
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.simulate import simulate

_MINUTE = timedelta(minutes=1)


class DecideBy(NamedTuple):
    """The latest minute for an approval that does not move the end, and by how much the next minute does."""

    stage: str
    at: datetime
    end: datetime
    costs: timedelta


def end_if_approved(
    world: World, now: datetime, stage: str, at: datetime, scenario: Scenario | None = None
) -> datetime | None:
    """When the change is done if a stage is approved at a time; None: it never is."""
    assumed = scenario or Scenario()
    played = simulate(world, now, structs.replace(assumed, approvals={**assumed.approvals, stage: at}))
    return played.end if played.outcome == "Completed" else None


def decide_by(world: World, now: datetime, stage: str, scenario: Scenario | None = None) -> DecideBy | None:
    """None if the change does not get to its end even when the stage is approved at once.

    Later approvals end no earlier, so the last one that costs nothing is found by halving: a score of simulations.
    """
    first = now.replace(second=0, microsecond=0) + (_MINUTE if now.second or now.microsecond else timedelta(0))
    best = end_if_approved(world, now, stage, now, scenario)
    if best is None:
        return None
    free, late = -1, (best - first) // _MINUTE + 1
    while late - free > 1:
        middle = (free + late) // 2
        if end_if_approved(world, now, stage, first + middle * _MINUTE, scenario) == best:
            free = middle
        else:
            late = middle
    at = first + free * _MINUTE if free >= 0 else now
    missed = end_if_approved(world, now, stage, first + late * _MINUTE, scenario)
    return DecideBy(stage, at, best, missed - best if missed is not None else timedelta.max)
