"""Earliest: when a plugin starts at the earliest, and on what condition; and which of its gates decides."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.records import Plan, Reason, Step, World
from fleetform.model.results.decisions import PluginKey

_MOST_LOOKS = 64


class Earliest(NamedTuple):
    """at is None if time alone does not do it. conditions are gates that time does not open; decider is the last."""

    at: datetime | None
    conditions: tuple[Reason, ...]
    decider: Reason | None


def earliest_start(found: Plan, step: Step) -> Earliest:
    """Looks at the time after which no gate of the plugin holds any more, as things are now, again and again.

    Gates that others must open stay conditions: what is told is when it would start if they were met by then.
    """
    if step.action not in ("wait", "block"):
        return Earliest(found.at if step.action in ("start", "rollback", "delete") else None, (), None)
    decider = deciding(step.reasons)
    conditions = tuple(reason for reason in step.reasons if reason.until is None)
    at: datetime | None = found.at
    reasons = step.reasons
    for _ in range(_MOST_LOOKS):
        untils = [reason.until for reason in reasons if reason.until is not None]
        if not untils:
            break
        at = max(untils)
        reasons = _at(found.world, at, step.key)
        if any(reason.until is None and reason.gate in _NEVER for reason in reasons):
            return Earliest(None, conditions, decider)
    else:
        at = None
    if any(reason.gate in _NEVER for reason in conditions):
        at = None
    return Earliest(at, conditions, decider)


_NEVER = frozenset({"window", "freeze"})


def _at(world: World, at: datetime, key: PluginKey) -> tuple[Reason, ...]:
    for step in plan(world, at).steps:
        if step.key == key:
            return step.reasons
    return ()


def deciding(reasons: tuple[Reason, ...]) -> Reason | None:
    """The gate that decides: one that somebody must open, else the one that lasts longest."""
    if not reasons:
        return None
    for reason in reasons:
        if reason.until is None:
            return reason
    return max(reasons, key=lambda each: each.until or datetime.min)
