"""Failure: what becomes of a rollout whose budget is exceeded, and how clusters go back.

It stops at once, and goes back only when nothing more is tried: a cluster that a retry may heal is not yet lost. There
is no way back over a version that is irreversible; the rollout then halts and waits for a fix (R2-39).
"""

from __future__ import annotations

from fleetform.engine.plan.gates.chain import way_back_reasons
from fleetform.engine.plan.gates.concurrency import concurrency
from fleetform.engine.plan.gates.rejected import gave_up
from fleetform.engine.plan.gates.wait import retry_later
from fleetform.engine.plan.members import Member
from fleetform.engine.plan.progress import rolled_back
from fleetform.engine.plan.records import Reason, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import Standing, Tally
from fleetform.engine.plan.view import StageView, View
from fleetform.model.state import Attempt, PluginState


def goes_back(view: View, rollout: Rollout, members: list[Member]) -> bool:
    """Whether a rollout returns what it started: it already does, or has failed for good and may."""
    if rollout.phase == "RollingBack":
        return True
    if rollout.started is None or rollout.policy.on_failure != "Rollback" or view.breached(final=True) is None:
        return False
    return not any(_was_started(rollout, each.progress) and _is_irreversible(each.progress) for each in members)


def _was_started(rollout: Rollout, progress: PluginState) -> bool:
    """Whether what is admitted is what the rollout brought."""
    place, admitted = progress.enrolment, progress.admitted
    if place is None or admitted is None or place.rollout != rollout.name:
        return False
    attempt = progress.attempt
    return (
        attempt is not None
        and not attempt.back
        and admitted.input_hash == place.target.input_hash == attempt.input_hash
    )


def _is_irreversible(progress: PluginState) -> bool:
    return progress.enrolment is not None and progress.enrolment.irreversible


def is_left_behind(rollout: Rollout, progress: PluginState) -> bool:
    """Whether a plugin still has what a rollout brought that was rolled back while its cluster could not be reached."""
    return rollout.rejected and rollout.phase == "Halted" and _was_started(rollout, progress)


def way_back(view: View, rollout: Rollout, members: list[Member]) -> list[Step]:
    """A step for each plugin of a rollout that goes back, in all stages, as many at a time as each stage may."""
    slots = {stage.rule.name: StageView(stage.rule, stage.times) for stage in view.stages}
    for member in members:
        place, attempt = member.progress.enrolment, member.progress.attempt
        if place is not None and attempt is not None and attempt.back and attempt.phase == "Applying":
            _tally(slots, place.stage).add(Standing.APPLYING)
    for stage in slots.values():
        stage.measure()
    return [_step_back(view, rollout, member, slots) for member in members]


def _tally(slots: dict[str, StageView], stage: str | None) -> Tally:
    return slots[stage].tally if stage in slots else Tally()


def _step_back(view: View, rollout: Rollout, member: Member, slots: dict[str, StageView]) -> Step:
    candidate, progress = member.candidate, member.progress
    place, attempt = progress.enrolment, progress.attempt
    if place is None or place.rollout != rollout.name or attempt is None or attempt.rollout != rollout.name:
        return not_again(view, member)
    if attempt.back:
        return _on_its_way(view, member, attempt)
    if not _was_started(rollout, progress):
        return not_again(view, member)
    if place.before is None:
        message = f"{candidate.key[2]} was installed by this change: there is nothing to roll back to"
        reason = Reason("rejected", message, "fix it, or remove it from the preset")
        return Step(candidate.key, "nothing", "Failed", progress, (reason,), place.stage)
    reasons = way_back_reasons(view, candidate)
    here = slots.get(place.stage or "")
    full = concurrency(here) if here is not None and not reasons else None
    if reasons or full is not None:
        held = reasons or ((full,) if full is not None else ())
        return Step(candidate.key, "wait", "Waiting", progress, held, place.stage, place.before)
    if here is not None:
        here.starts += 1
    view.busy[candidate.cluster.key] = candidate.key
    return Step(candidate.key, "rollback", "InFlight", rolled_back(progress, view.now), (), place.stage, place.before)


def _on_its_way(view: View, member: Member, attempt: Attempt) -> Step:
    if attempt.phase == "Applying":
        return Step(member.candidate.key, "nothing", "InFlight", member.progress)
    if attempt.phase == "Failed":
        reason = gave_up(view, attempt)
        until, patience = view.limits.patience.retry_at(attempt), view.limits.patience
        if until is not None:
            # Once the rollout is over, which does not wait for it: a fix must not.
            reason = retry_later(attempt.failures, patience.retries, until if until > view.now else None)
        return Step(member.candidate.key, "nothing", "Failed", member.progress, (reason,))
    return not_again(view, member)


def not_again(view: View, member: Member) -> Step:
    """A plugin that the rollout has not changed, or has returned: what is wanted does not start again."""
    key, progress = member.candidate.key, member.progress
    if progress.in_flight:
        return Step(key, "nothing", "InFlight", progress)
    if not member.is_changed:
        return Step(key, "nothing", "UpToDate", progress)
    do = f"change it, or fleetform rollout retry {view.change.owner.name}"
    reason = Reason("rejected", "this change failed and is rolled back", do, ref=view.change.owner)
    return Step(key, "block", "Blocked", progress, (reason,))


def is_back(steps: list[Step], lost: set[object]) -> bool:
    """Whether all that can be reached has returned. A cluster that cannot does so when it answers again."""
    return not any(
        step.action == "rollback" or step.state == "InFlight" or (step.action == "wait" and step.key not in lost)
        for step in steps
    )
