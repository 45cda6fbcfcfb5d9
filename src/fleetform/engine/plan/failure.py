"""Failure: what becomes of a rollout whose budget is exceeded, and how clusters go back.

It stops at once, and goes back only when nothing more is tried: a cluster that a retry may heal is not yet lost. There
is no way back over a version that is irreversible; the rollout then halts and waits for a fix (R2-39).
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.plan.gates.chain import calendar_reasons, way_back_reasons
from fleetform.engine.plan.gates.concurrency import concurrency
from fleetform.engine.plan.gates.found_by_decide import render_failed
from fleetform.engine.plan.gates.rejected import gave_up
from fleetform.engine.plan.gates.unreachable import is_lost
from fleetform.engine.plan.gates.wait import retry_later
from fleetform.engine.plan.members import Member
from fleetform.engine.plan.progress import rolled_back
from fleetform.engine.plan.records import Reason, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import APPLYING, DONE, Tally
from fleetform.engine.plan.view import StageView, View
from fleetform.model.state import Attempt, Enrolment, PluginState


def goes_back(view: View, rollout: Rollout, members: list[Member]) -> bool:
    """Whether a rollout returns what it started: it already does, or has failed for good and may."""
    if rollout.phase == "RollingBack":
        return True
    return rollout.started is not None and view.breached(final=True) is not None and _may_go_back(rollout, members)


def _may_go_back(rollout: Rollout, members: list[Member]) -> bool:
    """Whether a rollout goes back once it has failed for good: its policy says so, and nothing is irreversible."""
    if rollout.policy.on_failure != "Rollback":
        return False
    return not any(each.irreversible for each in _brought(rollout, members))


def has_to_go_back(rollout: Rollout, members: list[Member]) -> bool:
    """Whether something returns if a rollout fails for good: what was installed by it has nothing to go back to."""
    return _may_go_back(rollout, members) and any(each.before for each in _brought(rollout, members))


def _brought(rollout: Rollout, members: list[Member]) -> Iterator[Enrolment]:
    """The places of what a rollout has started, and what still is as it brought it."""
    for progress in (each.progress for each in members):
        if progress.enrolment is not None and is_from(rollout, progress):
            yield progress.enrolment


def is_given_up(view: View, member: Member) -> bool:
    """Whether a plugin that failed is not tried again when it is due: often enough was, its cluster holds or is not
    there, or its window has closed, which a way back does not wait for."""
    attempt, candidate = member.progress.attempt, member.candidate
    if attempt is None:
        return False
    due = view.limits.patience.retry_at(attempt)
    if due is None or candidate.cluster.hold is not None or is_lost(view, candidate.cluster):
        return True
    return due <= view.now and bool(calendar_reasons(view, candidate, first_install=False))


def is_from(rollout: Rollout, progress: PluginState) -> bool:
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


def way_back(view: View, rollout: Rollout, members: list[Member]) -> list[Step]:
    """A step for each plugin of a rollout that goes back, in all stages, as many at a time as each stage may.

    What failed goes first: others still work.
    """
    times = {each.name: each for each in rollout.stages}
    slots = {rule.name: StageView(rule, times[rule.name]) for rule in rollout.policy.stages}
    for member in members:
        place = member.progress.enrolment
        if place is not None and place.rollout == rollout.name:
            _tally(slots, place.stage).add(APPLYING if _returns(rollout, member.progress) else DONE)
    for stage in slots.values():
        stage.measure()
    in_turn = sorted(members, key=lambda each: each.progress.failed is None)
    steps = {each.candidate.key: _step_back(view, rollout, each, slots) for each in in_turn}
    return [steps[each.candidate.key] for each in members]


def is_left_behind(rollout: Rollout, progress: PluginState) -> bool:
    """Whether a plugin still has what a rollout brought that was rolled back while its cluster could not be reached."""
    return rollout.rejected and rollout.phase == "Halted" and not rollout.is_open and is_from(rollout, progress)


def way_back_of_left_behind(view: View, members: list[Member]) -> list[Step]:
    """Steps for what a rollout left behind that went back, whatever is wanted there by now: that may lie below it.

    As many at a time as while it went back: a whole region may return at once.
    """
    last = view.change.rollout
    if last is None or view.rollout is not None:
        return []
    left = [each for each in members if is_left_behind(last, each.progress) and _has_where_to_go(each)]
    if not left:
        return []
    steps = way_back(view, last, [*left, *(each for each in members if _returns(last, each.progress))])
    return steps[: len(left)]


def _has_where_to_go(member: Member) -> bool:
    """What was installed by it stays; where something else is wanted by now, that may mend it."""
    place = member.progress.enrolment
    return member.role == "settled" or (place is not None and place.before is not None)


def _returns(rollout: Rollout, progress: PluginState) -> bool:
    attempt = progress.attempt
    return attempt is not None and attempt.back and progress.in_flight and attempt.rollout == rollout.name


def _tally(slots: dict[str, StageView], stage: str | None) -> Tally:
    return slots[stage].tally if stage in slots else Tally()


def _step_back(view: View, rollout: Rollout, member: Member, slots: dict[str, StageView]) -> Step:
    candidate, progress = member.candidate, member.progress
    place, attempt = progress.enrolment, progress.attempt
    if place is None or place.rollout != rollout.name or attempt is None or attempt.rollout != rollout.name:
        return not_again(view, member)
    if attempt.back:
        return _on_its_way(view, member, attempt)
    if not is_from(rollout, progress):
        return not_again(view, member)
    if place.before is None:
        message = f"{candidate.key[2]} was installed by this change: there is nothing to roll back to"
        reason = Reason("rejected", message, "fix it, or remove it from the preset")
        return Step(candidate.key, "nothing", "Failed", progress, (reason,), place.stage)
    lacking = render_failed(candidate, progress, place.before.input_hash)
    if lacking is not None:
        return Step(candidate.key, "nothing", "Failed", progress, (lacking,), place.stage)
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
