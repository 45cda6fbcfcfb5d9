"""Current: which rollout an owner's change belongs to: the one that runs, a new one, or none.

One at a time. A rollout that runs finishes on what it started with, and the newest change waits (B8); it is replaced if
people say so, by an emergency, if nothing of it has started yet, or if it gives way to what waits (owner.py).
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.members import Member
from fleetform.engine.plan.progress import is_reread
from fleetform.engine.plan.records import Candidate, Change
from fleetform.engine.plan.rollouts import Rollout, StageTimes, rollout_name
from fleetform.model.state import Deployed, PluginState


class Current(NamedTuple):
    """The rollout that runs (None: none), and the one that it replaces."""

    rollout: Rollout | None
    replaced: Rollout | None = None


def current_rollout(change: Change, members: list[Member], emergency: bool, replace: bool, now: datetime) -> Current:
    """replace: the rollout that runs gives way, so what waits takes its place."""
    last = change.rollout
    if change.policy.external:
        return Current(None, _superseded(last, now))
    if last is None or not last.is_open:
        return Current(_new(change, last, now) if _needs_one(change, members) else None)
    if last.change_id == change.change_id:
        # Nothing is fixed before the first start: members, targets and policy are those of now.
        pending = structs.replace(last, policy=change.policy, stages=_stages(change)) if last.started is None else last
        return Current(pending)
    if last.started is None:
        return Current(_new(change, last, now) if _needs_one(change, members) else None, _superseded(last, now))
    if last.phase == "RollingBack" or change.change_id in change.rejected or not _is_newer(last, members):
        return Current(last)
    if replace or emergency or change.supersede:
        return Current(_new(change, last, now), _superseded(last, now))
    if last.queued == change.change_id:
        return Current(last)
    skipped = (*last.skipped, last.queued) if last.queued is not None else last.skipped
    return Current(structs.replace(last, queued=change.change_id, skipped=skipped))


def _is_newer(last: Rollout, members: list[Member]) -> bool:
    """Whether anybody wants something else than what the rollout brings."""
    for candidate, progress in ((each.candidate, each.progress) for each in members):
        place = progress.enrolment
        mine = place is not None and place.rollout == last.name
        aimed_at = place.target if mine and place is not None else progress.admitted
        if aimed_at is None or _differ(aimed_at, candidate.wanted):
            return True
    return False


def _needs_one(change: Change, members: list[Member]) -> bool:
    """Whether anything differs that is to be staged.

    Not for a change that was rejected, nor for other values that clusters read (B16); nor for clusters that join a
    fleet which is where it should be, and clusters that return to one: they get what their stage has admitted (B21,
    B25).
    """
    if change.is_rejected:
        return False
    installed = False
    first_installs = False
    for candidate, progress in ((each.candidate, each.progress) for each in members):
        if progress.admitted is None:
            first_installs = True
        elif _differ(progress.admitted, candidate.wanted) and not _follows(change, candidate, progress):
            return True
        else:
            installed = True
    return first_installs and not installed


def _follows(change: Change, candidate: Candidate, progress: PluginState) -> bool:
    """Whether the rollout that is over left a plugin behind that could not be reached: it catches up, or goes back."""
    place, last = progress.enrolment, change.rollout
    if last is None or place is None or place.rollout != last.name:
        return False
    goal = place.target if last.phase == "Succeeded" else place.before if change.left_behind(progress) else None
    return goal is not None and not _differ(goal, candidate.wanted)


def _differ(one: Deployed, other: Deployed) -> bool:
    """Whether they are others by what is written: values that were read on a cluster are no part of a rollout."""
    return one.input_hash != other.input_hash and not is_reread(one, other)


def _new(change: Change, last: Rollout | None, now: datetime) -> Rollout:
    used = change.used | {last.name} if last is not None else change.used
    name = rollout_name(change.owner.name, change.change_id, used)
    stages, number = _stages(change), last.number + 1 if last is not None else 1
    return Rollout(
        name, change.owner, change.change_id, change.policy, now, stages, contents=change.contents, number=number
    )


def _stages(change: Change) -> tuple[StageTimes, ...]:
    return tuple(StageTimes(rule.name) for rule in change.policy.stages)


def _superseded(last: Rollout | None, now: datetime) -> Rollout | None:
    if last is None or not last.is_open:
        return None
    return structs.replace(last, phase="Superseded", ended=now)
