"""Crowds: a world in which ordinary clusters are counted plays as the one in which each is planned."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from msgspec import structs

from fleetform.engine.plan.compress import compressed
from fleetform.engine.plan.decide_by import Prospect
from fleetform.engine.plan.progress import Health, Patience
from fleetform.engine.plan.records import Candidate, Emergency, Limits, World
from fleetform.engine.plan.rollouts import Policy, Rollout
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.engine.plan.simulate import at_once, rollout_after
from fleetform.engine.plan.stages import ApprovalRule, StageRule
from fleetform.engine.plan.windows.calendar import ALWAYS, Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.results.decisions import Gate
from fleetform.model.state import PluginState
from support.plans import DAY, HOUR, MINUTE, NEW, NEWER, NOON, OWNER, Hand, candidate, key, play, stages, world_of

STAGES = ("qa", "mid", "prod")
AUDIT = Window("audit", begin=NOON + 12 * HOUR, end=NOON + 30 * HOUR)
CALENDARS = (
    ALWAYS,
    Calendar((Window("nights", "0 22 * * *", 4 * HOUR),)),
    Calendar((Window("nights", "0 22 * * *", 4 * HOUR, zone="America/New_York", no_start_in_last=HOUR),)),
    Calendar((Window("nights", "0 22 * * *", 4 * HOUR, jitter=HOUR),), soft=(AUDIT,)),
    Calendar((Window("short", "0 13 * * *", 20 * MINUTE), Window("nights", "0 22 * * *", HOUR)), hard=(AUDIT,)),
)
FLEETS = 150
NAMES = tuple(f"c{number:02}" for number in range(14))
GATE = Gate("breaking", "it breaks", "agree to it")


def rules(dice: Random) -> tuple[StageRule, ...]:
    return tuple(
        StageRule(
            name,
            max_concurrency=dice.choice([None, 1, 2, "40%"]),
            max_failures=dice.choice([None, 1, "50%"]),
            soak=dice.choice([timedelta(0), 25 * MINUTE, 3 * HOUR]),
            deadline=dice.choice([None, None, 15 * MINUTE]),
            wait=dice.choice([timedelta(0), timedelta(0), 2 * HOUR]),
            approvals=dice.choice([None, ApprovalRule(1), ApprovalRule(2)]),
            soaking_holds_slot=dice.random() < 0.5,
            failed_holds_slot=dice.choice([False, False, True]),
        )
        for name in STAGES[: dice.randint(1, 3)]
    )


def candidates(dice: Random, names: tuple[str, ...], known: tuple[str, ...]) -> list[Candidate]:
    """Most are ordinary; a few have something of their own."""
    found = []
    for name in names:
        own = dice.choice(["", "", "", "", "", "", "notice", "silent", "gone", "hold", "forced", "loose"])
        fields: dict[str, Any] = {
            "calendar": dice.choice((ALWAYS, ALWAYS, *CALENDARS)),
            "wanted": dice.choice([NEW, NEWER]),
        }
        particular: dict[str, dict[str, Any]] = {
            "notice": {"not_before": NOON + 5 * HOUR},
            "silent": {"silent_since": NOON - 5 * MINUTE},
            "gone": {"silent_since": NOON - HOUR},
            "hold": {"hold": "mine"} if dice.randint(0, 3) == 0 else {},
            "forced": {"gates": (GATE,), "forced_at": NOON + 7 * HOUR},
            "loose": {"kinds": frozenset({"values"})},
        }
        found.append(candidate(name, dice.choice(known), **fields, **particular.get(own, {})))
    return found


def worlds(dice: Random) -> tuple[World, datetime]:
    """A rollout at some point of its way: planned, observed and slept through for a while."""
    policy_rules = rules(dice)
    policy = Policy(
        "standard",
        policy_rules,
        on_failure=dice.choice(["Halt", "Continue", "Rollback"]),
        max_failures=dice.choice([None, None, "30%"]),
        trigger=frozenset({"version"}),
    )
    names = NAMES[: dice.randint(2, len(NAMES))]
    known = tuple(rule.name for rule in policy_rules)
    states = {key(name): PluginState() for name in names if dice.randint(0, 9) == 0}
    states |= {key(name): PluginState(NEW, NEW) for name in names if dice.randint(0, 9) == 0}
    emergency = dice.choice([None] * 4 + [Emergency("cve", NOON + 90 * MINUTE, frozenset({"bob"}))])
    limits = Limits(Patience(retries=dice.randint(0, 2)), max_unreachable="60%")
    everybody = candidates(dice, names, known)
    late = [each for each in everybody if dice.random() < 0.1]
    early = [each for each in everybody if each not in late]
    known_of = {each.key: states[each.key] for each in early if each.key in states}
    world = world_of(early, policy, known_of, limits, emergency=emergency)
    hand = Hand(world, dice.choice([NOON, NOON + 10 * HOUR]))
    for number in range(dice.choice([0, 1, 2, 3, 4, 5])):
        if number:
            hand.change(candidates=tuple(everybody))
        for stage in known:
            if dice.randint(0, 3) and hand.world.changes[0].rollout is not None:
                hand.approve(stage, "bob", "eve")
        hand.go()
        for each in hand.world.changes[0].candidates:
            health: Health = dice.choice(["Healthy", "Healthy", "Healthy", "Unknown", "Failed"])
            progress = hand.world.states.get(each.key)
            if progress is not None and progress.in_flight and each.cluster.silent_since is None:
                hand.observe(health, each.key[1])
        hand.now += dice.choice([MINUTE, 10 * MINUTE, HOUR, 11 * HOUR])
    return hand.world, hand.now + dice.choice([timedelta(0), timedelta(seconds=17)])


def scenarios(dice: Random) -> Scenario:
    failing = Spell(dice.choice(NAMES), None, dice.choice([None, NOON + 14 * HOUR]))
    silent = Spell(dice.choice(NAMES), NOON + HOUR, NOON + 15 * HOUR)
    return Scenario(
        duration=dice.choice([10 * MINUTE, 7 * MINUTE]),
        durations={dice.choice(NAMES): dice.choice([MINUTE, 40 * MINUTE]) for _ in range(dice.randint(0, 2))},
        failing=(failing,) if dice.random() < 0.3 else (),
        unreachable=(silent,) if dice.random() < 0.3 else (),
        failure_rate=dice.choice([0.0, 0.0, 0.1]),
        approval_delay=dice.choice([timedelta(0), 45 * MINUTE]),
        retries=dice.randint(0, 1),
        until=NOON + 20 * DAY,
    )


def ends(rollout: Rollout | None) -> object:
    """What a rollout came to, with its stages' times; a way back is not played with crowds, nor what replaces it."""
    if rollout is None or rollout.phase == "Superseded":
        return None
    return "rejected" if rollout.rejected else (rollout.phase, rollout.ended, rollout.stages)


@pytest.mark.parametrize("seed", range(FLEETS))
def test_a_world_with_crowds_plays_as_the_one_without(seed: int) -> None:
    dice = Random(seed)
    world, now = worlds(dice)
    name = dice.choice(STAGES)
    later = now + dice.randint(0, 48 * 60) * MINUTE
    scenario = structs.replace(scenarios(dice), approvals={name: later})
    prospect = Prospect(world, OWNER, now, scenario)
    exact = rollout_after(world, now, scenario, prospect.name)
    assert ends(prospect.approved(name, later)) == ends(exact)


def test_these_fleets_have_crowds_in_every_standing() -> None:
    """What is held to be the same above must have been there."""
    seen: Counter[str] = Counter()
    for seed in range(FLEETS):
        world, now = worlds(Random(seed))
        crowd = compressed(at_once(world, now, Scenario()), Scenario(), now).changes[0].crowd
        for stage in crowd.stages if crowd is not None else ():
            seen.update({"waits": stage.left, "flies": stage.flying, "failed": stage.failed})
            seen["healthy"] += sum(count for _, count in stage.healthy)
    assert min(seen[each] for each in ("waits", "flies", "healthy", "failed")) >= 10, seen


@pytest.mark.parametrize("seed", range(1000, 1000 + FLEETS // 3))
def test_decide_by_is_what_playing_every_cluster_finds(seed: int) -> None:
    dice = Random(seed)
    world, now = worlds(dice)
    stage = dice.choice(STAGES)
    scenario = Scenario(until=NOON + 20 * DAY)
    prospect = Prospect(world, OWNER, now, scenario)
    found = prospect.decide_by(stage)

    def end(at: datetime) -> datetime | None:
        played = rollout_after(world, now, structs.replace(scenario, approvals={stage: at}), prospect.name)
        return played.ended if played is not None and played.phase == "Succeeded" else None

    if found is None:
        assert end(now) is None or end(now) == end(now + 10 * DAY), "the end does not depend on it"
        return
    on_time = end(found.at)
    assert end(now) == found.end
    assert on_time is not None
    assert on_time <= found.end
    # An approval counts for whole minutes; the one that now lies in has begun.
    whole = found.at.replace(second=0, microsecond=0)
    following = end(whole + MINUTE)
    assert following is None if found.costs is None else following == found.end + found.costs > found.end


def test_a_crowd_is_what_nothing_tells_apart() -> None:
    rule = stages(prod={"max_concurrency": 3})
    hand = play(
        [*(candidate(f"c{number:03}", "prod") for number in range(200)), candidate("d", "prod", hold="mine")],
        Policy("p", rule),
    )
    hand.go()
    change = compressed(hand.world, Scenario(), hand.now).changes[0]
    assert [each.key[1] for each in change.candidates] == ["d"]
    assert change.crowd is not None
    assert (change.crowd.stages[0].left, change.crowd.stages[0].flying) == (197, 3)


def test_slots_go_by_turn_also_between_crowds_and_others() -> None:
    """c01 needs a notice that is over by then, and takes its turn between those that are counted."""
    rule = stages(prod={"max_concurrency": 1})
    named = [candidate(f"c{number:02}", "prod", calendar=CALENDARS[1 + number % 2]) for number in range(6)]
    named[1] = structs.replace(named[1], not_before=NOON + MINUTE)
    world = world_of(named, Policy("p", rule))
    scenario = Scenario(duration=HOUR)
    prospect = Prospect(world, OWNER, NOON, scenario)
    assert ends(prospect.approved("prod", NOON)) == ends(rollout_after(world, NOON, scenario, prospect.name))
