"""Plans, written down: a hand that plays a world and keeps a page of all that each plan says and stores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from fleetform.app.answering.advice import in_commands
from fleetform.engine.plan.carry_out import after, writes
from fleetform.engine.plan.earliest import Outlook
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import Health, Patience, observed
from fleetform.engine.plan.records import Approval, Change, Limits, OwnerPlan, Plan, Reason, StageCount, Step, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.simulate import simulate
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed, PluginState
from support.plans import NOON

NEWEST = Deployed("1.3.0", "certs", "h1:newest")
LAST_CHANGE = "c1:cccccccc33"
ONE_RETRY = Limits(Patience(retries=1))

_COUNTS = ("waiting", "in_flight", "soaking", "done", "failed", "absent", "starts")


def time(at: datetime | None) -> str:
    return f"{at:%a %H:%M}" + (f":{at:%S}" if at.second else "") if at is not None else "never"


def version(deployed: Deployed | None) -> str:
    return f"{deployed.version} {deployed.input_hash}" if deployed is not None else "nothing"


def reason(each: Reason) -> str:
    until = f", until {time(each.until)}" if each.until is not None else ""
    about = f" [{each.ref.name}]" if each.ref is not None else ""
    return f"{each.gate}: {each.message}{until}{about} → {in_commands(each.do)}"


def compare(file: Path, lines: Iterable[str]) -> None:
    """What is told beside the page that was approved."""
    title = file.stem.replace("_", " ").capitalize()
    page = "\n".join([f"# {title}", *lines]).rstrip() + "\n"
    if "APPROVE" in os.environ:
        file.write_text(page, encoding="utf-8")
    assert page == file.read_text(encoding="utf-8")


class Book:
    """Plays a world of any number of owners. A page is every plan at one time, until nothing is to be stored."""

    def __init__(self, world: World, now: datetime = NOON) -> None:
        self.world, self.now = world, now
        self.lines: list[str] = []

    def later(self, time: timedelta) -> None:
        self.now += time

    def page(self, what: str) -> None:
        """What the plans at this time say."""
        self.lines += ["", f"## {time(self.now)}: {what}", ""]
        previous: Plan | None = None
        for _ in range(10):
            found = plan(self.world, self.now)
            assert plan(self.world, self.now, previous).owners == found.owners, "the plan before only saves work"
            if found.is_idle and previous is not None:
                return
            self.lines += ["", "then", ""] if previous is not None else []
            self._plan(found)
            if found.is_idle:
                return
            self._carry_out(found)
            previous = found
        raise AssertionError("ten plans at one time, and still something to store")

    def _carry_out(self, found: Plan) -> None:
        done = writes(found)
        for write in done:
            if write.key is not None and write.progress is not None:
                how = "stored and started" if write.is_start else "stored"
                self.lines.append(f"- {how}: {_stored(write.key, write.progress)}")
            if write.rollout is not None:
                self.lines.append(f"- stored: {_rollout(write.rollout)}")
        world = after(self.world, done)
        gone = {step.key for step in found.removals if step.action == "delete"}
        states = {each: progress for each, progress in world.states.items() if each not in gone}
        removals = tuple(each for each in world.removals if each.key not in gone)
        self.world = structs.replace(world, states=states, removals=removals)

    def sleep(self, what: str) -> None:
        """The page of the next look."""
        look = plan(self.world, self.now).next_look
        assert look is not None, "nothing to wake up for"
        self.now = look
        self.page(what)

    def simulated(self, what: str, scenario: Scenario | None = None) -> None:
        """What would happen from now on."""
        found = simulate(self.world, self.now, scenario)
        self.lines += ["", f"## {time(self.now)}, simulated: {what}", ""]
        for each in found.events:
            where = f" {each.rollout} {each.stage}".rstrip()
            why = f" ({each.reason})" if each.reason else ""
            self.lines.append(f"- {time(each.at)} {each.event} {each.plugin} on {each.cluster}{why}{where}")
        for span in found.stages:
            spans = [f"{span.clusters} clusters", f"from {time(span.start)} to {time(span.end)}"]
            spans += [f"approved {time(span.approved)}"] if span.approved is not None else []
            spans += [f"open {time(each.begin)}–{time(each.end)}" for each in span.openings]
            spans += [
                f"{'hard ' if each.hard else ''}freeze {each.name} {time(each.begin)}–{time(each.end)}"
                for each in span.freezes
            ]
            spans += [f"clocks {', '.join(span.zones)}"] if span.zones else []
            self.lines.append(f"- stage {span.name} of {span.rollout}: {'; '.join(spans)}")
        self.lines += [f"- {_rollout(each)}" for each in found.rollouts]
        self.lines += [f"- left: {each.key[1]} {_step(each)}" for each in found.left]
        self.lines.append(f"- {found.outcome} {time(found.end)}, after {found.passes} plans")

    def observe(self, health: Health, *clusters: str, plugin: str = "certs") -> None:
        states = dict(self.world.states)
        for cluster in clusters:
            key = ("acme", cluster, plugin)
            attempt = states[key].attempt
            assert attempt is not None, f"nothing was started on {cluster}"
            states[key] = observed(states[key], attempt.input_hash, health, self.now)
        self.world = structs.replace(self.world, states=states)

    def change(self, owner: str = "certs", **fields: Any) -> None:
        self.world = structs.replace(
            self.world,
            changes=tuple(
                structs.replace(each, **fields) if each.owner.name == owner else each for each in self.world.changes
            ),
        )

    def edit(self, *clusters: str, plugin: str = "certs", **fields: Any) -> None:
        """Changes candidates, or the facts of their clusters, whoever has plugins there."""
        facts = {name: fields.pop(name) for name in ("hold", "silent_since") if name in fields}
        changes = []
        for change in self.world.changes:
            candidates = []
            for each in change.candidates:
                if each.key[1] in clusters:
                    cluster = structs.replace(each.cluster, **facts)
                    each = structs.replace(each, cluster=cluster, **(fields if each.key[2] == plugin else {}))
                candidates.append(each)
            changes.append(structs.replace(change, candidates=tuple(candidates)))
        self.world = structs.replace(self.world, changes=tuple(changes))

    def want(self, wanted: Deployed, change_id: str, owner: str = "certs") -> None:
        """A newer change, for all clusters of an owner."""
        candidates = tuple(structs.replace(each, wanted=wanted) for each in self.of(owner).candidates)
        self.change(owner, candidates=candidates, change_id=change_id)

    def approve(self, stage: str, *users: str, **fields: object) -> None:
        rollout = self.rollout()
        given = Approval(rollout.name, stage, rollout.change_id, rollout.policy.digest, "")
        approvals = [structs.replace(given, user=user, **fields) for user in users]
        self.change(approvals=(*self.of().approvals, *approvals))

    def of(self, owner: str = "certs") -> Change:
        return next(each for each in self.world.changes if each.owner.name == owner)

    def rollout(self, owner: str = "certs") -> Rollout:
        rollout = self.of(owner).rollout
        assert rollout is not None, "there is no rollout"
        return rollout

    def _plan(self, found: Plan) -> None:
        outlook = Outlook(found)
        for owner in found.owners:
            self._owner(owner)
            self._steps(owner.steps, outlook)
        if found.removals:
            self.lines.append("removals")
            self._steps(found.removals, outlook)
        times = f"next look {time(found.next_look)}, fresh until {time(found.fresh_until)}"
        self.lines += ["", times + (", nothing to store" if found.is_idle else ""), ""]

    def _owner(self, owner: OwnerPlan) -> None:
        marks = [name for name in ("emergency", "at_rest", "is_idle") if getattr(owner, name)]
        marks += [f"look {time(owner.look)}"] if owner.look is not None else []
        self.lines.append(" ".join([owner.change.owner.name, *marks]))
        if owner.replaced is not None:
            self.lines.append(f"- replaces {_rollout(owner.replaced)}")
        if owner.rollout is not None:
            self.lines.append(f"- {_rollout(owner.rollout)}")
        self.lines += [f"- {_stage(each)}" for each in owner.stages]

    def _steps(self, steps: Iterable[Step], outlook: Outlook) -> None:
        """What several clusters have in common is said once."""
        found: dict[str, list[str]] = {}
        for step in steps:
            found.setdefault(f"{_step(step)}{self._earliest(outlook, step)}", []).append(step.key[1])
        self.lines += [f"- {', '.join(clusters)} {said}" for said, clusters in found.items()]

    @staticmethod
    def _earliest(outlook: Outlook, step: Step) -> str:
        if step.action not in ("wait", "block"):
            return ""
        found = outlook.earliest(step)
        on = ", ".join(each.gate for each in found.conditions)
        decider = found.decider.gate if found.decider is not None else "nothing"
        return f"; earliest {time(found.at)}{f' if {on}' if on else ''}, {decider} decides"


def _step(step: Step) -> str:
    stage = f" in {step.stage or 'no stage, as it is not staged'}" if step.stage is not None else ""
    target = f" → {version(step.target)}" if step.target is not None else ""
    why = "".join(f"; {reason(each)}" for each in step.reasons)
    return f"{step.key[2]}: {step.action}, {step.state}{stage}{target}{why}"


def _stage(count: StageCount) -> str:
    counts = [f"{getattr(count, name)} {name}" for name in _COUNTS if getattr(count, name)]
    times = [
        f"{name} {time(getattr(count, name))}"
        for name in ("started", "finished", "soaked_at")
        if getattr(count, name) is not None
    ]
    approvals = [f"{count.approvals_given} of {count.approvals_needed} approvals"] if count.approvals_needed else []
    limits = f"{count.slots} at once, {count.budget} may fail"
    return f"stage {count.name} of {count.total}: {limits}: {', '.join([*counts, *approvals, *times])}".rstrip(": ")


def _rollout(rollout: Rollout) -> str:
    marks = [name for name in ("paused", "rejected") if getattr(rollout, name)]
    marks += [f"{rollout.queued} queued"] if rollout.queued is not None else []
    marks += [f"{each} skipped" for each in rollout.skipped]
    times = [
        f"{name} {time(getattr(rollout, name))}"
        for name in ("created", "started", "ended")
        if getattr(rollout, name) is not None
    ]
    stages = [
        f"{each.name} {each.total} from {time(each.started)} to {time(each.done)}"
        for each in rollout.stages
        if each.total or each.started is not None or each.done is not None
    ]
    return f"rollout {rollout.number} {rollout.name} {rollout.phase}: {', '.join([*marks, *times, *stages])}"


def _stored(key: PluginKey, progress: PluginState) -> str:
    attempt, place = progress.attempt, progress.enrolment
    parts = [f"{version(progress.admitted)}, healthy {version(progress.last_healthy)}"]
    if attempt is not None:
        marks = [name for name in ("timed_out", "back") if getattr(attempt, name)]
        marks += [f"failures {attempt.failures}"] if attempt.failures else []
        by = f" by {attempt.rollout}" if attempt.rollout else ""
        tried = f"{attempt.phase} {attempt.input_hash} since {time(attempt.since)}, started {time(attempt.started)}{by}"
        parts.append(" ".join([tried, *marks]))
    if place is not None:
        marks = [name for name in ("irreversible", "joined") if getattr(place, name)]
        stage = "no stage" if place.stage is None else place.stage or "unstaged"
        placed = f"in {place.rollout} {stage} for {version(place.target)}, before {version(place.before)}"
        parts.append(" ".join([placed, *marks]))
    parts += [f"failure: {progress.failure}"] if progress.failure else []
    return f"{key[1]} {key[2]}: {'; '.join(parts)}"
