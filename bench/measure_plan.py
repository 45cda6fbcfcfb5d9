"""Planning one preset's rollout, again at another time, and simulating all of it.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from bench.calibrate import best_of, calibrate, clock
from bench.fresh import run_fresh
from bench.rollouts import HOUR, STAGES, START, naive_plan, rollout_world
from bench.table import Row, at_least, at_most, plainly
from fleetform.engine.plan.carry_out import after, writes
from fleetform.engine.plan.decide_by import DecideBy, Prospect
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import observed
from fleetform.engine.plan.records import World
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.simulate import simulate
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.rollout import decide

SIZES = (1_000, 10_000, 100_000)
SIMULATED = 10_000
TIMES = 5
# What Open Cluster Management's own helper takes for one decision, milliseconds by clusters.
OCM = {10_000: 152, 100_000: 18_000}
TITLE = f"Plan: one preset in {STAGES} stages, windows in three zones, a freeze, budgets, soak"


def rows() -> list[Row]:
    small, middle, large = (run_fresh("bench.measure_plan", clusters) for clusters in SIZES)
    found = []
    for measured, goal in ((middle, 50), (large, 600)):
        clusters, loop = measured["clusters"], measured["loop"]
        found += [
            at_most(f"{clusters:,} clusters, under way, at another time", measured["waiting"], goal, "ms", loop),
            at_most("  and a quarter of a stage starts", measured["starting"], goal, "ms", loop),
            at_most("  nothing changed and nothing is due", measured["idle"], 1, "ms", loop),
            plainly("  the first start, all members written down", measured["first"], "ms", loop),
            plainly("  Progressive, in Open Cluster Management's spelling", measured["ocm"], "ms", loop),
            plainly("  the same by its own helper", OCM[clusters], "ms"),
        ]
    found += [
        # Linear, but for what no longer fits the processor's caches; quadratic would be 100.
        at_most("growth: ten times the clusters, time", large["waiting"] / middle["waiting"], 12, "×"),
        *(
            at_least(
                f"a naive planner, {each['clusters']:,} clusters: times as long", each["naive"] / each["waiting"], goal
            )
            for each, goal in ((small, 4), (middle, 30))
        ),
    ]
    for what, simulated in middle["simulations"].items():
        found += [
            at_most(f"simulation of {SIMULATED:,} clusters, {what}", simulated["seconds"], 5, "s", middle["loop"]),
            Row(
                "  plans, virtual time, outcome",
                f"{simulated['passes']}, {simulated['days']:.1f} d, {simulated['outcome']}",
            ),
            at_most("  by when its second stage must be approved", simulated["decide_by"], 1, "s", middle["loop"]),
        ]
    return found


def measure(clusters: int) -> dict[str, Any]:
    loop = calibrate()
    world = rollout_world(clusters)
    first = best_of(TIMES, lambda: plan(world, START + 2 * HOUR))
    world, now = _under_way(world, START + 2 * HOUR)
    starting = best_of(TIMES, lambda: plan(world, now))
    world = after(world, writes(plan(world, now)))
    waiting = best_of(TIMES, lambda: plan(world, now + timedelta(minutes=1)))
    known = plan(world, now)
    return {
        "clusters": clusters,
        "loop": loop,
        "first": first * 1000,
        "starting": starting * 1000,
        "waiting": waiting * 1000,
        "idle": best_of(TIMES, lambda: plan(world, now + timedelta(seconds=1), known)) * 1000,
        "ocm": _ocm(clusters),
        "naive": clock(lambda: naive_plan(world, now))[0] * 1000 if clusters <= SIMULATED else 0,
        "simulations": _simulations() if clusters == SIMULATED else {},
    }


def _under_way(world: World, now: datetime) -> tuple[World, datetime]:
    """A tenth is done, a twentieth has just become healthy: the next start."""
    world = after(world, writes(plan(world, now)))
    now += timedelta(minutes=10)
    states = {
        key: observed(each, each.attempt.input_hash, "Healthy", now) if each.attempt is not None else each
        for key, each in world.states.items()
    }
    return structs.replace(world, states=states), now


def _ocm(clusters: int) -> float:
    strategy = {
        "type": "Progressive",
        "progressive": {"maxConcurrency": "25%", "maxFailures": "2%", "minSuccessTime": "1h"},
    }
    names = [f"c{number:06}" for number in range(clusters)]
    states = [
        {"cluster": name, "status": "Succeeded" if number % 2 else "Progressing", "since": START}
        for number, name in enumerate(names[: clusters // 5])
    ]
    groups = [{"name": "", "index": 0, "clusters": names}]
    return best_of(TIMES, lambda: decide(strategy, groups, states, START + HOUR)) * 1000


def _simulations() -> dict[str, dict[str, Any]]:
    found = {}
    for what, jitter, scenario in (
        ("all goes well", timedelta(0), Scenario()),
        ("starts spread over an hour, 1 % fail", HOUR, Scenario(failure_rate=0.01)),
    ):
        world = rollout_world(SIMULATED, jitter)
        seconds, played = clock(lambda world=world, scenario=scenario: simulate(world, START, scenario))  # type: ignore[misc]
        found[what] = {
            "seconds": seconds,
            "passes": played.passes,
            "days": (played.end - played.start) / timedelta(days=1),
            "outcome": played.outcome,
            "decide_by": clock(lambda world=world, scenario=scenario: _decide_by(world, scenario))[0],  # type: ignore[misc]
        }
    return found


def _decide_by(world: World, scenario: Scenario) -> DecideBy | None:
    change = world.changes[0]
    rules = list(change.policy.stages)
    rules[1] = structs.replace(rules[1], approvals=ApprovalRule(1))
    policy = structs.replace(change.policy, stages=tuple(rules))
    asking = structs.replace(world, changes=(structs.replace(change, policy=policy),))
    return Prospect(asking, change.owner, START, scenario).decide_by(rules[1].name)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
