"""Simulate: the very planner on a virtual clock, from event to event.

Nothing is modelled twice: what starts is what plan() says, and what is stored is what carry_out stores. Only the world
is made up: how long a start takes, what fails, who does not answer, when people approve.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from msgspec import structs

from fleetform.engine.plan.carry_out import with_rollouts, writes
from fleetform.engine.plan.gates.deletes import STAGE as DELETES
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import observed
from fleetform.engine.plan.records import Approval, Candidate, Change, Limits, OwnerPlan, Plan, Removal, Step, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import Event, EventName, Outcome, Scenario, Simulation
from fleetform.engine.plan.stage_spans import stage_spans
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState

_HORIZON = timedelta(days=3 * 365)
_MOVES = frozenset({"Applying", "SetAside"})


def simulate(world: World, start: datetime, scenario: Scenario | None = None) -> Simulation:
    """What would happen from a time on if a scenario came true."""
    run = _Run(world, start, scenario or Scenario())
    return run.result(run.play())


def at_once(world: World, start: datetime, scenario: Scenario) -> World:
    """What is stored after the first plan of a simulation."""
    run = _Run(world, start, scenario)
    run.plan()
    return run.world


def rollout_after(world: World, start: datetime, scenario: Scenario, name: str) -> Rollout | None:
    """How one rollout would come out: played until it ends, or until nothing more happens."""
    run = _Run(world, start, scenario)
    run.play(name)
    return run.rollouts.get(name)


class _Run:
    """A simulation under way: the world as it is by now, and what is still to come."""

    def __init__(self, world: World, start: datetime, scenario: Scenario) -> None:
        self.scenario, self.start, self.now = scenario, start, start
        self.until = scenario.until or start + _HORIZON
        self.states: dict[PluginKey, PluginState] = dict(world.states)
        # What cannot be rendered now can be by then: nobody knows when.
        limits = _with_retries(world, scenario.retries)
        self.world = structs.replace(world, states=self.states, limits=limits, unrendered=frozenset())
        self.almanac = Almanac()
        self.events: list[Event] = []
        self.rollouts: dict[str, Rollout] = {}
        self.finishing: list[tuple[datetime, PluginKey, str]] = []
        turns = [each for spell in scenario.unreachable for each in (spell.begin, spell.end)]
        self.spells = [each for each in turns if each is not None and each > start]
        heapify(self.spells)
        self.approvals: list[tuple[datetime, str, str]] = []
        self.asked: set[tuple[str, str]] = set()
        self.approved: dict[tuple[str, str], datetime] = {}
        self.waited: set[PluginKey] = set()
        # Who does not answer now and is not named by the scenario stays silent.
        named = {spell.cluster for spell in scenario.unreachable}
        candidates = [candidate for change in world.changes for candidate in change.candidates]
        self.mute = {each.key[1] for each in candidates if each.cluster.silent_since is not None} - named
        self.passes = 0
        for key, progress in sorted(self.states.items()):
            if progress.in_flight and progress.attempt is not None:
                ends = max(start, progress.attempt.started + scenario.takes(key[1]))
                heappush(self.finishing, (ends, key, progress.attempt.input_hash))
        self._hear_silence()

    def play(self, rollout: str | None = None) -> Plan:
        """The last plan: once nothing more happens, or as soon as a rollout has ended."""
        while True:
            found, moved = self.plan()
            self._ask_for_approvals(found)
            if moved and not found.is_idle:
                following: datetime | None = self.now
            else:
                following = self._next(found)
            over = rollout in self.rollouts and not self.rollouts[rollout].is_open
            if over or following is None or following > self.until:
                return found
            self._advance(following)

    def plan(self) -> tuple[Plan, bool]:
        """A plan that is stored, and whether that may at once lead to more."""
        found = plan(self.world, self.now, almanac=self.almanac)
        self.passes += 1
        return found, self._carry_out(found)

    def _carry_out(self, found: Plan) -> bool:
        """Stores what a plan asks for. Whether that may at once lead to more: a stage or a rollout that is done."""
        starts = [step for step in found.starts if step.action != "delete"]
        for step in found.steps:
            if step.action == "delete":
                self._tell(step.key, "Started", step.progress, "delete")
                self._tell(step.key, "Succeeded", step.progress, "delete")
            stored = self.states.get(step.key, UNKNOWN)
            if step.progress is not stored:
                self._note(step, stored)
            if step.action in ("wait", "block") and step.key not in self.waited:
                self.waited.add(step.key)
                self._tell(step.key, "Waiting", step.progress, step.reasons[0].gate if step.reasons else "")
        for write in writes(found):
            if write.key is not None and write.progress is not None:
                self.states[write.key] = write.progress
        for step in starts:
            attempt = step.progress.attempt
            if attempt is not None:
                heappush(self.finishing, (self.now + self.scenario.takes(step.key[1]), step.key, attempt.input_hash))
        self._keep_crowds(found.owners)
        return self._delete(found) or self._keep(found.owners)

    def _keep_crowds(self, owners: tuple[OwnerPlan, ...]) -> None:
        crowds = {owner.change.owner: owner.crowd for owner in owners if owner.crowd is not owner.change.crowd}
        if crowds:
            self._edit(lambda each: structs.replace(each, crowd=crowds[each.owner]) if each.owner in crowds else each)

    def _edit(self, edit: Callable[[Change], Change]) -> None:
        self.world = structs.replace(self.world, changes=tuple([edit(change) for change in self.world.changes]))

    def _delete(self, found: Plan) -> bool:
        """What goes takes no time; whether anything went."""
        gone = {step.key for step in found.removals if step.action == "delete"}
        for key in gone:
            self.states.pop(key, None)
        if gone:
            left = tuple(each for each in self.world.removals if each.key not in gone)
            self.world = structs.replace(self.world, removals=left)
            self._keep(found.owners)
        return bool(gone)

    def _keep(self, owners: tuple[OwnerPlan, ...]) -> bool:
        before = {change.owner: change.rollout for change in self.world.changes}
        rollouts: dict[Ref, Rollout] = {}
        for owner in owners:
            for rollout in (owner.replaced, owner.rollout):
                if rollout is not None:
                    self.rollouts[rollout.name] = rollout
                    rollouts[rollout.owner] = rollout
        changed = [ref for ref, rollout in rollouts.items() if before.get(ref) != rollout]
        if changed:
            self.world = structs.replace(self.world, changes=with_rollouts(self.world.changes, rollouts))
        return any(_led_on(before.get(ref), rollouts[ref]) for ref in changed)

    def _note(self, step: Step, stored: PluginState) -> None:
        attempt, last = step.progress.attempt, stored.attempt
        if step.is_start:
            if step.action == "start":
                self._tell(step.key, "Started", step.progress)
        elif attempt is not None and last is not None and attempt.phase != last.phase:
            if attempt.phase == "Failed":
                self._tell(step.key, "TimedOut" if attempt.timed_out else "Failed", step.progress)
            elif attempt.phase == "SetAside":
                self._tell(step.key, "SetAside", step.progress, "unreachable")
            elif attempt.phase == "Applying":
                ends = self.now + self.scenario.takes(step.key[1])
                heappush(self.finishing, (ends, step.key, attempt.input_hash))

    def _tell(self, key: PluginKey, event: EventName, progress: PluginState, reason: str = "") -> None:
        place = progress.enrolment if reason != "delete" else None
        rollout, stage = (place.rollout, place.stage or "") if place is not None else ("", "")
        self.events.append(Event(self.now, key[1], key[2], event, reason, key[0], rollout, stage))

    def _ask_for_approvals(self, found: Plan) -> None:
        """People approve a stage some time after all before it is done, or at the time that the scenario gives."""
        for owner in found.owners:
            rollout = owner.rollout
            if rollout is None or not rollout.is_open:
                continue
            ready = True
            for rule, count in zip(rollout.policy.stages, owner.stages, strict=True):
                at = self._approved_at(rule.name, ready)
                if rule.approvals is not None and at is not None and (rollout.name, rule.name) not in self.asked:
                    self.asked.add((rollout.name, rule.name))
                    heappush(self.approvals, (max(at, self.now), rollout.name, rule.name))
                ready = ready and (count.finished is not None or count.total == 0)
        for removal in found.world.removals:
            asked = (removal.rollout, DELETES)
            at = self._approved_at(DELETES, True)
            if at is not None and asked not in self.asked and not removal.retain:
                self.asked.add(asked)
                heappush(self.approvals, (max(at, self.now), *asked))

    def _approved_at(self, stage: str, ready: bool) -> datetime | None:
        if stage in self.scenario.approvals:
            return self.scenario.approvals[stage]
        delay = self.scenario.approval_delay
        return self.now + delay if ready and delay is not None else None

    def _next(self, found: Plan) -> datetime | None:
        """When anything can happen next: a start ends, people act, or time opens the last gate of somebody.

        A plugin that also waits for others is looked at again when those move.
        """
        times: list[datetime] = []
        if self.finishing:
            times.append(max(self.finishing[0][0], self.now))
        if self.approvals:
            times.append(max(self.approvals[0][0], self.now))
        landings = [change.crowd.next_landing for change in self.world.changes if change.crowd is not None]
        times += [max(each, self.now) for each in landings if each is not None]
        if times and min(times) == self.now:
            return self.now
        times += self.spells[:1]
        seen: set[int] = set()
        for owner in found.owners:
            times += [owner.look] if owner.look is not None else []
            times += [stage.soaked_at for stage in owner.stages if stage.soaked_at is not None]
        for step in found.steps:
            reasons = step.reasons
            if not reasons or id(reasons) in seen:
                continue
            seen.add(id(reasons))
            untils = [reason.until for reason in reasons if reason.until is not None]
            if len(untils) == len(reasons):
                times.append(max(untils))
            times += [each.until for each in reasons if each.gate == "unreachable" and each.until is not None]
        return min([each for each in times if each > self.now], default=None)

    def _advance(self, to: datetime) -> None:
        self.now = to
        while self.spells and self.spells[0] <= to:
            heappop(self.spells)
        if self.scenario.unreachable:
            self._hear_silence()
        while self.finishing and self.finishing[0][0] <= to:
            _, key, input_hash = heappop(self.finishing)
            self._finish(key, input_hash)
        if any(change.crowd is not None for change in self.world.changes):
            self._edit(lambda each: structs.replace(each, crowd=each.crowd and each.crowd.landed(to)))
        while self.approvals and self.approvals[0][0] <= to:
            _, rollout, stage = heappop(self.approvals)
            self._approve(rollout, stage)

    def _finish(self, key: PluginKey, input_hash: str) -> None:
        progress = self.states[key]
        attempt = progress.attempt
        if (
            attempt is None
            or attempt.input_hash != input_hash
            or attempt.phase not in _MOVES
            or self._is_silent(key[1])
        ):
            return
        if not attempt.back and self.scenario.fails(key[1], input_hash, attempt.started):
            self._tell(key, "Failed", progress)
            self.states[key] = observed(progress, input_hash, "Failed", self.now)
        else:
            self._tell(key, "RolledBack" if attempt.back else "Succeeded", progress)
            self.states[key] = observed(progress, input_hash, "Healthy", self.now)

    def _is_silent(self, cluster: str) -> bool:
        return cluster in self.mute or any(
            spell.cluster == cluster and spell.covers(self.now) for spell in self.scenario.unreachable
        )

    def _hear_silence(self) -> None:
        """Clusters that fall silent or answer again; what was under way there goes on when they do."""
        named = {spell.cluster for spell in self.scenario.unreachable}
        if not named:
            return
        silent = {cluster for cluster in named if self._is_silent(cluster)}
        self.world = structs.replace(
            self.world, changes=tuple(self._with_silence(change, named, silent) for change in self.world.changes)
        )

    def _with_silence(self, change: Change, named: set[str], silent: set[str]) -> Change:
        return structs.replace(
            change,
            candidates=tuple(
                self._candidate_with_silence(each, each.key[1] in silent) if each.key[1] in named else each
                for each in change.candidates
            ),
        )

    def _candidate_with_silence(self, candidate: Candidate, silent: bool) -> Candidate:
        cluster = candidate.cluster
        if silent == (cluster.silent_since is not None):
            return candidate
        progress = self.states.get(candidate.key, UNKNOWN)
        if not silent and progress.in_flight and progress.attempt is not None:
            ends = self.now + self.scenario.takes(cluster.name)
            heappush(self.finishing, (ends, candidate.key, progress.attempt.input_hash))
        since = self.now if silent else None
        return structs.replace(candidate, cluster=structs.replace(cluster, silent_since=since))

    def _approve(self, rollout: str, stage: str) -> None:
        self.approved[rollout, stage] = self.now
        if stage == DELETES:
            removals = tuple(
                structs.replace(each, approvals=(*each.approvals, *self._consent_to_delete(each)))
                if each.rollout == rollout
                else each
                for each in self.world.removals
            )
            self.world = structs.replace(self.world, removals=removals)
            return
        changes = []
        for change in self.world.changes:
            last = change.rollout
            if last is not None and last.name == rollout:
                rule = next(each for each in last.policy.stages if each.name == stage)
                bound = (last.name, rule.name, last.change_id, last.policy.digest)
                asked = rule.approvals or ApprovalRule(0)
                given = _consent(bound, asked, change.authors, change.owner.organization, self.now)
                change = structs.replace(change, approvals=(*change.approvals, *given))
            changes.append(change)
        self.world = structs.replace(self.world, changes=tuple(changes))

    def _consent_to_delete(self, removal: Removal) -> list[Approval]:
        asked = self.world.limits_of(removal.key[0]).deletes_approval
        bound = (removal.rollout, DELETES, removal.change_id, removal.policy)
        return _consent(bound, asked, removal.authors, removal.key[0], self.now)

    def result(self, found: Plan) -> Simulation:
        events = sorted(self.events, key=lambda each: (each.at, each.cluster, each.plugin))
        ended = max((each.at for each in events if each.event != "Waiting"), default=self.start)
        dones = [stage.done for each in self.rollouts.values() for stage in each.stages if stage.done is not None]
        outcome = _outcome(found)
        end = max([self.start, ended, *dones])
        rollouts = tuple(sorted(self.rollouts.values(), key=lambda each: (each.created, each.name)))
        left = tuple(step for step in found.steps if step.state != "UpToDate")
        spans = tuple(stage_spans(rollouts, self.world.changes, self.states, self.start, end, self.approved))
        return Simulation(self.start, end, outcome, tuple(events), spans, rollouts, left, self.passes, self.world)


def _with_retries(world: World, retries: int) -> dict[str, Limits]:
    organizations = {change.owner.organization for change in world.changes} | set(world.limits)
    found = {}
    for organization in sorted(organizations):
        limits = world.limits_of(organization)
        found[organization] = structs.replace(limits, patience=structs.replace(limits.patience, retries=retries))
    return found


def _led_on(before: Rollout | None, now: Rollout) -> bool:
    """Whether what was just stored may let more start at the same time: a rollout that ended."""
    return now.ended is not None and (before is None or before.ended is None)


def _consent(
    bound: tuple[str, str, str, str], asked: ApprovalRule, authors: frozenset[str], organization: str, at: datetime
) -> list[Approval]:
    """As many people as are asked for, none an author."""
    named = [each for each in sorted(asked.users) if each not in authors or not asked.not_author]
    people = [*named, *(f"approver-{number}" for number in range(1, asked.required + 1))][: asked.required]
    return [Approval(*bound, each, asked.groups, organization, "", at) for each in people]


def _outcome(found: Plan) -> Outcome:
    rollouts = [owner.rollout for owner in found.owners if owner.rollout is not None]
    if any(rollout.rejected for rollout in rollouts):
        return "RolledBack"
    if any(rollout.phase == "Halted" for rollout in rollouts):
        return "Halted"
    unfinished = any(step.state not in ("UpToDate", "Failed") for step in found.steps)
    return "Stuck" if unfinished or any(rollout.is_open for rollout in rollouts) else "Completed"
