"""Decide by: until when an approval can wait without moving the end, and what a later one costs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.records import World
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.simulate import simulate

_PRECISION = timedelta(minutes=1)


class DecideBy(NamedTuple):
    """The latest time for an approval that does not move the end, and by how much missing it by a moment does."""

    stage: str
    at: datetime
    end: datetime
    costs: timedelta


def decide_by(world: World, now: datetime, stage: str, scenario: Scenario | None = None) -> DecideBy | None:
    """None if the change does not get to its end even when the stage is approved at once.

    Later approvals end no earlier, so the last one that costs nothing is found by halving: a score of simulations.
    """
    assumed = scenario or Scenario()

    def end_with(at: datetime) -> datetime | None:
        approvals = {**assumed.approvals, stage: at}
        played = simulate(world, now, structs.replace(assumed, approvals=approvals))
        return played.end if played.outcome == "Completed" else None

    best = end_with(now)
    if best is None:
        return None
    free, late = now, best
    if end_with(best) == best:
        return DecideBy(stage, best, best, timedelta(0))
    while late - free > _PRECISION:
        middle = free + (late - free) / 2
        if end_with(middle) == best:
            free = middle
        else:
            late = middle
    # Whole minutes, down: a person reads this.
    at = max(now, free.replace(second=0, microsecond=0))
    missed = end_with(late)
    return DecideBy(stage, at, best, (missed - best) if missed is not None else timedelta.max)
