"""Starts: a step for each plugin: it starts, or all that holds it is told. Slots go to those that nothing holds."""

from __future__ import annotations

from functools import cached_property

from msgspec import structs

from fleetform.engine.plan.crowd import Crowd
from fleetform.engine.plan.crowd_starts import CrowdStarts
from fleetform.engine.plan.failure import way_back_of_left_behind
from fleetform.engine.plan.gates.budget import ReadingBudget
from fleetform.engine.plan.gates.chain import (
    free_reasons,
    member_reasons,
    plugin_reasons,
    queued_reasons,
    stage_reasons,
    way_back_reasons,
)
from fleetform.engine.plan.gates.concurrency import concurrency
from fleetform.engine.plan.gates.found_by_decide import validity
from fleetform.engine.plan.gates.rejected import gave_up
from fleetform.engine.plan.gates.stage import no_stage
from fleetform.engine.plan.gates.unreachable import is_lost
from fleetform.engine.plan.gates.wait import retry_later
from fleetform.engine.plan.members import NO_STAGE, UNSTAGED, Member, new_place
from fleetform.engine.plan.progress import is_reread, read_anew, started, tried_again
from fleetform.engine.plan.records import State, Step
from fleetform.engine.plan.stages import ABSENT, DONE, FAILED, SOAKING, TIMED_OUT, WAITING
from fleetform.engine.plan.verdicts import Reasons, Verdict, verdict_of
from fleetform.engine.plan.view import StageView, View
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.state import Deployed, Enrolment, PluginState


def steps_of(view: View, members: list[Member]) -> tuple[list[Step], Crowd | None]:
    """The steps of all plugins of an owner, in the order given, which is also the order in which slots are taken."""
    held = Held(view, members)
    if view.change.crowd is None:
        return [_step(view, member, held) for member in members], None
    crowd = CrowdStarts(view, view.change.crowd, held.by_stage)
    steps = []
    for member in members:
        crowd.take_before(member.position, member.candidate.key)
        steps.append(_step(view, member, held))
    crowd.take_all()
    return steps, crowd.after


class Held:
    """What holds plugins together: judged once for each stage, before anything starts.

    behind are the ways back of what a rollout left behind that is over.
    """

    def __init__(self, view: View, members: list[Member]) -> None:
        self._view, self._all = view, members
        self.behind = {step.key: step for step in way_back_of_left_behind(view, members)}
        self.members = member_reasons(view)
        self.over_budget = any(reason.gate == "budget" for reason in self.members)
        self.by_stage = [(*self.members, *stage_reasons(view, stage)) for stage in view.stages]
        self.nowhere = (*self.members, no_stage(view))
        self.free = free_reasons(view)
        self.queued = queued_reasons(view)

    @cached_property
    def _readings(self) -> ReadingBudget:
        return ReadingBudget(self._view, [(each.candidate, each.progress) for each in self._all])

    def of_reading(self, member: Member) -> Reasons:
        """What holds another value that its cluster reads, beside that cluster's own gates (B16)."""
        suspended = tuple([reason for reason in self.members if reason.gate == "suspended"])
        exceeded = self._readings.reason(member.candidate, member.progress)
        return suspended if exceeded is None else (*suspended, exceeded)

    def of(self, view: View, member: Member) -> Reasons:
        """What holds a member beside its own cluster. One that joins a stage that has started waits for nobody."""
        if member.position == UNSTAGED or (member.joined and _has_started(view, member)):
            return self.members
        return self.nowhere if member.position == NO_STAGE else self.by_stage[member.position]


def _has_started(view: View, member: Member) -> bool:
    if member.position < 0:
        return False
    times = view.stages[member.position].times
    return times.started is not None or times.done is not None


def _step(view: View, member: Member, held: Held) -> Step:
    if member.candidate.key in held.behind:
        return held.behind[member.candidate.key]
    if member.role == "settled":
        return _settled(view, member)
    if member.role == "queued":
        return _waiting(view, member, held.queued)
    if member.role == "free":
        return _free(view, member, held)
    standing = member.standing
    if standing is WAITING:
        baseline = member.candidate.baseline
        is_new = member.joined and member.progress.admitted is None
        if is_new and baseline is not None and (held.over_budget or not _has_started(view, member)):
            return _start_meanwhile(view, member, baseline)
        return _try_to_start(view, member, held.of(view, member))
    if standing is DONE or standing is SOAKING:
        if member.is_changed:
            # What it waits for is what comes after the rollout, and no longer what that brought.
            member.target = member.candidate.wanted
            return _waiting(view, member, held.queued)
        return Step(member.candidate.key, "nothing", "UpToDate", member.progress, (), _stage_name(view, member))
    if standing is FAILED or standing is TIMED_OUT:
        return _failed(view, member)
    if standing is ABSENT:
        return _waiting(view, member, held.of(view, member))
    return Step(member.candidate.key, "nothing", "InFlight", member.progress, (), _stage_name(view, member))


def _settled(view: View, member: Member) -> Step:
    """It is what is wanted; what was started last may still be under way, or have failed."""
    candidate, progress = member.candidate, member.progress
    attempt = progress.attempt
    if attempt is None or attempt.phase == "Healthy":
        return Step(candidate.key, "nothing", "UpToDate", progress)
    if attempt.phase == "Failed":
        return _failed(view, member)
    state: State = "InFlight" if attempt.phase == "Applying" else "Unreachable"
    return Step(candidate.key, "nothing", state, progress)


def _free(view: View, member: Member, held: Held) -> Step:
    """A plugin that no stage concerns: it joins a fleet that is where it should be, or returns to one."""
    candidate, progress = member.candidate, member.progress
    if progress.in_flight:
        return Step(candidate.key, "nothing", "InFlight", progress)
    if view.change.policy.external:
        reasons = validity(candidate, view.now)
    elif member.target is candidate.baseline:
        reasons = _baseline_reasons(view, member, member.target)
    else:
        beside = held.of_reading(member) if is_reread(progress.admitted, member.target) else held.free
        reasons = beside + plugin_reasons(view, candidate, progress, member.target.input_hash)
    if held.free and progress.attempt is not None and progress.attempt.back and progress.failed:
        # While what is wanted may not start, what it went back to is tried again.
        return _with(held.free, _failed(view, member))
    if reasons:
        return _held(member, verdict_of(reasons), None)
    if candidate.key in view.unrendered:
        return _to_render(member, member.target, None)
    view.busy[candidate.cluster.key] = candidate.key
    after = _after_start(view, progress, member.target, _place_in_the_last(view, member), "")
    return Step(candidate.key, "start", "InFlight", after, (), None, member.target)


def _place_in_the_last(view: View, member: Member) -> Enrolment | None:
    """The place of a plugin that gets what the last rollout brought once that has succeeded: its cluster answers again,
    or joins. Should somebody roll that back, it goes back as all the others do (S50)."""
    last, candidate, progress = view.change.rollout, member.candidate, member.progress
    if view.rollout is not None or last is None or last.phase != "Succeeded":
        return None
    known = progress.enrolment
    if known is not None and known.rollout == last.name:
        return known if known.target.input_hash == member.target.input_hash else None
    if progress.admitted is not None or candidate.earlier is None:
        return None
    stage = candidate.stage if any(each.name == candidate.stage for each in last.policy.stages) else None
    return Enrolment(last.name, stage, member.target, candidate.earlier, joined=True)


def _after_start(
    view: View, progress: PluginState, target: Deployed, place: Enrolment | None, rollout: str
) -> PluginState:
    if is_reread(progress.admitted, target):
        return read_anew(progress, target, view.now)
    return started(progress, target, place, rollout, view.now)


def _failed(view: View, member: Member) -> Step:
    """Tried again after a while, by the gates of its own cluster and in a slot of its stage; in the end given up.

    A way back that is tried again passes what it passed at first (R2-38).
    """
    candidate, progress = member.candidate, member.progress
    attempt, patience, stage = progress.attempt, view.limits.patience, _stage_name(view, member)
    assert attempt is not None
    until = patience.retry_at(attempt)
    if until is None:
        return Step(candidate.key, "nothing", "Failed", progress, (gave_up(view, attempt),), stage)
    if until > view.now:
        reason = retry_later(attempt.failures, patience.retries, until)
        return Step(candidate.key, "wait", "Failed", progress, (reason,), stage)
    held = tuple([reason for reason in member_reasons(view) if reason.gate == "suspended"])
    if attempt.back:
        reasons = held + way_back_reasons(view, candidate)
    else:
        reasons = held + plugin_reasons(view, candidate, progress, attempt.input_hash)
    here = _slots_of(view, member)
    holds_slot = here is not None and member.standing is FAILED and here.rule.failed_holds_slot
    if here is not None and not reasons and not holds_slot:
        # A rollout that failed or soaks there does nothing: only what it changes holds what is no part of it.
        full = concurrency(here) if member.role == "member" or here.is_changing_all_it_may else None
        reasons = (full,) if full is not None else ()
    if reasons or progress.admitted is None:
        return Step(candidate.key, "wait", "Failed", progress, reasons, stage)
    if here is not None and holds_slot:
        # It is tried again in that very slot, which counts once.
        here.taken -= 1
    _take_place(view, member, here)
    after = tried_again(progress, view.now)
    return Step(candidate.key, "start", "InFlight", after, (), stage, progress.admitted)


def _slots_of(view: View, member: Member) -> StageView | None:
    """The stage in whose slots a plugin is tried again: its own in the rollout; beside one that runs, as it has what is
    wanted, the stage of its cluster, if that says how many may be changed at once."""
    if member.role == "settled":
        named = [each for each in view.stages if each.rule.name == member.candidate.stage]
        return next((each for each in named if each.rule.max_concurrency is not None), None)
    return view.stages[member.position] if member.role == "member" and member.position >= 0 else None


def _with(held: Reasons, step: Step) -> Step:
    """A step that does not start, told with what holds the plugin beside it."""
    if step.action == "start":
        return step
    return structs.replace(step, reasons=(*[each for each in held if each not in step.reasons], *step.reasons))


def _try_to_start(view: View, member: Member, held: Reasons) -> Step:
    candidate, target = member.candidate, member.target
    own = plugin_reasons(view, candidate, member.progress, target.input_hash)
    if own and candidate.meanwhile is not None:
        target, own = _meanwhile(member, candidate.meanwhile, own)
    here = view.stages[member.position] if member.position >= 0 and not _passes_slots(view, member) else None
    if not own and not held:
        full = concurrency(here) if here is not None else None
        if full is None:
            return _start(view, member, target, here)
        held = view.verdicts.alone(full)
    return _held(member, view.verdicts.join(held, own), _stage_name(view, member))


def _start_meanwhile(view: View, member: Member, baseline: Deployed) -> Step:
    """A new cluster gets what its stage has admitted at once, and goes with its stage from there (B21, S51).

    Its place is written down if the rollout has started; until then its stage waits for it as for any other.
    """
    candidate, progress = member.candidate, member.progress
    reasons = _baseline_reasons(view, member, baseline)
    if reasons:
        return _held(member, verdict_of(reasons), _stage_name(view, member))
    if candidate.key in view.unrendered:
        return _to_render(member, baseline, None)
    view.busy[candidate.cluster.key] = candidate.key
    is_fixed = view.rollout is not None and view.rollout.started is not None
    place = enrolment_of(view, member) if is_fixed else progress.enrolment
    after = structs.replace(started(progress, baseline, None, "", view.now), enrolment=place)
    return Step(candidate.key, "start", "InFlight", after, (), None, baseline)


def _baseline_reasons(view: View, member: Member, baseline: Deployed) -> Reasons:
    """What its stage has admitted is no part of the change: gates of that do not hold it, nor that it was rejected."""
    suspended = [reason for reason in member_reasons(view) if reason.gate == "suspended"]
    own = plugin_reasons(view, member.candidate, member.progress, baseline.input_hash)
    return (*suspended, *(reason for reason in own if reason.gate not in VALIDITY_GATES))


def _passes_slots(view: View, member: Member) -> bool:
    """A new cluster gets what its stage has admitted at once (S51)."""
    return member.joined and member.progress.admitted is None and _has_started(view, member)


def _meanwhile(member: Member, meanwhile: Deployed, own: Reasons) -> tuple[Deployed, Reasons]:
    """Gates of validity keep a plugin from another version, not from what the one that runs should get."""
    admitted = member.progress.admitted
    if admitted is None or admitted.input_hash == meanwhile.input_hash:
        return member.target, own
    others = tuple([reason for reason in own if reason.gate not in VALIDITY_GATES])
    return (meanwhile, others) if len(others) < len(own) else (member.target, own)


def _to_render(member: Member, target: Deployed, stage: str | None) -> Step:
    """What could not be rendered a moment ago takes no turn on its cluster: others may start there until it can be."""
    return Step(member.candidate.key, "render", "Waiting", member.progress, (), stage, target)


def _start(view: View, member: Member, target: Deployed, here: StageView | None) -> Step:
    if member.candidate.key in view.unrendered:
        if here is not None:
            # Its slot is kept: the rest of its stage is most likely made of the same.
            here.taken += 1
        return _to_render(member, target, _stage_name(view, member))
    if member.position >= 0:
        view.stages[member.position].first_starts += 1
    _take_place(view, member, here)
    place = enrolment_of(view, member)
    name, stage = (place.rollout, place.stage) if place is not None else ("", None)
    after = _after_start(view, member.progress, target, place, name)
    return Step(member.candidate.key, "start", "InFlight", after, (), stage, target)


def _take_place(view: View, member: Member, here: StageView | None) -> None:
    """What starts takes a slot, if it needs one, and its cluster; its deadline is something to look at."""
    if here is not None:
        here.starts += 1
    deadline = view.stages[member.position].rule.deadline if member.position >= 0 else None
    if deadline is not None:
        view.look_at(view.now + deadline)
    view.busy[member.candidate.cluster.key] = member.candidate.key


def enrolment_of(view: View, member: Member) -> Enrolment | None:
    """A member's place in the rollout, as it is or as it becomes by the first start."""
    rollout = view.rollout
    if rollout is None or member.role != "member":
        return member.progress.enrolment
    known = member.progress.enrolment
    if known is not None and known.rollout == rollout.name:
        return known
    return new_place(view, rollout, member)


def _waiting(view: View, member: Member, reasons: Reasons) -> Step:
    """What somebody else holds, with what its own cluster would say."""
    candidate, progress = member.candidate, member.progress
    if progress.in_flight:
        return Step(candidate.key, "nothing", "InFlight", progress, (), _stage_name(view, member))
    own = plugin_reasons(view, candidate, progress, member.target.input_hash)
    step = _held(member, view.verdicts.join(reasons, own), _stage_name(view, member))
    if member.standing is ABSENT or is_lost(view, candidate.cluster):
        return Step(step.key, step.action, "Unreachable", progress, step.reasons, step.stage)
    return step


def _held(member: Member, verdict: Verdict, stage: str | None) -> Step:
    key, progress = member.candidate.key, member.progress
    return Step(key, verdict.action, verdict.state, progress, verdict.reasons, stage, member.target)


def _stage_name(view: View, member: Member) -> str | None:
    return view.stages[member.position].rule.name if member.position >= 0 else None
