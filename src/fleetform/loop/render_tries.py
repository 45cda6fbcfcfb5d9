"""When starts that could not be rendered were last tried: a source that is down is not asked for with every pass."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from fleetform.engine.plan.records import Plan, Step
from fleetform.model.results.decisions import PluginKey

_PAUSE = timedelta(seconds=30)


class RenderTries:
    """Kept in memory: a process that begins anew tries all of them at once. look_at is when the next is to be tried."""

    def __init__(self) -> None:
        self.look_at: datetime | None = None
        self._tried: dict[PluginKey, tuple[str | None, datetime]] = {}

    def resting(self, found: Plan, now: datetime) -> frozenset[PluginKey]:
        """What a plan would start, and was tried a moment ago. Something else of the same plugin is tried at once."""
        return frozenset(step.key for step in found.renders if self._rests(step, now))

    def note(
        self,
        unavailable: Collection[PluginKey],
        resting: Collection[PluginKey],
        waiting: Collection[PluginKey],
        found: Plan,
        now: datetime,
    ) -> None:
        """Of what a plan starts or would start, some could not be rendered now; others were not tried, as they rest or
        wait for something else."""
        steps = (*found.starts, *found.renders) if unavailable else ()
        tried = {step.key: (_hash(step), now) for step in steps if step.key in unavailable}
        due = [now for _ in tried] + [self._tried[key][1] for key in resting]
        self.look_at = min(due) + _PAUSE if due else None
        self._tried = {key: each for key, each in self._tried.items() if key in resting or key in waiting} | tried

    def _rests(self, step: Step, now: datetime) -> bool:
        hash_, tried = self._tried.get(step.key, (None, None))
        # Later than now it can only be if a clock was turned back.
        return tried is not None and hash_ == _hash(step) and timedelta(0) <= now - tried < _PAUSE


def _hash(step: Step) -> str | None:
    return step.target.input_hash if step.target is not None else None


def waiting_unrendered(found: Plan, unrendered: Collection[PluginKey]) -> frozenset[PluginKey]:
    """Of what could not be rendered, what is held by something else by now: it is as it was once that is over."""
    if not unrendered:
        return frozenset()
    steps = (step for owner in found.owners for step in owner.steps)
    return frozenset(step.key for step in steps if step.action in ("wait", "block") and step.key in unrendered)
