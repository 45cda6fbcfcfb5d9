"""Outcome: what becomes of the rollout itself by a plan: its phase and times, its counts, its members' places."""

from __future__ import annotations

from msgspec import structs

from fleetform.engine.plan.gates.approval import approvers
from fleetform.engine.plan.members import Member, new_place
from fleetform.engine.plan.records import StageCount, Step
from fleetform.engine.plan.rollouts import Rollout, RolloutPhase, StageTimes
from fleetform.engine.plan.stages import Standing
from fleetform.engine.plan.view import StageView, View


def rollout_after(view: View, rollout: Rollout, steps: list[Step]) -> Rollout:
    # What starts beside a rollout, on a cluster that joins, does not fix its members.
    begins = any(stage.first_starts for stage in view.stages) or any(
        step.action == "start" and _by(step, rollout) for step in steps
    )
    started = rollout.started or (view.now if begins else None)
    stages = tuple(_times(view, stage, started is not None) for stage in view.stages)
    finished = started is not None and all(each.done is not None for each in stages) and _all_loose_done(view)
    ended = view.now if finished else None
    phase = "Succeeded" if finished else _phase(view, rollout, started is not None)
    return structs.replace(rollout, stages=stages, started=started, phase=phase, ended=ended)


def _by(step: Step, rollout: Rollout) -> bool:
    return step.progress.attempt is not None and step.progress.attempt.rollout == rollout.name


def _all_loose_done(view: View) -> bool:
    return view.loose.members == view.loose.of(Standing.DONE, Standing.FAILED, Standing.TIMED_OUT, Standing.ABSENT)


def _times(view: View, stage: StageView, has_started: bool) -> StageTimes:
    """A stage's times; before the first start nothing is written down, for everything may still change."""
    if not has_started:
        return stage.times
    total = stage.times.total or stage.tally.members
    started = stage.times.started or (view.now if stage.first_starts else None)
    return StageTimes(stage.rule.name, total, started, stage.done)


def _phase(view: View, rollout: Rollout, has_started: bool) -> RolloutPhase:
    if rollout.paused or view.change.suspended:
        return "Paused"
    if view.breached() is not None:
        return "Halted"
    if not has_started:
        return "Pending"
    moving = (
        any(stage.starts or stage.first_starts or stage.tally.in_flight for stage in view.stages)
        or view.loose.in_flight
    )
    soaking = any(stage.tally.of(Standing.SOAKING) for stage in view.stages)
    return "Soaking" if soaking and not moving else "Progressing"


def enrolled(view: View, rollout: Rollout, members: list[Member], steps: list[Step]) -> list[Step]:
    """Every member's place, written with the first start; after that those of clusters that join."""
    result = []
    for member, step in zip(members, steps, strict=True):
        known = step.progress.enrolment
        if member.role == "member" and (known is None or known.rollout != rollout.name):
            place = new_place(view, rollout, member)
            step = structs.replace(step, progress=structs.replace(step.progress, enrolment=place))
        result.append(step)
    return result


def counted(view: View, rollout: Rollout | None) -> tuple[StageCount, ...]:
    times = {each.name: each for each in rollout.stages} if rollout is not None else {}
    return tuple(_count(view, stage, times.get(stage.rule.name, stage.times)) for stage in view.stages)


def _count(view: View, stage: StageView, times: StageTimes) -> StageCount:
    tally, rule = stage.tally, stage.rule.approvals
    return StageCount(
        name=stage.rule.name,
        total=tally.members,
        waiting=tally.of(Standing.WAITING) - stage.first_starts,
        in_flight=tally.in_flight + max(stage.starts, stage.first_starts),
        soaking=tally.of(Standing.SOAKING),
        done=tally.of(Standing.DONE),
        failed=tally.failed,
        absent=tally.of(Standing.ABSENT),
        slots=stage.slots,
        budget=stage.budget,
        starts=stage.starts,
        approvals_needed=rule.required if rule is not None else 0,
        approvals_given=len(approvers(view, stage.rule.name, rule)) if rule is not None else 0,
        started=times.started,
        finished=times.done,
        soaked_at=tally.soaked_at,
    )
