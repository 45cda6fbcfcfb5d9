"""What is told of a plan: that a change waits, is blocked, needs consent, is about to be forced, or fails somewhere.

These are read off what a plan says at a time, and not off what differs from the plan before: whatever was not stored
when a process was killed is found again, and what was told is known by its key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from fleetform.app.answering.advice import Words
from fleetform.app.plan import versions
from fleetform.app.telling.notices import MOST_CAUSES, Notice, Subject, cause, digest, key_of, notice
from fleetform.engine.plan.gates.deletes import STAGE as DELETES
from fleetform.engine.plan.records import Candidate, OwnerPlan, Plan, Reason, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.answers.notifications import Cause
from fleetform.model.kinds.fleet import Event
from fleetform.model.objects import Ref
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.advice import Advice, Do
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, Deployed
from fleetform.syntax.alike import alike, told_as_one
from fleetform.syntax.times import clock_text, distance_text

# How long before something happens by itself people are told, each once.
COUNTDOWN = {"7d": timedelta(days=7), "1d": timedelta(days=1), "1h": timedelta(hours=1)}


class Quiet(NamedTuple):
    """An owner's plan of which all was told that there is to tell, and when time alone gives more: a countdown."""

    plan: OwnerPlan
    until: datetime | None

    def holds(self, plan: OwnerPlan, now: datetime) -> bool:
        return self.plan is plan and (self.until is None or now < self.until)


_NOBODY: Mapping[Ref, Quiet] = {}


class Told(NamedTuple):
    """What a plan has people told, and when time alone makes that another: the next countdown.

    quiet are owners that have no more to tell once this was told, for the next plan.
    """

    notices: list[Notice]
    look_at: datetime | None
    quiet: Mapping[Ref, Quiet] = _NOBODY


class Knowledge(NamedTuple):
    """What is known beside a plan.

    told are keys of what was told: nothing is worked out for them. forced says whether a version goes ahead though
    nobody agreed to it. decide_by is the time until which an approval of a stage does not move the end; None where that
    is not known. words say what people can do where they are told.
    """

    told: Container[str]
    forced: Callable[[PluginKey], bool]
    decide_by: Callable[[OwnerPlan, Rollout, str], datetime | None]
    words: Words


def plan_notices(found: Plan, known: Knowledge, now: datetime, quiet: Mapping[Ref, Quiet] = _NOBODY) -> Told:
    """quiet are owners of which all was told by an earlier plan: those that have the same still are not looked at."""
    notices: list[Notice] = []
    looks: list[datetime | None] = []
    after: dict[Ref, Quiet] = {}
    for owner in found.owners:
        if owner.at_rest:
            continue
        ref = owner.change.owner
        told = quiet.get(ref)
        if told is None or not told.holds(owner, now):
            telling = _Telling(found, known, now)
            telling.owner(owner)
            notices += telling.notices
            told = Quiet(owner, min(telling.looks, default=None))
        looks.append(told.until)
        # What is yet to be stored is told of as that; and what is forced does not follow from the plan alone.
        if owner.is_idle and not any(each.forced or each.forced_at is not None for each in owner.change.candidates):
            after[ref] = told
    telling = _Telling(found, known, now)
    telling.removals()
    return Told([*notices, *telling.notices], min((each for each in looks if each is not None), default=None), after)


class _About(NamedTuple):
    """The change that a notice is about, and what its plugins are wanted to be."""

    owner: Ref
    change_id: str
    rollout: str
    wanted: Mapping[PluginKey, Candidate]


class _Held(NamedTuple):
    """Plugins that are held by the same reasons: plans share these, so that many are looked at as one."""

    reasons: tuple[Reason, ...]
    steps: list[Step]


class _Telling:
    """The notices of one plan, as they are found."""

    def __init__(self, found: Plan, known: Knowledge, now: datetime) -> None:
        self._plan, self._known, self._now = found, known, now
        self.notices: list[Notice] = []
        self.looks: list[datetime] = []

    def owner(self, owner: OwnerPlan) -> None:
        blocked: list[Step] = []
        waiting: list[Step] = []
        failed: list[Step] = []
        forced: list[Candidate] = []
        wanted: dict[PluginKey, Candidate] = {}
        for candidate, step in zip(owner.change.candidates, owner.steps, strict=True):
            state, action = step.state, step.action
            if state == "UpToDate":
                continue
            wanted[step.key] = candidate
            if state == "Blocked":
                blocked.append(step)
            elif action == "wait":
                waiting.append(step)
            # A plan may already have started another try, or the way back.
            if state == "Failed" or step.is_start:
                failed.append(step)
            if candidate.forced or candidate.forced_at is not None:
                forced.append(candidate)
        if not wanted:
            return
        rollout = owner.rollout
        is_open = rollout is not None and rollout.is_open
        change_id = rollout.change_id if is_open and rollout is not None else owner.change.change_id
        name = rollout.name if is_open and rollout is not None else ""
        about = _About(owner.change.owner, change_id, name, wanted)
        self._blocked(about, blocked, rollout.created if is_open and rollout is not None else None)
        self._forced(about, forced, owner)
        if rollout is None:
            return
        # A rollout is done although some failed, if their number is within its budget.
        self._failed(about._replace(change_id=rollout.change_id, rollout=rollout.name), rollout, failed)
        if rollout.is_open and rollout.phase != "RollingBack" and not owner.emergency:
            held = _by_reasons(waiting)
            self._pending(about, rollout, held)
            self._approvals(about, owner, rollout, held)

    def removals(self) -> None:
        """Deletions that wait for somebody's consent."""
        waiting: dict[Ref, list[Step]] = defaultdict(list)
        by_key = {each.key: each for each in self._plan.world.removals}
        for step in self._plan.removals:
            if any(reason.gate == "deletes" and isinstance(reason.do, Advice) for reason in step.reasons):
                waiting[by_key[step.key].owner].append(step)
        for owner, steps in waiting.items():
            removal = by_key[steps[0].key]
            reason = next(each for each in steps[0].reasons if each.gate == "deletes")
            about = _About(owner, removal.change_id, removal.rollout, {})
            said, causes = "waits for approval to be deleted", partial(_causes, {reason.message: steps})
            self._tell("ApprovalNeeded", about, said, steps, stage=DELETES, causes=causes, do=reason.do)

    # ---- Of one owner

    def _blocked(self, about: _About, steps: list[Step], since: datetime | None) -> None:
        """One notice for each gate and what it is about, however many clusters it holds."""
        held: dict[tuple[str, Ref | None], list[tuple[Reason, list[Step]]]] = defaultdict(list)
        for reasons, there in _by_reasons(steps):
            for reason in reasons:
                if reason.gate in VALIDITY_GATES:
                    held[reason.gate, reason.ref].append((reason, there))
        for (gate, ref), here in sorted(held.items(), key=str):
            there = [step for _, each in here for step in each]
            until = min((reason.until for reason, _ in here if reason.until is not None), default=None)
            do, instance = here[0][0].do, f"{gate} {ref or ''}".strip()
            causes = partial(_blocking, here)
            said = f"is blocked by {gate}"
            self._tell("Blocked", about, said, there, instance=instance, causes=causes, until=until, do=do)
            if until is not None:
                self._count_down(about, "is forced", since, until, there, "", do)

    def _forced(self, about: _About, candidates: list[Candidate], owner: OwnerPlan) -> None:
        ended = {each.key for each in candidates if each.forced}
        overdue = [each for each in candidates if each.forced_at is not None and each.forced_at <= self._now]
        keys = ended | {each.key for each in overdue if self._known.forced(each.key)}
        if keys:
            said = "is forced: nobody agreed to it, and the time to do so is over"
            if ended:
                said = "is forced: the version before it has ended"
            self._tell("Forced", about, said, [step for step in owner.steps if step.key in keys])

    def _pending(self, about: _About, rollout: Rollout, held: list[_Held]) -> None:
        """A change that came and does not start at once; one that does is told as started."""
        if rollout.started is not None or not held:
            return
        by_gate: dict[str, list[Step]] = defaultdict(list)
        untils: list[datetime] = []
        for reasons, steps in held:
            untils += [each.until for each in reasons if each.until is not None]
            for gate in dict.fromkeys(each.gate for each in reasons):
                by_gate[f"waits for {gate}"] += steps
        until = min(untils, default=None)
        when = f", the first look is at {clock_text(until, self._now)}" if until is not None else ""
        waiting = [step for each in held for step in each.steps]
        causes = partial(_causes, by_gate)
        do = Advice("see-rollout", about.owner.organization, about.owner, rollout.name)
        self._tell("UpdatePending", about, f"waits{when}", waiting, causes=causes, until=until, do=do)

    def _failed(self, about: _About, rollout: Rollout, steps: list[Step]) -> None:
        """One notice for each stage and cause, messages that are alike being one, with those who have failed by now."""
        failed: dict[tuple[str, str], dict[PluginKey, str]] = defaultdict(dict)
        states = self._plan.world.states
        for step in steps:
            known = [states.get(step.key, UNKNOWN), step.progress]
            ours = [each for each in known if each.attempt is not None and each.attempt.rollout == rollout.name]
            state = next((each for each in ours if each.failed is not None), None)
            if state is not None:
                place = step.progress.enrolment
                stage = (place.stage if place is not None else step.stage) or ""
                message = _generic(step, state.failure)
                failed[stage, alike(message)][step.key] = message
        by_key = {step.key: step for step in steps}
        for (stage, why), messages in sorted(failed.items()):
            here = [by_key[key] for key in messages]
            where = f" in stage {stage}" if stage else ""
            organization, cluster, plugin = here[0].key
            do = Advice("see-plugin", organization, cluster=cluster, plugin=plugin)
            # After somebody asked for another try, the same failure is news again.
            instance = f"{digest(why)} {digest(rollout.note)}" if rollout.note else digest(why)
            causes = partial(_causes, {told_as_one(messages.values()): here})
            self._tell("Failed", about, f"fails{where}", here, stage=stage, causes=causes, do=do, instance=instance)

    def _approvals(self, about: _About, owner: OwnerPlan, rollout: Rollout, held: list[_Held]) -> None:
        """The stages whose turn comes: every stage before them has started."""
        since = rollout.created
        for count in owner.stages:
            if count.total and count.approvals_given < count.approvals_needed:
                self._approval(about, owner, rollout, count.name, since, held)
            if count.total and count.started is None and not count.starts:
                return
            since = count.started or since

    def _approval(
        self, about: _About, owner: OwnerPlan, rollout: Rollout, stage: str, since: datetime, held: list[_Held]
    ) -> None:
        found: list[Step] = []
        reason: Reason | None = None
        for reasons, steps in held:
            asked = next((each for each in reasons if each.gate == "approval"), None)
            there = [step for step in steps if step.stage == stage] if asked is not None else []
            if there:
                reason = reason or asked
                found += there
        if reason is None:
            return
        due = self._known.decide_by(owner, rollout, stage)
        by = f"; decide by {clock_text(due, self._now)}" if due is not None and due > self._now else ""
        said, do = f"needs approval for stage {stage}{by}", reason.do
        causes = partial(_causes, {reason.message: found})
        self._tell("ApprovalNeeded", about, said, found, stage=stage, causes=causes, until=due, do=do)
        if due is not None:
            what = f"waits for approval of stage {stage}: a later one moves the end"
            self._count_down(about, what, since, due, found, stage, do)

    def _count_down(
        self, about: _About, what: str, since: datetime | None, until: datetime, steps: list[Step], stage: str, do: Do
    ) -> None:
        """since is when it was told that this is coming: what is nearer than that needs no second word at once."""
        left = until - self._now
        ahead = [until - span for span in COUNTDOWN.values() if until - span > self._now]
        self.looks += [min(ahead)] if ahead else []
        reached = [name for name, span in COUNTDOWN.items() if timedelta(0) < left <= span]
        if reached and (since is None or until - COUNTDOWN[reached[-1]] > since):
            # By when to approve is worked out anew as a rollout goes on; another date of force is news.
            instance = reached[-1] if stage else f"{reached[-1]} {until:%Y-%m-%dT%H:%MZ}"
            said = f"{what}, {distance_text(left)}"
            self._tell("Countdown", about, said, steps, stage=stage, until=until, do=do, instance=instance)

    def _tell(
        self,
        event: Event,
        about: _About,
        said: str,
        steps: list[Step],
        *,
        stage: str = "",
        causes: Callable[[], Sequence[Cause]] = tuple,
        until: datetime | None = None,
        do: Do = "",
        instance: str = "",
    ) -> None:
        subject = Subject(about.owner, about.change_id, about.rollout)
        key = key_of(event, subject, stage, instance)
        if key in self._known.told:
            return
        states, wanted = self._plan.world.states, about.wanted
        before = {_runs(states.get(step.key, UNKNOWN).last_healthy, step) for step in steps}
        target = [step.target or (wanted[step.key].wanted if step.key in wanted else None) for step in steps]
        after = {each.version for each in target if each is not None}
        subject = subject._replace(before=versions(before), after=versions(after))
        clusters = (step.key[1] for step in steps)
        self.notices.append(
            notice(
                event, subject, self._now, said, clusters,
                stage=stage, causes=causes(), until=until, do=self._known.words(do), instance=instance,
            )
        )  # fmt: skip


def _by_reasons(steps: list[Step]) -> list[_Held]:
    found: dict[int, _Held] = {}
    for step in steps:
        reasons = step.reasons
        held = found.get(id(reasons))
        if held is None:
            held = found[id(reasons)] = _Held(reasons, [])
        held.steps.append(step)
    return list(found.values())


def _runs(healthy: Deployed | None, step: Step) -> str | None:
    if healthy is not None:
        return healthy.version
    admitted = step.progress.admitted
    return admitted.version if admitted is not None and not step.is_start else None


def _blocking(held: list[tuple[Reason, list[Step]]]) -> list[Cause]:
    by_message: dict[str, list[Step]] = defaultdict(list)
    for reason, steps in held:
        for step in steps:
            by_message[_generic(step, reason.message)].append(step)
    return _causes(by_message)


def _causes(by_message: Mapping[str, list[Step]]) -> list[Cause]:
    """The most frequent first; those beyond a few are counted together."""
    found = sorted(by_message.items(), key=lambda each: (-len(each[1]), each[0]))
    told = [cause(message, (step.key[1] for step in steps)) for message, steps in found[:MOST_CAUSES]]
    rest = [step for _, steps in found[MOST_CAUSES:] for step in steps]
    if rest:
        told.append(cause(f"{len(found) - MOST_CAUSES:,} more messages", (step.key[1] for step in rest)))
    return told


def _generic(step: Step, message: str) -> str:
    """A message without the names of one plugin, so that what is the same on many clusters is told once."""
    return message.replace(step.key[2], "the plugin").replace(step.key[1], "the cluster")
