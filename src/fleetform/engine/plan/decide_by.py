"""Decide by: until when an approval can wait without moving the end of its rollout, and what a later one costs.

Found by playing the rollout with the approval at one time and another. What happens before the approval matters, and
to clusters that nothing tells apart, is the same each time: it is planned once, and the rest is played with crowds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.compress import compressed
from fleetform.engine.plan.records import World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.simulate import at_once, rollout_after
from fleetform.model.objects import Ref

_MINUTE = timedelta(minutes=1)


class DecideBy(NamedTuple):
    """The latest minute for an approval that does not move the end, and by how much the next minute does.

    costs is None if the rollout never ends once that minute has passed.
    """

    stage: str
    at: datetime
    end: datetime
    costs: timedelta | None


class Prospect:
    """One owner's rollout, as if it were alone, from now on: how it comes out, whenever its stages are approved.

    What other owners do on the same clusters is left out: that is theirs to change, and may be over by then.
    """

    def __init__(self, world: World, owner: Ref, now: datetime, scenario: Scenario) -> None:
        changes = tuple(each for each in world.changes if each.owner == owner)
        alone = at_once(structs.replace(world, changes=changes, removals=()), now, scenario)
        rollout = next((each.rollout for each in alone.changes), None)
        self.name = rollout.name if rollout is not None else ""
        self._now, self._scenario = now, scenario
        self._world = compressed(alone, scenario, now)

    def approved(self, stage: str, at: datetime) -> Rollout | None:
        """The rollout as it ends if a stage is approved at a time."""
        scenario = structs.replace(self._scenario, approvals={**self._scenario.approvals, stage: at})
        return rollout_after(self._world, self._now, scenario, self.name)

    def decide_by(self, stage: str) -> DecideBy | None:
        """None if the rollout does not get to its end even when the stage is approved at once, or does so anyway.

        Up to the first start of the stage an approval costs nothing. Later ones end no earlier.
        """
        best = self.approved(stage, self._now)
        end, waits_until = _end(best), _started(best, stage)
        if end is None or waits_until is None:
            return None
        first = self._now.replace(second=0, microsecond=0) + _MINUTE

        def is_free(minute: int) -> bool:
            found = _end(self.approved(stage, first + minute * _MINUTE))
            return found is not None and found <= end

        free = _last((waits_until - first) // _MINUTE, (end - first) // _MINUTE + 1, is_free)
        at = first + free * _MINUTE if free >= 0 else self._now
        missed = _end(self.approved(stage, first + (free + 1) * _MINUTE))
        if missed is not None and missed <= end:
            return None
        return DecideBy(stage, at, end, missed - end if missed is not None else None)


def _last(known: int, beyond: int, holds: Callable[[int], bool]) -> int:
    """The last number for which something holds, which it does for known and not for beyond.

    Most approvals hold up the end at once, and the others by hours: steps double before they are halved.
    """
    step = 1
    while known + step < beyond and holds(known + step):
        known, step = known + step, step * 2
    beyond = min(beyond, known + step)
    while beyond - known > 1:
        middle = (known + beyond) // 2
        known, beyond = (middle, beyond) if holds(middle) else (known, middle)
    return known


def _end(rollout: Rollout | None) -> datetime | None:
    return rollout.ended if rollout is not None and rollout.phase == "Succeeded" else None


def _started(rollout: Rollout | None, stage: str) -> datetime | None:
    stages = rollout.stages if rollout is not None else ()
    return next((each.started for each in stages if each.name == stage), None)
