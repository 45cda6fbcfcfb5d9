"""Owner: the plan for one owner. Reads top to bottom: which rollout, who is in it, how far is it, who may start."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import structs

from fleetform.engine.plan.crowd_starts import count_crowd
from fleetform.engine.plan.current import current_rollout
from fleetform.engine.plan.emergency import in_force
from fleetform.engine.plan.failure import goes_back, has_to_go_back, is_back, is_given_up, ran_before, way_back
from fleetform.engine.plan.gates.unreachable import is_lost
from fleetform.engine.plan.members import Member, place
from fleetform.engine.plan.outcome import counted, enrolled, rollout_after
from fleetform.engine.plan.records import Change, OwnerPlan, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import APPLYING, BUSY, FAILED, RETRYING, SOAKING, TIMED_OUT
from fleetform.engine.plan.starts import steps_of
from fleetform.engine.plan.verdicts import BLOCKING
from fleetform.engine.plan.view import Pass, StageView, View

_AT_WORK = (BUSY, APPLYING, RETRYING, SOAKING)
# What a plugin waits for that must be read on its cluster is read for the newer change, and no longer for this one.
_STUCK = BLOCKING | {"downstream"}


def plan_owner(
    round_: Pass, change: Change, members: list[Member], look: datetime | None, replace: bool = False
) -> OwnerPlan:
    """replace: the rollout that runs gives way to what waits."""
    world, now = round_.world, round_.now
    limits = world.limits_of(change.owner.organization)
    emergency = in_force(change, limits, now)
    rollout, replaced = current_rollout(change, members, emergency, replace, now)
    view = View(
        now,
        change,
        rollout,
        limits,
        emergency,
        world.states,
        round_.busy,
        round_.pending,
        round_.almanac,
        look=look,
        unrendered=world.unrendered,
    )
    _count_in(view, members)
    if rollout is not None and rollout.started is None and _concerns_nobody(view, members):
        view.rollout, replaced = None, replaced or structs.replace(rollout, phase="Superseded", ended=now)
        rollout = None
    if rollout is not None and goes_back(view, rollout, members):
        return _going_back(view, rollout, members)
    if rollout is not None and not replace and _gives_way(view, rollout, members):
        return plan_owner(round_, change, members, look, replace=True)
    before = dict(round_.busy) if rollout is not None and rollout.queued is not None else {}
    steps, crowd = steps_of(view, members)
    if rollout is not None and _is_stuck(view, rollout, steps) and not replace:
        # What waits in the queue is the only way on.
        round_.busy.clear()
        round_.busy.update(before)
        return plan_owner(round_, change, members, look, replace=True)
    # Where nothing takes the place of one that is no longer wanted, it is the last one, as it ends.
    after = rollout_after(view, rollout, steps) if rollout is not None else replaced or change.rollout
    begins = after is not None and after.started is not None and (rollout is None or rollout.started is None)
    if after is not None and rollout is not None and rollout.started is None:
        after = _with_versions(after, members)
    if rollout is not None and (begins or view.joins):
        steps = enrolled(view, rollout, members, steps)
    answer = _answer(view, after, members, steps, replaced if after is not replaced else None)
    if crowd is None:
        return answer
    return structs.replace(answer, crowd=crowd, is_idle=answer.is_idle and crowd is change.crowd)


def _with_versions(rollout: Rollout, members: list[Member]) -> Rollout:
    """With what it leads from and to, as its clusters are now."""
    own = [each for each in members if each.role == "member"]
    came_from = [ran_before(rollout, each.progress) for each in own]
    before = {each.version for each in came_from if each is not None}
    after = {each.target.version for each in own}
    return structs.replace(rollout, from_versions=_sorted(before), to_versions=_sorted(after))


def _sorted(versions: set[str | None]) -> tuple[str, ...]:
    return tuple(sorted(each for each in versions if each is not None))


def _concerns_nobody(view: View, members: list[Member]) -> bool:
    """Whether all that a rollout was about is what is wanted by now. What failed with that takes no rollout to mend."""
    if view.change.crowd is not None:
        return not view.members
    return not any(each.role == "member" and (each.is_changed or each.progress.in_flight) for each in members)


def _answer(
    view: View, after: Rollout | None, members: list[Member], steps: list[Step], replaced: Rollout | None = None
) -> OwnerPlan:
    moves = tuple([step for member, step in zip(members, steps, strict=True) if step.progress is not member.stored])
    idle = after == view.change.rollout and replaced is None and not moves
    over = (after is None or not after.is_open) and view.look is None and view.change.emergency is None
    at_rest = idle and over and view.change.crowd is None
    at_rest = at_rest and all(step.state == "UpToDate" and not step.reasons for step in steps)
    dependent = any(member.candidate.depends_on for member in members)
    return OwnerPlan(
        view.change,
        after,
        counted(view, after),
        tuple(steps),
        replaced,
        view.look,
        view.emergency,
        idle,
        at_rest=at_rest,
        keys=frozenset([step.key for step in steps]) if at_rest else frozenset(),
        moves=moves,
        starts=tuple([step for step in steps if step.is_start]),
        next_look=first_due(steps, view.look),
        stands_alone=not dependent and not any(step.progress.in_flight for step in steps),
    )


def first_due(steps: Iterable[Step], look: datetime | None = None) -> datetime | None:
    """The least time that any of some plugins waits for, if that is before another."""
    seen: set[int] = set()
    times = [look] if look is not None else []
    for step in steps:
        reasons = step.reasons
        # Many plugins share what they wait for.
        if reasons and id(reasons) not in seen:
            seen.add(id(reasons))
            times += [reason.until for reason in reasons if reason.until is not None]
    return min(times, default=None)


def _count_in(view: View, members: list[Member]) -> None:
    """Every plugin gets its place, and the stages what their members have come to."""
    rollout = view.rollout
    if rollout is not None:
        times = {each.name: each for each in rollout.stages}
        view.stages = [StageView(rule, times[rule.name]) for rule in rollout.policy.stages]
    place(view, members)
    tallies = [stage.tally for stage in view.stages]
    for member in members:
        if member.role != "member":
            continue
        standing = member.standing
        tally = tallies[member.position] if member.position >= 0 else view.loose
        tally.counts[standing] += 1
        if standing in _AT_WORK:
            view.under_way.append(member.candidate.key[1])
        if standing is FAILED or standing is TIMED_OUT:
            tally.final_failures += is_given_up(view, member)
        elif member.soaked_at is not None and (tally.soaked_at is None or member.soaked_at > tally.soaked_at):
            tally.soaked_at = member.soaked_at
    if view.change.crowd is not None:
        count_crowd(view, view.change.crowd)
    for stage in view.stages:
        stage.measure()
        if stage.tally.soaked_at is not None:
            view.look_at(stage.tally.soaked_at)
    if rollout is not None:
        _find_done(view, rollout)


def _find_done(view: View, rollout: Rollout) -> None:
    """Stages are done in order. That one was done is a fact: nothing that happens in it later takes that back.

    One that never had a cluster is passed over, and so is one that was done before the rollout's first start. One whose
    clusters have all left says nothing of the change (B21): those that follow wait, if there are any.
    """
    before: datetime = rollout.created
    for position, stage in enumerate(view.stages):
        if stage.times.done is not None:
            stage.done = stage.times.done
        elif not stage.tally.members:
            stage.done = None if stage.was_left and _is_followed(view, position) else before
        elif stage.tally.is_finished(view.forgives, stage.budget):
            stage.done = view.now if rollout.started is not None else before
        if stage.done is None:
            return
        before = stage.done


def _is_followed(view: View, position: int) -> bool:
    following = view.stages[position + 1 :]
    return any(not stage.tally.is_finished(view.forgives, stage.budget) for stage in following)


def _going_back(view: View, rollout: Rollout, members: list[Member]) -> OwnerPlan:
    steps = way_back(view, rollout, members)
    lost = {each.candidate.key for each in members if is_lost(view, each.candidate.cluster)}
    ended = view.now if is_back(steps, set(lost)) else None
    phase = "Halted" if ended is not None else "RollingBack"
    after = structs.replace(rollout, phase=phase, ended=ended, rejected=True)
    return _answer(view, after, members, steps)


def _gives_way(view: View, rollout: Rollout, members: list[Member]) -> bool:
    """Whether what waits takes a rollout's place: its policy says so, or it has halted and waits for a fix (R2-14).

    One that goes back by itself does that first, whatever waits: the newer change may be blocked, or reach what failed
    only after days, and it has the version that failed in it unless that was rejected (B10).
    """
    if rollout.queued != view.change.change_id:
        return False
    over_budget = view.breached() is not None
    if over_budget and has_to_go_back(rollout, members):
        return False
    return view.change.policy.replaces or (over_budget and not rollout.paused)


def _is_stuck(view: View, rollout: Rollout, steps: list[Step]) -> bool:
    """Whether a newer change waits, nothing is under way, and what is left can go on only if somebody mends it.

    A plugin that lacks a value gets it by a newer change, so waiting for the older one would wait for ever (R2-17); and
    so it would where the clusters of a stage have all left (B21). A rollout with a crowd is only played to its end, and
    gives way to none.
    """
    if rollout.queued is None or rollout.started is None or rollout.paused or view.change.crowd is not None:
        return False
    for step in steps:
        if step.action in ("start", "render") or step.state == "InFlight":
            return False
    tallies = [*(stage.tally for stage in view.stages), view.loose]
    if any(tally.of(*_AT_WORK) for tally in tallies):
        return False
    waiting = [step for step in steps if step.action in ("wait", "block") and not _only_queues(step)]
    current = next((stage for stage in view.stages if stage.done is None), None)
    if current is not None and current.was_left:
        return True
    name = current.rule.name if current is not None else None
    here = [step for step in waiting if step.stage == name]
    return bool(here) and all(any(reason.gate in _STUCK for reason in step.reasons) for step in here)


def _only_queues(step: Step) -> bool:
    return all(reason.gate == "queue" for reason in step.reasons)
