"""Crowds: a world in which ordinary clusters are counted plays as the one in which each is planned."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from fleetform.engine.plan.compress import compressed
from fleetform.engine.plan.decide_by import Prospect
from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import Candidate, Emergency, Limits, World
from fleetform.engine.plan.rollouts import Policy, Rollout
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.engine.plan.simulate import rollout_after
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
NAMES = tuple(f"c{number:02}" for number in range(14))
GATE = Gate("breaking", "it breaks", "agree to it")


@st.composite
def rules(draw: Any) -> tuple[StageRule, ...]:
    return tuple(
        StageRule(
            name,
            max_concurrency=draw(st.sampled_from([None, 1, 2, "40%"])),
            max_failures=draw(st.sampled_from([None, 1, "50%"])),
            soak=draw(st.sampled_from([timedelta(0), 25 * MINUTE, 3 * HOUR])),
            deadline=draw(st.sampled_from([None, None, 15 * MINUTE])),
            wait=draw(st.sampled_from([timedelta(0), timedelta(0), 2 * HOUR])),
            approvals=draw(st.sampled_from([None, ApprovalRule(1), ApprovalRule(2)])),
            soaking_holds_slot=draw(st.booleans()),
            failed_holds_slot=draw(st.booleans()),
        )
        for name in STAGES[: draw(st.integers(1, 3))]
    )


@st.composite
def candidates(draw: Any, names: tuple[str, ...], known: tuple[str, ...]) -> list[Candidate]:
    """Most are ordinary; a few have something of their own."""
    found = []
    for name in names:
        own = draw(st.sampled_from(["", "", "", "", "", "", "notice", "silent", "gone", "hold", "forced", "loose"]))
        fields: dict[str, Any] = {
            "calendar": draw(st.sampled_from(CALENDARS)),
            "wanted": draw(st.sampled_from([NEW, NEWER])),
        }
        particular: dict[str, dict[str, Any]] = {
            "notice": {"not_before": NOON + 5 * HOUR},
            "silent": {"silent_since": NOON - 5 * MINUTE},
            "gone": {"silent_since": NOON - HOUR},
            "hold": {"hold": "mine"} if draw(st.integers(0, 3)) == 0 else {},
            "forced": {"gates": (GATE,), "forced_at": NOON + 7 * HOUR},
            "loose": {"kinds": frozenset({"values"})},
        }
        found.append(candidate(name, draw(st.sampled_from(known)), **fields, **particular.get(own, {})))
    return found


@st.composite
def worlds(draw: Any) -> tuple[World, datetime]:
    """A rollout at some point of its way: planned, observed and slept through for a while."""
    policy_rules = draw(rules())
    policy = Policy(
        "standard",
        policy_rules,
        on_failure=draw(st.sampled_from(["Halt", "Continue", "Rollback"])),
        max_failures=draw(st.sampled_from([None, None, "30%"])),
        trigger=frozenset({"version"}),
    )
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    known = tuple(rule.name for rule in policy_rules)
    states = {key(name): PluginState() for name in names if draw(st.integers(0, 9)) == 0}
    states |= {key(name): PluginState(NEW, NEW) for name in names if draw(st.integers(0, 9)) == 0}
    emergency = draw(st.sampled_from([None] * 4 + [Emergency("cve", NOON + 90 * MINUTE, frozenset({"bob"}))]))
    limits = Limits(Patience(retries=draw(st.integers(0, 2))), max_unreachable="60%")
    found = world_of(draw(candidates(names, known)), policy, states, limits, emergency=emergency)
    hand = Hand(found)
    for _ in range(draw(st.integers(0, 4))):
        for stage in known:
            if draw(st.booleans()) and hand.world.changes[0].rollout is not None:
                hand.approve(stage, "bob", "eve")
        hand.go()
        for name in names:
            health = draw(st.sampled_from(["Healthy", "Healthy", "Healthy", "Unknown", "Failed"]))
            progress = hand.world.states.get(key(name))
            facts = next(each.cluster for each in hand.world.changes[0].candidates if each.key == key(name))
            if progress is not None and progress.in_flight and facts.silent_since is None:
                hand.observe(health, name)
        hand.now += draw(st.sampled_from([MINUTE, 10 * MINUTE, HOUR, 11 * HOUR]))
    return hand.world, hand.now + draw(st.sampled_from([timedelta(0), timedelta(seconds=17)]))


@st.composite
def scenarios(draw: Any) -> Scenario:
    names = st.sampled_from(NAMES)
    spells = st.builds(Spell, names, st.just(None), st.sampled_from([None, NOON + 14 * HOUR]))
    silences = st.builds(Spell, names, st.just(NOON + HOUR), st.just(NOON + 15 * HOUR))
    return Scenario(
        duration=draw(st.sampled_from([10 * MINUTE, 7 * MINUTE])),
        durations=draw(st.dictionaries(names, st.sampled_from([MINUTE, 40 * MINUTE]), max_size=2)),
        failing=tuple(draw(st.lists(spells, max_size=1))),
        unreachable=tuple(draw(st.lists(silences, max_size=1))),
        failure_rate=draw(st.sampled_from([0.0, 0.0, 0.1])),
        approval_delay=draw(st.sampled_from([timedelta(0), 45 * MINUTE])),
        retries=draw(st.integers(0, 1)),
        until=NOON + 20 * DAY,
    )


def ends(rollout: Rollout | None) -> object:
    """What a rollout came to, with its stages' times; a way back is not played with crowds, nor what replaces it."""
    if rollout is None or rollout.phase == "Superseded":
        return None
    return "rejected" if rollout.rejected else (rollout.phase, rollout.ended, rollout.stages)


@settings(max_examples=100, deadline=None)
@given(worlds(), scenarios(), st.data())
def test_a_world_with_crowds_plays_as_the_one_without(
    given_world: tuple[World, datetime], scenario: Scenario, data: st.DataObject
) -> None:
    world, now = given_world
    name = data.draw(st.sampled_from(STAGES))
    later = now + data.draw(st.integers(0, 48 * 60)) * MINUTE
    scenario = structs.replace(scenario, approvals={name: later})
    prospect = Prospect(world, OWNER, now, scenario)
    exact = rollout_after(world, now, scenario, prospect.name)
    assert ends(prospect.approved(name, later)) == ends(exact)


@settings(max_examples=40, deadline=None)
@given(worlds(), st.data())
def test_decide_by_is_what_playing_every_cluster_finds(
    given_world: tuple[World, datetime], data: st.DataObject
) -> None:
    world, now = given_world
    stage = data.draw(st.sampled_from(STAGES))
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
