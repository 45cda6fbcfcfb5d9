"""Causes: what clusters of a rollout failed with, or wait for, those with the same told of once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from fleetform.app.answering.anywhere import on_its_cluster
from fleetform.app.answering.waits import is_unrendered, shown_state, trouble_of
from fleetform.engine.plan.records import OwnerPlan, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.answers.planning import PluginPhase, ReportedTrouble, RolloutCause
from fleetform.ports.state import KnownState
from fleetform.syntax.alike import alike, told_as_one
from fleetform.syntax.times import time_text

# Names of one cause, and of all of them together (B33).
_MOST_CAUSES, _MOST_NAMES, _MOST_NAMED = 20, 20, 100
# What a person must look at comes first.
_ORDER: tuple[PluginPhase, ...] = ("Failed", "Blocked", "Unreachable", "InFlight", "Paused", "Waiting", "UpToDate")
_SAID = {
    "delivery": "cannot be delivered: ",
    "removal": "files cannot be removed: ",
    "health": "",
    "render": "cannot be rendered yet: ",
}


class _Cause(NamedTuple):
    state: PluginPhase
    gate: str | None
    alike: str
    until: datetime | None


class _Message(NamedTuple):
    """What is said of one cluster, and the same as it reads on any."""

    here: str
    anywhere: str


def _as_one(messages: Sequence[_Message]) -> str:
    """What is said of one cluster, or of several in the same words, stays as it is."""
    here = {each.here for each in messages}
    return messages[0].here if len(here) == 1 else told_as_one(each.anywhere for each in messages)


def rollout_causes(owner: OwnerPlan, rollout: Rollout, known: KnownState, at: datetime) -> list[RolloutCause]:
    """Of the clusters that a rollout has not brought to its end, and of those that it went back from.

    at is when that was planned.
    """
    found: dict[_Cause, dict[str, _Message]] = defaultdict(dict)
    troubles: dict[_Cause, ReportedTrouble] = {}
    for step in owner.steps:
        if _belongs(step, rollout):
            cluster = step.key[1]
            trouble = trouble_of(step, known)
            message, cause = _cause(step, trouble is not None, at)
            if cause is not None:
                found[cause][cluster] = message
            if trouble is not None:
                # Beside what it failed with: a way back may not get through either.
                message, cause = _in_the_way(step, trouble)
                found[cause][cluster] = message
                troubles[cause] = min(troubles.get(cause, trouble), trouble, key=lambda each: each.since)
    ordered = sorted(found.items(), key=lambda each: (_ORDER.index(each[0].state), -len(each[1]), each[0].alike))
    told: list[RolloutCause] = []
    room = _MOST_NAMED
    for cause, messages in ordered[:_MOST_CAUSES]:
        names = sorted(messages)[: min(_MOST_NAMES, room)]
        room -= len(names)
        until = time_text(cause.until) if cause.until is not None else None
        told.append(
            RolloutCause(
                state=cause.state,
                gate=cause.gate,
                message=_as_one([messages[each] for each in sorted(messages)]),
                until=until,
                clusters=len(messages),
                names=names,
                trouble=troubles.get(cause),
            )
        )
    return told


def _belongs(step: Step, rollout: Rollout) -> bool:
    place = step.progress.enrolment
    if place is not None and place.rollout == rollout.name:
        if rollout.is_open or step.progress.failure or step.target is None:
            return True
        # It is over: what keeps its clusters from something newer is told of the rollout that brings that.
        return step.target in (place.target, place.before)
    # Before its first start a rollout has no members yet.
    return rollout.is_open and rollout.started is None and step.state != "UpToDate"


def _in_the_way(step: Step, trouble: ReportedTrouble) -> tuple[_Message, _Cause]:
    message = _said(step, f"{_SAID[trouble.of]}{trouble.message}")
    gate = "render" if is_unrendered(trouble) else None
    return message, _Cause(shown_state(step), gate, alike(message.anywhere), None)


def _cause(step: Step, is_troubled: bool, at: datetime) -> tuple[_Message, _Cause | None]:
    """What a cluster failed with or waits for, and what it is told under: failures that are alike are told as one."""
    reason = step.reasons[0] if step.reasons else None
    if step.progress.failure:
        # What nothing holds any more is tried again now, and is not over.
        until = reason.until if reason is not None else at if step.action == "start" else None
        message = _said(step, step.progress.failure)
        return message, _Cause("Failed", None, alike(message.anywhere), until)
    state = shown_state(step)
    if state == "UpToDate" or is_troubled:
        return _Message("", ""), None
    if reason is None:
        text = "is being changed" if state == "InFlight" else "starts now"
        return _Message(text, text), _Cause(state, None, text, None)
    message = _said(step, reason.message)
    return message, _Cause(state, reason.gate, message.anywhere, reason.until)


def _said(step: Step, message: str) -> _Message:
    return _Message(message, on_its_cluster(message, step.key[1]))
