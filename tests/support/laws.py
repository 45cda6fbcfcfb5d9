"""Laws of plans, and a player that tries to break them.

The player keeps its own record of what it saw on clusters, whom a rollout concerned when it started and what people
agreed to, and judges every plan by that. It shares no code with the planner but records and the carrying out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

from msgspec import structs

from fleetform.engine.plan import carry_out
from fleetform.engine.plan import plan as planning
from fleetform.engine.plan import progress as stored
from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import Approval, Candidate, Change, ClusterFacts, Limits, Plan, Step, World
from fleetform.engine.plan.requests import pause, resume
from fleetform.engine.plan.rollouts import OnFailure, Policy, Rollout
from fleetform.engine.plan.stages import ApprovalRule, StageRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed, PluginState
from support.plans import DAY, HOUR, MINUTE, NOON, OLD, OWNER, candidate, key

STAGES = ("qa", "mid", "prod")
HALF = 30 * MINUTE
SILENCE = 15 * MINUTE
FROZEN = (NOON + 3 * DAY, NOON + 4 * DAY)


class LawBrokenError(AssertionError):
    """A plan that must not have been."""


def law(holds: bool, said: str) -> None:
    if not holds:
        raise LawBrokenError(said)


@dataclass(frozen=True)
class Fleet:
    """What is drawn: the shape of a fleet and its policy."""

    clusters: int = 4
    stages: int = 2
    concurrency: int | str | None = 1
    budget: int = 0
    soak: timedelta = timedelta(0)
    deadline: timedelta | None = None
    windowed: bool = False
    frozen: bool = False
    approvals: int = 0
    on_failure: OnFailure = "Halt"
    retries: int = 0

    @property
    def names(self) -> list[str]:
        return [f"c{number}" for number in range(self.clusters)]

    @property
    def calendar(self) -> Calendar:
        allow = (Window("nights", "0 22 * * *", 4 * HOUR),) if self.windowed else ()
        return Calendar(allow, hard=(Window("audit", begin=FROZEN[0], end=FROZEN[1]),) if self.frozen else ())

    @property
    def policy(self) -> Policy:
        rules = [
            StageRule(name, self.concurrency, self.budget, self.soak, self.deadline) for name in STAGES[: self.stages]
        ]
        if self.approvals:
            rules[-1] = structs.replace(rules[-1], approvals=ApprovalRule(self.approvals))
        return Policy("standard", tuple(rules), self.on_failure)


@dataclass
class Member:
    """Whom a rollout concerned when it started, as the player saw it."""

    stage: int
    target: str


@dataclass
class Player:
    """Plays a fleet, and holds every plan to the laws."""

    fleet: Fleet
    now: datetime = NOON
    changes: int = 0
    seen_healthy: dict[tuple[PluginKey, str], datetime] = field(default_factory=dict)
    ever_healthy: set[tuple[PluginKey, str]] = field(default_factory=set)
    ever_wanted: set[tuple[PluginKey, str]] = field(default_factory=set)
    rollouts: dict[str, dict[PluginKey, Member]] = field(default_factory=dict)
    done: dict[str, set[int]] = field(default_factory=dict)
    agreed: set[tuple[str, str, str]] = field(default_factory=set)
    superseding: bool = False

    def __post_init__(self) -> None:
        self.policy, self.calendar = self.fleet.policy, self.fleet.calendar
        names = self.fleet.names
        candidates = tuple(self._candidate(name, number % self.fleet.stages) for number, name in enumerate(names))
        states = {each.key: PluginState(OLD, OLD) for each in candidates}
        self.ever_healthy |= {(each.key, "h1:old") for each in candidates}
        change = Change(OWNER, "c1:00000000", candidates, self.policy, authors=frozenset({"ann"}))
        limits = {"acme": Limits(patience=Patience(retries=self.fleet.retries, unreachable_after=SILENCE))}
        self.world = World((change,), states, limits=limits)
        self.want_something_new()

    def _candidate(self, name: str, stage: int) -> Candidate:
        return candidate(name, STAGES[stage], calendar=self.calendar, wanted=self._target())

    def _target(self) -> Deployed:
        return Deployed(f"1.{self.changes}.0", "certs", f"h1:{self.changes}")

    @property
    def change(self) -> Change:
        return self.world.changes[0]

    # ---- What can happen

    def want_something_new(self) -> None:
        self.changes += 1
        found = tuple(structs.replace(each, wanted=self._target()) for each in self.change.candidates)
        self._change(candidates=found, change_id=f"c1:{self.changes:08}", supersede=self.superseding)

    def plan(self, stop_after: int | None = None) -> Plan:
        """Plans and stores; with a number, only so many records are stored before everything stops and starts anew."""
        self._judge_stages()
        found = planning.plan(self.world, self.now)
        self.check(found)
        todo = carry_out.writes(found)
        self.world = carry_out.after(self.world, todo if stop_after is None else todo[:stop_after])
        return found

    def settle(self) -> None:
        """Plans until nothing more happens at this time, and holds that to be soon."""
        for _ in range(6):
            if self.plan().is_idle:
                self._check_look()
                return
        raise LawBrokenError("six plans at one time, and still something to store")

    def observe(self, name: str, health: stored.Health, stale: bool = False) -> None:
        progress = self.world.states.get(key(name))
        if progress is None or progress.attempt is None or self._facts(name).silent_since is not None:
            return
        input_hash = "h1:old" if stale else progress.attempt.input_hash
        if health == "Healthy" and not stale and (key(name), input_hash) not in self.seen_healthy:
            self.seen_healthy[key(name), input_hash] = self.now
            self.ever_healthy.add((key(name), input_hash))
        elif health == "Failed" and not stale:
            self.seen_healthy.pop((key(name), input_hash), None)
        after = stored.observed(progress, input_hash, health, self.now)
        self.world = structs.replace(self.world, states={**self.world.states, key(name): after})

    def pass_time(self, time: timedelta) -> None:
        self.now += time

    def hold(self, name: str, on: bool) -> None:
        self._edit(
            name, lambda each: structs.replace(each, cluster=structs.replace(each.cluster, hold="no" if on else None))
        )

    def silence(self, name: str, on: bool) -> None:
        since = self.now if on else None
        if on and self._facts(name).silent_since is not None:
            return
        self._edit(name, lambda each: structs.replace(each, cluster=structs.replace(each.cluster, silent_since=since)))

    def relabel(self, name: str, stage: int) -> None:
        self._edit(name, lambda each: structs.replace(each, stage=STAGES[stage % self.fleet.stages]))

    def join(self, number: int, stage: int) -> None:
        if number < 3 and key(f"n{number}") not in {each.key for each in self.change.candidates}:
            found = (*self.change.candidates, self._candidate(f"n{number}", stage % self.fleet.stages))
            self._change(candidates=tuple(sorted(found, key=lambda each: each.key)))

    def leave(self, name: str) -> None:
        self._change(candidates=tuple(each for each in self.change.candidates if each.key[1] != name))

    def approve(self, user: str, binding: str = "") -> None:
        """Consent to the last stage of what runs; or to something else, which must not count."""
        rollout = self.change.rollout
        if rollout is None:
            return
        stage = self.policy.stages[-1].name
        if not binding and user != "ann":
            self.agreed.add((rollout.name, stage, user))
        given = Approval(rollout.name, stage, binding or rollout.change_id, rollout.policy.digest, user)
        self._change(approvals=(*self.change.approvals, given))

    def pause(self, on: bool) -> None:
        rollout = self.change.rollout
        if rollout is not None and rollout.is_open:
            self._change(rollout=pause(rollout) if on else resume(rollout))

    def _change(self, **fields: object) -> None:
        self.world = structs.replace(self.world, changes=(structs.replace(self.change, **fields),))
        self.ever_wanted |= {(each.key, each.wanted.input_hash or "") for each in self.change.candidates}

    def _edit(self, name: str, edit: object) -> None:
        assert callable(edit)
        self._change(candidates=tuple(edit(each) if each.key[1] == name else each for each in self.change.candidates))

    def _facts(self, name: str) -> ClusterFacts:
        return (
            next((each.cluster for each in self.change.candidates if each.key[1] == name), None)
            or candidate(name).cluster
        )

    # ---- The laws

    def check(self, found: Plan) -> None:
        before = self.world.states
        starts = [step for step in found.steps if step.action == "start"]
        self._meet(found, starts)
        busy = {each for each, progress in before.items() if progress.in_flight}
        for step in found.steps:
            if step.action == "rollback":
                self._check_way_back(step)
        per_cluster = Counter(step.key[:2] for step in found.starts)
        law(all(count == 1 for count in per_cluster.values()), "two starts on one cluster")
        for step in starts:
            law(not self._flies(found, step, busy), f"{step.key} is started while in flight")
            self._check_start(found, step, before.get(step.key, PluginState()))
        self._check_counts(found, starts)
        self._check_replaced(found)

    def _flies(self, found: Plan, step: Step, busy: set[PluginKey]) -> bool:
        """Whether it was in flight before the plan, and time has not ended that."""
        progress = self.world.states.get(step.key)
        return step.key in busy and progress is not None and not self._is_over(progress, step.key[1])

    def _is_over(self, progress: PluginState, name: str) -> bool:
        """Whether the deadline has passed, which only counts for a cluster that answers."""
        attempt, deadline = progress.attempt, self.fleet.deadline
        if attempt is None or deadline is None or self._facts(name).silent_since is not None:
            return False
        return attempt.since + deadline <= self.now

    def _check_start(self, found: Plan, step: Step, before: PluginState) -> None:
        cluster = next(each.cluster for each in self.change.candidates if each.key == step.key)
        law(cluster.hold is None, f"{step.key} holds and is started")
        law(cluster.silent_since is None, f"{step.key} does not answer and is started")
        attempt = step.progress.attempt
        law(attempt is not None and step.progress.admitted == step.target, "a start admits its target")
        assert attempt is not None
        law(attempt.failures <= self.fleet.retries, f"{step.key} is tried again for ever")
        law((step.key, attempt.input_hash) in self.ever_wanted, f"{step.key} gets what nobody wanted")
        hour = self.now.hour
        law(not self.fleet.frozen or not FROZEN[0] <= self.now < FROZEN[1], f"{step.key} is started in a freeze")
        first = before.admitted is None
        law(not self.fleet.windowed or first or hour >= 22 or hour < 2, f"{step.key} is started outside of windows")
        members = self.rollouts.get(attempt.rollout, {})
        member = members.get(step.key)
        if member is None or attempt.failures:
            return  # it joined, or is tried again
        law(member.target == attempt.input_hash, f"{step.key} gets another target than its rollout started with")
        self._check_stage(attempt.rollout, member, step)

    def _check_stage(self, name: str, member: Member, step: Step) -> None:
        done = self.done.get(name, set())
        law(all(each in done for each in range(member.stage)), f"{step.key}: stage {member.stage} before its turn")
        law(
            self._failed(name, member.stage) <= self.fleet.budget or self._forgives,
            f"{step.key} starts beyond the budget",
        )
        rule = self.policy.stages[member.stage]
        if rule.approvals is not None:
            people = {user for rollout, stage, user in self.agreed if (rollout, stage) == (name, rule.name)}
            law(len(people) >= rule.approvals.required, f"{step.key} starts unapproved")

    @property
    def _forgives(self) -> bool:
        return self.fleet.on_failure == "Continue"

    def _check_counts(self, found: Plan, starts: list[Step]) -> None:
        after = {step.key: step.progress for step in found.steps}
        for name in {step.progress.attempt.rollout for step in starts if step.progress.attempt is not None}:
            members = self.rollouts.get(name, {})
            for stage in range(self.fleet.stages):
                new = [step for step in starts if step.key in members and members[step.key].stage == stage]
                here = [each for each, member in members.items() if member.stage == stage]
                flying = [each for each in here if each in after and after[each].in_flight]
                law(
                    not new or len(flying) <= self._slots(len(here)),
                    f"{len(flying)} in flight in stage {stage} of {name}",
                )

    def _slots(self, total: int) -> int:
        amount = self.fleet.concurrency
        if amount is None:
            return max(total, 1)
        return max(1, ceil(int(amount[:-1]) * total / 100) if isinstance(amount, str) else amount)

    def _check_way_back(self, step: Step) -> None:
        admitted = step.progress.admitted
        known = admitted is not None and (step.key, admitted.input_hash or "") in self.ever_healthy
        law(known, f"{step.key} is rolled back to what was never healthy")

    def _check_replaced(self, found: Plan) -> None:
        """A rollout that runs is replaced only if somebody asks for it, or it cannot go on."""
        replaced, before = found.owners[0].replaced, self.change.rollout
        if replaced is None or before is None or before.started is None or self.superseding or before.phase == "Halted":
            return
        present = {each.key for each in self.change.candidates if not self._is_lost(each.key[1])}
        members = [each for each in self.rollouts.get(before.name, {}) if each in present]
        states = [(each, self.world.states[each]) for each in members]
        # What has run out of time has failed, and may be what halts it.
        moving = [each for each, state in states if state.in_flight and not self._is_over(state, each[1])]
        law(not moving, f"{before.name} was replaced while {moving} were under way")

    def _check_look(self) -> None:
        """Nothing starts before the next look, if nothing else happens."""
        found = planning.plan(self.world, self.now)
        until = found.next_look or self.now + 3 * DAY
        probe = self.now + HALF
        while probe < min(until, self.now + DAY):
            starts = planning.plan(self.world, probe).starts
            law(
                not starts,
                f"{[step.key for step in starts]} could start at {probe}, the next look is {found.next_look}",
            )
            probe += 3 * HOUR

    # ---- What the player knows

    def _meet(self, found: Plan, starts: list[Step]) -> None:
        """A rollout that starts now concerns all that differ now, in the stages that they are in now."""
        owner = found.owners[0]
        rollout = owner.rollout
        if rollout is None or rollout.started is None:
            return
        stored = self.change.rollout
        if rollout.name in self.rollouts and stored is not None and stored.name == rollout.name and stored.started:
            return
        positions = {name: number for number, name in enumerate(STAGES)}
        # Of one that was cut off before it was stored, places that were stored stand.
        placed = {
            key: member
            for key, member in self.rollouts.get(rollout.name, {}).items()
            if (place := self.world.states.get(key, PluginState()).enrolment) is not None
            and place.rollout == rollout.name
        }
        differing = {
            each.key: Member(positions[each.stage or ""], each.wanted.input_hash or "")
            for each in self.change.candidates
            if self._differs(each)
        }
        self.rollouts[rollout.name] = differing | placed
        self.done[rollout.name] = set()
        self._judge_stages(rollout)

    def _differs(self, each: Candidate) -> bool:
        admitted = self.world.states.get(each.key, PluginState()).admitted
        return admitted is None or admitted.input_hash != each.wanted.input_hash

    def _judge_stages(self, rollout: Rollout | None = None) -> None:
        rollout = rollout or self.change.rollout
        if rollout is None or rollout.name not in self.rollouts:
            return
        for stage in range(self.fleet.stages):
            if stage in self.done[rollout.name] or self._is_done(rollout.name, stage):
                self.done[rollout.name].add(stage)
            else:
                return

    def _is_done(self, name: str, stage: int) -> bool:
        """All that are still there were seen healthy long enough, but for failures within the budget and the lost."""
        present = {each.key: each.cluster for each in self.change.candidates}
        members = [each for each, member in self.rollouts[name].items() if member.stage == stage and each in present]
        unfinished = 0
        for each in members:
            since = self.seen_healthy.get((each, self.rollouts[name][each].target))
            lost = self._is_lost(each[1])
            healthy = since is not None and (not self.fleet.soak or since + self.fleet.soak <= self.now)
            unfinished += not (lost or healthy or self._has_failed(name, each))
        return unfinished == 0 and (self._forgives or self._failed(name, stage) <= self.fleet.budget)

    def _is_lost(self, name: str) -> bool:
        silent = self._facts(name).silent_since
        return silent is not None and silent + SILENCE <= self.now

    def _failed(self, name: str, stage: int) -> int:
        members = self.rollouts.get(name, {})
        present = {each.key for each in self.change.candidates}
        return sum(m.stage == stage and each in present and self._has_failed(name, each) for each, m in members.items())

    def _has_failed(self, name: str, each: PluginKey) -> bool:
        progress = self.world.states.get(each, PluginState())
        attempt = progress.attempt
        if attempt is None or attempt.input_hash != self.rollouts[name][each].target or attempt.back:
            return False
        if attempt.phase == "Applying" and self._is_over(progress, each[1]):
            return True
        return attempt.phase in ("Failed", "Applying") and attempt.failures > 0
