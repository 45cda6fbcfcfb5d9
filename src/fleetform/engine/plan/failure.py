"""Failure: what becomes of a rollout whose budget is exceeded, and how clusters go back.

It stops at once, and goes back only when nothing more is tried: a cluster that a retry may heal is not yet lost. There
is no way back over a version that is irreversible; the rollout then halts and waits for a fix (R2-39).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.engine.plan.gates.chain import calendar_reasons, way_back_reasons
from fleetform.engine.plan.gates.concurrency import concurrency
from fleetform.engine.plan.gates.found_by_decide import render_failed
from fleetform.engine.plan.gates.rejected import gave_up
from fleetform.engine.plan.gates.unreachable import is_lost
from fleetform.engine.plan.gates.wait import retry_later
from fleetform.engine.plan.members import Member
from fleetform.engine.plan.progress import rolled_back
from fleetform.engine.plan.records import Reason, State, Step
from fleetform.engine.plan.rollouts import Rollout, StageTimes, is_brought_by
from fleetform.engine.plan.stages import APPLYING, DONE, StageRule
from fleetform.engine.plan.view import StageView, View
from fleetform.model.results.advice import Advice
from fleetform.model.state import Attempt, Deployed, Enrolment, PluginState


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
    """Whether what is admitted is what the rollout brought, by itself or when the same change came before, also if
    another one has gone back to that since."""
    place, admitted = progress.enrolment, progress.admitted
    if place is None or admitted is None or place.rollout != rollout.name:
        return False
    attempt = progress.attempt
    return (
        attempt is not None
        and admitted.input_hash == place.target.input_hash == attempt.input_hash
        and is_brought_by(rollout, place, attempt)
    )


def ran_before(rollout: Rollout, progress: PluginState) -> Deployed | None:
    """What a plugin comes from in a rollout: nothing where the rollout itself installed it."""
    place = progress.enrolment
    before = place.before if place is not None and place.rollout == rollout.name else None
    return before if before is not None or is_from(rollout, progress) else progress.admitted


def way_back(view: View, rollout: Rollout, members: list[Member]) -> list[Step]:
    """A step for each plugin of a rollout that goes back, in all stages, as many at a time as each stage may.

    What failed goes first: others still work.
    """
    slots = _slots(rollout.policy.stages, rollout, members)
    in_turn = sorted(members, key=lambda each: each.progress.failed is None)
    steps = {each.candidate.key: _step_back(view, rollout, each, slots) for each in in_turn}
    return [steps[each.candidate.key] for each in members]


def way_back_of_left_behind(view: View, members: list[Member]) -> list[Step]:
    """Steps for what rollouts left behind that went back, whatever is wanted there by now: that may lie below it.

    That is so while a newer rollout runs, too: it goes on from what was healthy before, as everywhere else. As many at
    a time as while it went back: a whole region may return at once.
    """
    left: dict[str, list[Member]] = {}
    rollouts: dict[str, Rollout] = {}
    for member in members:
        rollout = view.change.left_behind(member.progress)
        if rollout is not None and _has_where_to_go(view, rollout, member):
            rollouts[rollout.name] = rollout
            left.setdefault(rollout.name, []).append(member)
    steps = []
    for name, rollout in rollouts.items():
        last = view.change.rollout
        rules = (*(last.policy.stages if last is not None else ()), *rollout.policy.stages)
        slots = _slots(rules, rollout, members)
        for member in left[name]:
            # What runs has slots of its own, and its plan counts them.
            running = view.stages[member.position] if member.role == "member" and member.position >= 0 else None
            place = member.progress.enrolment
            steps.append(_return(view, rollout, member, running or slots.get((place and place.stage) or "")))
    return steps


def _has_where_to_go(view: View, rollout: Rollout, member: Member) -> bool:
    """What was installed by it stays; where something else is wanted by now, that may mend it, and so it may where what
    was there before cannot be rendered any more."""
    place = member.progress.enrolment
    if view.rollout is None and rollout is view.change.rollout and member.role == "settled":
        return True
    if place is None or place.before is None or member.role == "settled":
        return False
    return view.rollout is None or render_failed(member.candidate, member.progress, place.before.input_hash) is None


def _slots(rules: Iterable[StageRule], rollout: Rollout, members: list[Member]) -> dict[str, StageView]:
    """The stages in which a rollout goes back, with what is on its way there."""
    times = {each.name: each for each in rollout.stages}
    slots = {rule.name: StageView(rule, times.get(rule.name, StageTimes(rule.name))) for rule in rules}
    for member in members:
        place, returns = member.progress.enrolment, _returns(rollout, member.progress)
        if place is not None and place.stage in slots and (returns or place.rollout == rollout.name):
            slots[place.stage].tally.add(APPLYING if member.progress.in_flight else DONE)
    for stage in slots.values():
        stage.measure()
    return slots


def _returns(rollout: Rollout, progress: PluginState) -> bool:
    attempt = progress.attempt
    return attempt is not None and attempt.back and progress.in_flight and attempt.rollout == rollout.name


def _step_back(view: View, rollout: Rollout, member: Member, slots: dict[str, StageView]) -> Step:
    progress = member.progress
    place, attempt = progress.enrolment, progress.attempt
    if place is None or place.rollout != rollout.name or attempt is None:
        return not_again(view, member)
    if attempt.back and attempt.rollout == rollout.name:
        return _on_its_way(view, member, attempt)
    if not is_from(rollout, progress):
        return not_again(view, member)
    return _return(view, rollout, member, slots.get(place.stage or ""))


def _return(view: View, rollout: Rollout, member: Member, here: StageView | None) -> Step:
    """A plugin that has what a rollout brought goes back to what it had before, in a slot of its stage."""
    candidate, progress = member.candidate, member.progress
    place = progress.enrolment
    assert place is not None
    if place.before is None:
        return Step(candidate.key, "nothing", "Failed", progress, (_nothing_before(member, place),), place.stage)
    lacking = render_failed(candidate, progress, place.before.input_hash)
    if lacking is not None:
        return Step(candidate.key, "nothing", "Failed", progress, (lacking,), place.stage)
    reasons = way_back_reasons(view, candidate)
    # What is still being changed goes back in the slot that it has.
    takes_slot = here is not None and not progress.in_flight
    full = concurrency(here) if here is not None and takes_slot and not reasons else None
    if reasons or full is not None:
        held = reasons or ((full,) if full is not None else ())
        state: State = "Unreachable" if is_lost(view, candidate.cluster) else "Waiting"
        return Step(candidate.key, "wait", state, progress, held, place.stage, place.before)
    if here is not None and takes_slot:
        here.starts += 1
    view.busy[candidate.cluster.key] = candidate.key
    after = rolled_back(progress, rollout.name, view.now)
    return Step(candidate.key, "rollback", "InFlight", after, (), place.stage, place.before)


def _nothing_before(member: Member, place: Enrolment) -> Reason:
    """Why there is nothing to go back to. Only the rollout that started something can tell that it found nothing."""
    name, attempt = member.candidate.key[2], member.progress.attempt
    message = f"{name} was installed by this change: there is nothing to roll back to"
    if attempt is not None and attempt.rollout not in ("", place.rollout):
        message = f"nothing is known of {name} from before this change: there is nothing to roll back to"
    return Reason("rejected", message, "fix it, or remove it from the preset")


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
    owner = view.change.owner
    do = Advice("change-or-retry", owner.organization, owner)
    reason = Reason("rejected", "this change failed and is rolled back", do, ref=owner)
    return Step(key, "block", "Blocked", progress, (reason,))


def is_back(steps: list[Step], lost: set[object]) -> bool:
    """Whether all that can be reached has returned. A cluster that cannot does so when it answers again."""
    return not any(
        step.action == "rollback" or step.state == "InFlight" or (step.action == "wait" and step.key not in lost)
        for step in steps
    )
