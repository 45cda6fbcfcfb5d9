"""Earliest: when a plugin starts at the earliest, and on what condition; and which of its gates decides."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.records import Change, OwnerPlan, Plan, Reason, Step
from fleetform.engine.plan.rollouts import StageTimes
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.results.decisions import PluginKey

_MOST_LOOKS = 64
_NEVER = frozenset({"window", "freeze"})


class Earliest(NamedTuple):
    """at is None if time alone does not do it. conditions are gates that time does not open; decider is the last."""

    at: datetime | None
    conditions: tuple[Reason, ...]
    decider: Reason | None


class Outlook:
    """A plan, looked at from later times. What plugins of one owner have in common is planned once for each time."""

    def __init__(self, found: Plan) -> None:
        self._found, self._almanac = found, Almanac()
        self._owners: dict[PluginKey, int] = {}
        for index, owner in enumerate(found.owners):
            self._owners.update((step.key, index) for step in owner.steps)
        self._later: dict[tuple[int, datetime], dict[PluginKey, tuple[Reason, ...]]] = {}

    def earliest(self, step: Step) -> Earliest:
        """Looks at the time after which no gate of the plugin holds any more, as things are now, again and again.

        Gates that others must open stay conditions: what is told is when it would start if they were met by then.
        """
        found = self._found
        if step.action not in ("wait", "block"):
            return Earliest(found.at if step.is_start or step.action == "delete" else None, (), None)
        decider = deciding(step.reasons)
        conditions = tuple(reason for reason in step.reasons if reason.until is None)
        at: datetime | None = found.at
        reasons = step.reasons
        for _ in range(_MOST_LOOKS):
            untils = [reason.until for reason in reasons if reason.until is not None]
            if not untils:
                break
            at = max(untils)
            reasons = self._reasons(step.key, at)
            if any(reason.until is None and reason.gate in _NEVER for reason in reasons):
                return Earliest(None, conditions, decider)
        else:
            at = None
        if any(reason.gate in _NEVER for reason in conditions):
            at = None
        return Earliest(at, conditions, decider)

    def _reasons(self, key: PluginKey, at: datetime) -> tuple[Reason, ...]:
        """What holds a plugin at a later time. Other owners hold it by conditions, which are known already."""
        index = self._owners.get(key, -1)
        if (index, at) not in self._later:
            world = self._found.world
            if index >= 0:
                mine = structs.replace(world, changes=(_pending(self._found.owners[index]),), removals=())
            else:
                mine = structs.replace(world, changes=())
            later = plan(mine, at, almanac=self._almanac)
            self._later[index, at] = {step.key: step.reasons for step in later.steps}
        return self._later[index, at].get(key, ())


def _pending(owner: OwnerPlan) -> Change:
    """An owner's change as it is now. A rollout that was first seen in this very plan was so then, and not later."""
    change, rollout = owner.change, owner.rollout
    if rollout is None or (change.rollout is not None and change.rollout.name == rollout.name):
        return change
    stages = tuple(StageTimes(each.name) for each in rollout.stages)
    first_seen = structs.replace(rollout, stages=stages, phase="Pending", started=None, ended=None)
    return structs.replace(change, rollout=first_seen)


def earliest_start(found: Plan, step: Step) -> Earliest:
    """When one plugin starts at the earliest."""
    return Outlook(found).earliest(step)


def deciding(reasons: tuple[Reason, ...]) -> Reason | None:
    """The gate that decides: one that somebody must open, else the one that lasts longest."""
    if not reasons:
        return None
    for reason in reasons:
        if reason.until is None:
            return reason
    return max(reasons, key=lambda each: each.until or datetime.min)
