"""Simulation: the very planner on a virtual clock; what the scenario says happens, and nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fleetform.engine.plan.records import ClusterFacts, Removal, World
from fleetform.engine.plan.rollouts import OnFailure, Policy
from fleetform.engine.plan.scenario import Scenario, Simulation, Spell
from fleetform.engine.plan.simulate import simulate
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.state import PluginState
from support.held import held_by
from support.plans import CHANGE, DAY, HOUR, MINUTE, NIGHTS, NOON, OLD, OWNER, Hand, candidate, key, play, stages

MINUTES = timedelta(minutes=10)


def fleet(on_failure: OnFailure = "Halt", **prod: object) -> Hand:
    policy = Policy("standard", stages(qa={"soak": HOUR}, prod={"max_concurrency": 1, **prod}), on_failure=on_failure)
    return play([candidate("p1", "prod"), candidate("p2", "prod"), candidate("q", "qa")], policy)


def told(simulation: Simulation) -> list[tuple[str, str, int]]:
    return [
        (each.cluster, each.event, (each.at - NOON) // MINUTE) for each in simulation.events if each.event != "Waiting"
    ]


@pytest.mark.rule("S44")
def test_it_goes_from_event_to_event() -> None:
    found = simulate(fleet().world, NOON)
    assert told(found) == [
        ("q", "Started", 0),
        ("q", "Succeeded", 10),
        ("p1", "Started", 70),
        ("p1", "Succeeded", 80),
        ("p2", "Started", 80),
        ("p2", "Succeeded", 90),
    ]
    assert (found.outcome, found.end) == ("Completed", NOON + 90 * MINUTE)
    spans = [(each.name, each.start, each.end) for each in found.stages]
    assert spans == [("qa", NOON, NOON + 70 * MINUTE), ("prod", NOON + 70 * MINUTE, NOON + 90 * MINUTE)]


@pytest.mark.rule("S44")
def test_waiting_is_told_with_its_gate() -> None:
    found = simulate(fleet().world, NOON)
    waiting = [(each.cluster, each.reason) for each in found.events if each.event == "Waiting"]
    assert waiting == [("p1", "stage"), ("p2", "stage")]


@pytest.mark.rule("S44")
@pytest.mark.parametrize(
    ("on_failure", "outcome"), [("Halt", "Halted"), ("Rollback", "RolledBack"), ("Continue", "Completed")]
)
def test_a_failing_cluster_ends_as_the_policy_says(on_failure: OnFailure, outcome: str) -> None:
    found = simulate(fleet(on_failure).world, NOON, Scenario(failing=(Spell("p1"),)))
    assert found.outcome == outcome
    assert ("p1", "Failed", 80) in told(found)
    back = sorted(each.cluster for each in found.events if each.event == "RolledBack")
    assert back == (["p1", "q"] if on_failure == "Rollback" else [])


@pytest.mark.rule("S44")
def test_a_cluster_may_fail_from_a_time_on() -> None:
    late = Scenario(failing=(Spell("p1", NOON + DAY),))
    assert simulate(fleet().world, NOON, late).outcome == "Completed"


@pytest.mark.rule("S44")
def test_chance_is_a_function_of_the_seed() -> None:
    world = play([candidate(f"c{each:02}") for each in range(40)], Policy(on_failure="Continue")).world
    first = simulate(world, NOON, Scenario(failure_rate=0.5, seed=1))
    assert first.events == simulate(world, NOON, Scenario(failure_rate=0.5, seed=1)).events
    assert first.events != simulate(world, NOON, Scenario(failure_rate=0.5, seed=2)).events
    failed = sum(each.event == "Failed" for each in first.events)
    assert 8 < failed < 32
    assert not any(each.event == "Failed" for each in simulate(world, NOON).events)


@pytest.mark.rule("S44")
def test_a_held_cluster_at_the_end_is_stuck() -> None:
    hand = fleet()
    hand.edit("p2", hold="for ever")
    found = simulate(hand.world, NOON)
    assert found.outcome == "Stuck"
    assert ("p1", "Succeeded", 80) in told(found)


@pytest.mark.rule("S44", "B25")
def test_a_cluster_that_falls_silent_in_flight_is_set_aside_and_catches_up() -> None:
    away = Scenario(unreachable=(Spell("p1", NOON + 75 * MINUTE, NOON + 3 * HOUR),))
    found = simulate(fleet().world, NOON, away)
    assert ("p1", "SetAside", 90) in told(found)
    assert ("p2", "Started", 90) in told(found)
    assert ("p1", "Succeeded", 190) in told(found)
    assert found.outcome == "Completed"


@pytest.mark.rule("S44")
@pytest.mark.parametrize(("silent", "done"), [((72, 76), 80), ((75, 84), 94)], ids=["before its end", "at its end"])
def test_what_is_under_way_goes_on_when_its_cluster_answers_again_soon(silent: tuple[int, int], done: int) -> None:
    """What would have been told while it was silent takes its time again; nothing is set aside or times out."""
    begin, end = (NOON + each * MINUTE for each in silent)
    found = simulate(fleet().world, NOON, Scenario(unreachable=(Spell("p1", begin, end),)))
    assert [each for each in told(found) if each[0] == "p1"] == [("p1", "Started", 70), ("p1", "Succeeded", done)]
    assert found.outcome == "Completed"


@pytest.mark.rule("S44")
def test_a_start_that_takes_too_long_times_out() -> None:
    slow = Scenario(durations={"p1": DAY})
    found = simulate(fleet(deadline=HOUR).world, NOON, slow)
    assert ("p1", "TimedOut", 130) in told(found)


@pytest.mark.rule("S44")
def test_people_approve_after_a_while_or_never() -> None:
    hand = fleet(approvals=ApprovalRule(2))
    assert ("p1", "Started", 70) in told(simulate(hand.world, NOON))
    slow = simulate(hand.world, NOON, Scenario(approval_delay=2 * HOUR))
    assert ("p1", "Started", 190) in told(slow)
    assert simulate(hand.world, NOON, Scenario(approval_delay=None)).outcome == "Stuck"
    early = simulate(hand.world, NOON, Scenario(approvals={"prod": NOON}))
    assert ("p1", "Started", 70) in told(early)


@pytest.mark.rule("S44", "B34")
def test_retries_are_an_input_and_none_by_default() -> None:
    mended = (Spell("p1", end=NOON + 75 * MINUTE),)
    assert simulate(fleet().world, NOON, Scenario(failing=mended)).outcome == "Halted"
    assert simulate(fleet().world, NOON, Scenario(failing=mended, retries=1)).outcome == "Completed"


def test_it_ends_where_nothing_but_people_can_go_on_although_windows_keep_opening() -> None:
    hand = play([candidate("a", calendar=NIGHTS, hold="no")])
    found = simulate(hand.world, NOON)
    assert (found.outcome, found.passes) == ("Stuck", 1)


def test_years_of_virtual_time_are_a_few_plans() -> None:
    calendar = Calendar((Window("new year", "0 0 1 1 *", HOUR),))
    policy = Policy(stages=stages(a={}, b={}, c={}))
    hand = play([candidate(each, each, calendar=calendar) for each in "abc"], policy)
    found = simulate(hand.world, NOON, Scenario(duration=2 * HOUR))
    assert found.outcome == "Stuck" or found.end.year >= 2028
    longer = simulate(hand.world, NOON, Scenario(duration=2 * HOUR, until=NOON + 5000 * DAY))
    assert (longer.outcome, longer.end.year) == ("Completed", 2029)
    assert longer.passes < 20


def test_it_ends_at_the_time_given() -> None:
    found = simulate(fleet().world, NOON, Scenario(until=NOON + 75 * MINUTE))
    assert found.outcome == "Stuck"
    assert all(each.at <= NOON + 75 * MINUTE for each in found.events)


def test_what_is_already_under_way_goes_on() -> None:
    hand = fleet()
    hand.go()
    found = simulate(hand.world, NOON + 4 * MINUTE)
    assert ("q", "Succeeded", 10) in told(found)
    assert found.outcome == "Completed"


@pytest.mark.parametrize("gate", ["soak", "wait", "notice", "freeze", "window"])
def test_a_start_happens_exactly_when_the_gate_said(gate: str) -> None:
    hand = held_by(gate)
    until = hand.step("x").reasons[0].until
    starts = [each.at for each in simulate(hand.world, NOON).events if (each.cluster, each.event) == ("x", "Started")]
    assert starts == [until]


def test_a_simulation_tells_what_playing_by_hand_does() -> None:
    hand = fleet()
    by_hand: list[tuple[str, str, int]] = []
    due: dict[str, datetime] = {}
    for _ in range(20):
        for cluster in hand.go():
            by_hand.append((cluster, "Started", (hand.now - NOON) // MINUTE))
            due[cluster] = hand.now + MINUTES
        look = hand.look().next_look
        times = [*due.values(), *([look] if look is not None else [])]
        if not times:
            break
        hand.now = min(times)
        for cluster in [each for each, at in due.items() if at == hand.now]:
            hand.healthy(cluster)
            by_hand.append((cluster, "Succeeded", (hand.now - NOON) // MINUTE))
            del due[cluster]
    assert by_hand == told(simulate(fleet().world, NOON))


@pytest.mark.rule("S44")
def test_events_know_their_rollout_and_stage() -> None:
    found = simulate(fleet().world, NOON)
    places = {(each.cluster, each.event, each.stage) for each in found.events if each.event != "Waiting"}
    assert places == {(name, event, "qa" if name == "q" else "prod") for name in ("p1", "p2", "q") for event in ENDS}
    assert {(each.organization, each.rollout) for each in found.events if each.rollout} == {
        ("acme", found.rollouts[0].name)
    }


ENDS = ("Started", "Succeeded")


def test_stages_tell_their_clusters_windows_freezes_and_approvals() -> None:
    calendar = Calendar(NIGHTS.allow, (), (Window("drill", begin=NOON + HOUR, end=NOON + 2 * HOUR),))
    policy = Policy("standard", stages(qa={}, prod={"approvals": ApprovalRule(1)}))
    hand = play([candidate("a", "qa"), candidate("b", "prod", calendar=calendar)], policy)
    qa, prod = simulate(hand.world, NOON, Scenario(approval_delay=HOUR)).stages
    assert (qa.clusters, qa.openings, qa.freezes, qa.approved) == (1, (), (), None)
    assert [each.begin for each in prod.openings] == [NOON + 10 * HOUR]
    assert prod.freezes == ((NOON + HOUR, NOON + 2 * HOUR, "drill", True),)
    assert prod.approved == NOON + HOUR + 10 * MINUTE


@pytest.mark.rule("S44", "B22")
def test_deletions_take_place_when_somebody_approves_them() -> None:
    removals = tuple(
        Removal(key(each), OWNER, CHANGE, ClusterFacts("acme", each), rollout="certs-gone") for each in "abcd"
    )
    world = structs.replace(fleet().world, removals=removals)
    states = {**world.states, **{each.key: PluginState(OLD, OLD) for each in removals}}
    world = structs.replace(world, states=states)
    found = simulate(world, NOON, Scenario(approval_delay=HOUR))
    gone = [(each.cluster, each.at - NOON) for each in found.events if each.reason == "delete" and each.event in ENDS]
    assert gone == [(each, HOUR) for each in "abcd" for _ in ENDS]
    assert found.outcome == "Completed"
    assert simulate(world, NOON, Scenario(approval_delay=None)).outcome == "Stuck"


@pytest.mark.rule("B25")
def test_a_cluster_that_does_not_answer_now_does_not_report_either() -> None:
    """What is under way there is set aside, as the planner does; nobody makes up that it went well."""
    policy = Policy("standard", stages(qa={}, prod={}))
    hand = play([candidate("p", "prod"), candidate("q1", "qa"), candidate("q2", "qa")], policy)
    hand.go()
    hand.edit("q2", silent_since=NOON)
    found = simulate(hand.world, NOON)
    assert ("q2", "SetAside", 15) in told(found)
    assert ("p", "Started", 15) in told(found)
    assert [step.key[1] for step in found.left] == ["q2"]


@pytest.mark.rule("S44", "B25")
@pytest.mark.parametrize("begin", [None, NOON - HOUR, NOON])
def test_a_cluster_that_fell_silent_before_catches_up_when_it_answers(begin: datetime | None) -> None:
    """Also where nothing else is left to happen until then."""
    hand = play([candidate("a", silent_since=NOON - HOUR), candidate("b")])
    hand.go()
    hand.healthy("b")
    hand.go()
    assert hand.look().is_idle
    found = simulate(hand.world, NOON, Scenario(unreachable=(Spell("a", begin, NOON + DAY),)))
    assert told(found) == [("a", "Started", DAY // MINUTE), ("a", "Succeeded", (DAY + MINUTES) // MINUTE)]
    assert found.outcome == "Completed"


@pytest.mark.rule("S44", "B22")
def test_a_deletion_that_only_time_holds_takes_place_when_its_window_opens() -> None:
    removal = Removal(key("a"), OWNER, CHANGE, ClusterFacts("acme", "a"), calendar=NIGHTS)
    world = World((), {removal.key: PluginState(OLD, OLD)}, (removal,))
    found = simulate(world, NOON)
    assert [(each.event, each.at - NOON) for each in found.events if each.event in ENDS] == [
        (each, 10 * HOUR) for each in ENDS
    ]
    assert found.outcome == "Completed"
