"""Fleets in the middle of a rollout, and a planner as one would write it first: every plugin looks at every other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fleetform.engine.plan.records import Candidate, Change, ClusterFacts, World
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import StageRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.objects import Ref
from fleetform.model.state import Deployed, PluginState

START = datetime(2026, 11, 16, 20, tzinfo=UTC)
STAGES = 5
HOUR = timedelta(hours=1)
OLD = Deployed("1.0.0", "certs", "h1:old")
RULES = tuple(
    StageRule(f"stage-{number}", max_concurrency="25%", max_failures="2%", soak=HOUR, deadline=HOUR)
    for number in range(STAGES)
)


def rollout_world(clusters: int, jitter: timedelta = timedelta(0)) -> World:
    """One preset on so many clusters, five stages, a window each night in three zones, a freeze, a change for all."""
    freeze = Window("holidays", begin=START + timedelta(days=30), end=START + timedelta(days=40))
    calendars = [
        Calendar((Window("nights", "0 22 * * *", 6 * HOUR, zone=zone, jitter=jitter),), (freeze,))
        for zone in ("UTC", "Europe/Berlin", "Europe/London")
    ]
    candidates = tuple(
        Candidate(
            ("acme", f"c{number:06}", "certs"),
            ClusterFacts("acme", f"c{number:06}"),
            Deployed("1.1.0", "certs", f"h1:{number}"),
            f"stage-{number % STAGES}",
            calendar=calendars[number % 3],
        )
        for number in range(clusters)
    )
    owner = Ref("PluginPreset", "acme", "certs")
    change = Change(owner, "c1:0123456789", candidates, Policy("standard", RULES))
    return World((change,), {each.key: PluginState(OLD, OLD) for each in candidates})


def naive_plan(world: World, now: datetime) -> list[tuple[str, str]]:
    """Cluster by cluster: count its stage, count the stages before it, look at its window; then start or wait."""
    change = world.changes[0]
    found: list[tuple[str, str]] = []
    started = {rule.name: 0 for rule in RULES}
    for candidate in change.candidates:
        found.append((candidate.key[1], _naive_gate(world, change, candidate, started, now)))
    return found


def _naive_gate(world: World, change: Change, candidate: Candidate, started: dict[str, int], now: datetime) -> str:
    progress = world.states[candidate.key]
    if progress.admitted == candidate.wanted:
        return "done"
    number = next(index for index, rule in enumerate(RULES) if rule.name == candidate.stage)
    for rule in RULES[:number]:
        for other in change.candidates:
            if other.stage == rule.name and not _has_soaked(world.states[other.key], other, rule, now):
                return "stage"
    stage = [other for other in change.candidates if other.stage == candidate.stage]
    rule = RULES[number]
    if sum(_failed(world.states[other.key]) for other in stage) > rule.budget(len(stage)):
        return "budget"
    if all(window.current(now) is None for window in candidate.calendar.allow):
        return "window"
    if any(window.current(now) is not None for window in candidate.calendar.soft):
        return "freeze"
    in_flight = sum(world.states[other.key].in_flight for other in stage) + started[rule.name]
    if in_flight >= rule.slots(len(stage)):
        return "concurrency"
    started[rule.name] += 1
    return "start"


def _has_soaked(progress: PluginState, candidate: Candidate, rule: StageRule, now: datetime) -> bool:
    attempt = progress.attempt
    if attempt is None or attempt.input_hash != candidate.wanted.input_hash or attempt.phase != "Healthy":
        return False
    return attempt.since + rule.soak <= now


def _failed(progress: PluginState) -> bool:
    return progress.attempt is not None and progress.attempt.phase == "Failed"
