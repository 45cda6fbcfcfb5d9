"""What is told of a plan: that a change waits, is blocked, needs consent, is about to be forced, or fails somewhere.

These are read off what a plan says at a time, and not off what differs from the plan before: whatever was not stored
when a process was killed is found again, and what was told is known by its key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from fleetform.app.plan import versions
from fleetform.app.telling.notices import MOST_CAUSES, Notice, Subject, cause, digest, notice
from fleetform.engine.plan.gates.deletes import STAGE as DELETES
from fleetform.engine.plan.records import OwnerPlan, Plan, Reason, StageCount, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.answers.notifications import Cause
from fleetform.model.kinds.fleet import Event
from fleetform.model.objects import Ref
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, Deployed
from fleetform.syntax.times import clock_text, distance_text

# How long before something happens by itself people are told, each once.
COUNTDOWN = {"7d": timedelta(days=7), "1d": timedelta(days=1), "1h": timedelta(hours=1)}


class Told(NamedTuple):
    """What a plan has people told, and when time alone makes that another: the next countdown."""

    notices: list[Notice]
    look_at: datetime | None


class Knowledge(NamedTuple):
    """What is known beside a plan.

    forced says whether a version goes ahead though nobody agreed to it. decide_by is the time until which an approval
    of a stage does not move the end; None where that is not known.
    """

    forced: Callable[[PluginKey], bool]
    decide_by: Callable[[OwnerPlan, Rollout, str], datetime | None]


def plan_notices(found: Plan, known: Knowledge, now: datetime) -> Told:
    told = _Telling(found, known, now)
    for owner in found.owners:
        told.owner(owner)
    told.removals()
    return Told(told.notices, min(told.looks, default=None))


class _Telling:
    """The notices of one plan, as they are found."""

    def __init__(self, found: Plan, known: Knowledge, now: datetime) -> None:
        self._plan, self._known, self._now = found, known, now
        self.notices: list[Notice] = []
        self.looks: list[datetime] = []

    def owner(self, owner: OwnerPlan) -> None:
        steps = [step for step in owner.steps if step.state != "UpToDate"]
        if not steps:
            return
        self._blocked(owner, steps)
        self._forced(owner, steps)
        rollout = owner.rollout
        if rollout is None:
            return
        # A rollout is done although some failed, if their number is within its budget.
        self._failed(owner, rollout, steps)
        if rollout.is_open and rollout.phase != "RollingBack" and not owner.emergency:
            self._pending(owner, rollout, steps)
            self._approvals(owner, rollout, steps)

    def removals(self) -> None:
        """Deletions that wait for somebody's consent."""
        waiting: dict[Ref, list[Step]] = defaultdict(list)
        by_key = {each.key: each for each in self._plan.world.removals}
        for step in self._plan.removals:
            if any(reason.gate == "deletes" and reason.do.endswith(DELETES) for reason in step.reasons):
                waiting[by_key[step.key].owner].append(step)
        for owner, steps in waiting.items():
            removal = by_key[steps[0].key]
            reason = next(each for each in steps[0].reasons if each.gate == "deletes")
            subject = Subject(owner, removal.change_id, removal.rollout)
            said = "waits for approval to be deleted"
            self._tell("ApprovalNeeded", subject, said, steps, DELETES, [_cause(reason.message, steps)], do=reason.do)

    # ---- Of one owner

    def _blocked(self, owner: OwnerPlan, steps: list[Step]) -> None:
        """One notice for each gate and what it is about, however many clusters it holds."""
        held: dict[tuple[str, Ref | None], list[tuple[Step, Reason]]] = defaultdict(list)
        for step in steps:
            if step.state == "Blocked":
                for reason in step.reasons:
                    if reason.gate in VALIDITY_GATES:
                        held[reason.gate, reason.ref].append((step, reason))
        for (gate, ref), here in sorted(held.items(), key=str):
            there = [step for step, _ in here]
            by_message: dict[str, list[Step]] = defaultdict(list)
            for step, reason in here:
                by_message[_generic(step, reason.message)].append(step)
            subject, first = self._subject(owner, there), here[0][1]
            until = min((reason.until for _, reason in here if reason.until is not None), default=None)
            self._tell(
                "Blocked", subject, f"is blocked by {gate}", there, "", _causes(by_message), until, first.do,
                instance=f"{gate} {ref or ''}".strip(),
            )  # fmt: skip
            if until is not None:
                since = owner.rollout.created if owner.rollout is not None and owner.rollout.is_open else None
                self._count_down(subject, "is forced", since, until, there, "", first.do)

    def _forced(self, owner: OwnerPlan, steps: list[Step]) -> None:
        candidates = {each.key: each for each in owner.change.candidates}
        found = []
        for step in steps:
            candidate = candidates[step.key]
            overdue = candidate.forced_at is not None and candidate.forced_at <= self._now
            if candidate.forced or (overdue and self._known.forced(step.key)):
                found.append(step)
        if found:
            said = "is forced: nobody agreed to it, and the time to do so is over"
            if any(candidates[each.key].forced for each in found):
                said = "is forced: the version before it has ended"
            self._tell("Forced", self._subject(owner, found), said, found)

    def _pending(self, owner: OwnerPlan, rollout: Rollout, steps: list[Step]) -> None:
        """A change that came and does not start at once; one that does is told as started."""
        waiting = [step for step in steps if step.action == "wait"]
        if rollout.started is not None or not waiting:
            return
        by_gate: dict[str, list[Step]] = defaultdict(list)
        for step in waiting:
            for reason in step.reasons:
                by_gate[reason.gate].append(step)
        until = min((each.until for step in waiting for each in step.reasons if each.until is not None), default=None)
        when = f", the first look is at {clock_text(until, self._now)}" if until is not None else ""
        causes = [_cause(f"waits for {gate}", here) for gate, here in sorted(by_gate.items())]
        do = f"fleetform rollout status {rollout.name}"
        self._tell("UpdatePending", self._subject(owner, steps), f"waits{when}", waiting, "", causes, until, do)

    def _failed(self, owner: OwnerPlan, rollout: Rollout, steps: list[Step]) -> None:
        """One notice for each stage and cause, with those who have failed so by now."""
        failed: dict[tuple[str, str], list[Step]] = defaultdict(list)
        states = self._plan.world.states
        for step in steps:
            # A plan may already have started the way back; what failed is then what is stored.
            known = [states.get(step.key, UNKNOWN), step.progress]
            ours = [each for each in known if each.attempt is not None and each.attempt.rollout == rollout.name]
            state = next((each for each in ours if each.failed is not None), None)
            if state is not None:
                why = _generic(step, state.failure)
                place = step.progress.enrolment
                failed[(place.stage if place is not None else step.stage) or "", why].append(step)
        for (stage, why), here in sorted(failed.items()):
            where = f" in stage {stage}" if stage else ""
            causes = [_cause(why, here)]
            do = f"fleetform why {here[0].key[1]} {here[0].key[2]}"
            # After somebody asked for another try, the same failure is news again.
            instance = f"{digest(why)} {digest(rollout.note)}" if rollout.note else digest(why)
            subject = self._subject(owner, here)._replace(change_id=rollout.change_id, rollout=rollout.name)
            self._tell("Failed", subject, f"fails{where}", here, stage, causes, do=do, instance=instance)

    def _approvals(self, owner: OwnerPlan, rollout: Rollout, steps: list[Step]) -> None:
        """The stages whose turn comes: every stage before them has started."""
        since = rollout.created
        for count in owner.stages:
            if count.total and count.approvals_given < count.approvals_needed:
                self._approval(owner, rollout, count, since, [step for step in steps if step.stage == count.name])
            if count.total and count.started is None and not count.starts:
                return
            since = count.started or since

    def _approval(
        self, owner: OwnerPlan, rollout: Rollout, count: StageCount, since: datetime, steps: list[Step]
    ) -> None:
        held = [step for step in steps if any(each.gate == "approval" for each in step.reasons)]
        if not held:
            return
        reason = next(each for each in held[0].reasons if each.gate == "approval")
        subject = self._subject(owner, held)
        due = self._known.decide_by(owner, rollout, count.name)
        by = f"; decide by {clock_text(due, self._now)}" if due is not None and due > self._now else ""
        said = f"needs approval for stage {count.name}{by}"
        causes = [_cause(reason.message, held)]
        self._tell("ApprovalNeeded", subject, said, held, count.name, causes, due, reason.do)
        if due is not None:
            what = f"waits for approval of stage {count.name}: a later one moves the end"
            self._count_down(subject, what, since, due, held, count.name, reason.do)

    def _count_down(
        self,
        subject: Subject,
        what: str,
        since: datetime | None,
        until: datetime,
        steps: list[Step],
        stage: str,
        do: str,
    ) -> None:
        """since is when it was told that this is coming: what is nearer than that needs no second word at once."""
        left = until - self._now
        ahead = [until - span for span in COUNTDOWN.values() if until - span > self._now]
        self.looks += [min(ahead)] if ahead else []
        reached = [name for name, span in COUNTDOWN.items() if timedelta(0) < left <= span]
        if reached and (since is None or until - COUNTDOWN[reached[-1]] > since):
            said = f"{what}, {distance_text(left)}"
            # By when to approve is worked out anew as a rollout goes on; another date of force is news.
            instance = reached[-1] if stage else f"{reached[-1]} {until:%Y-%m-%dT%H:%MZ}"
            self._tell("Countdown", subject, said, steps, stage, (), until, do, instance=instance)

    def _subject(self, owner: OwnerPlan, steps: list[Step]) -> Subject:
        states = self._plan.world.states
        wanted = {each.key: each.wanted for each in owner.change.candidates}
        rollout = owner.rollout if owner.rollout is not None and owner.rollout.is_open else None
        before = [_runs(states.get(step.key, UNKNOWN).last_healthy, step) for step in steps]
        return Subject(
            owner.change.owner,
            rollout.change_id if rollout is not None else owner.change.change_id,
            rollout.name if rollout is not None else "",
            versions(before),
            versions((step.target or wanted[step.key]).version for step in steps),
        )

    def _tell(
        self,
        event: Event,
        subject: Subject,
        said: str,
        steps: list[Step],
        stage: str = "",
        causes: Sequence[Cause] = (),
        until: datetime | None = None,
        do: str = "",
        instance: str = "",
    ) -> None:
        clusters = [step.key[1] for step in steps]
        self.notices.append(
            notice(
                event, subject, self._now, said, clusters,
                stage=stage, causes=causes, until=until, do=do, instance=instance,
            )
        )  # fmt: skip


def _runs(healthy: Deployed | None, step: Step) -> str | None:
    if healthy is not None:
        return healthy.version
    admitted = step.progress.admitted
    return admitted.version if admitted is not None and step.action not in ("start", "rollback") else None


def _cause(message: str, steps: list[Step]) -> Cause:
    return cause(message, (step.key[1] for step in steps))


def _causes(by_message: Mapping[str, list[Step]]) -> list[Cause]:
    """The most frequent first; those beyond a few are counted together."""
    found = sorted(by_message.items(), key=lambda each: (-len(each[1]), each[0]))
    told = [_cause(message, steps) for message, steps in found[:MOST_CAUSES]]
    rest = found[MOST_CAUSES:]
    if rest:
        told.append(_cause(f"{len(rest):,} more messages", [step for _, steps in rest for step in steps]))
    return told


def _generic(step: Step, message: str) -> str:
    """A message without the names of one plugin, so that what is the same on many clusters is told once."""
    return message.replace(step.key[2], "the plugin").replace(step.key[1], "the cluster")
