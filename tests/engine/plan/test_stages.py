"""Stages: order, slots, soak, waits; what counts as done; unreachable clusters."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from fleetform.engine.plan.checks import PlanError, check_plan
from fleetform.engine.plan.progress import observed
from fleetform.engine.plan.records import Limits
from fleetform.engine.plan.rollouts import Policy, rollout_name
from fleetform.engine.plan.stages import StageRule, share
from fleetform.model.state import PluginState
from support.plans import DAY, HOUR, MINUTE, NIGHTS, NOON, OLD, candidate, key, play, stages

TWO = Policy("standard", stages(qa={}, prod={}))


@pytest.mark.rule("R2-1")
def test_a_change_goes_stage_by_stage() -> None:
    hand = play([candidate("p", "prod"), candidate("q", "qa")], TWO)
    assert hand.go() == ["q"]
    assert hand.gates("p") == ["stage"]
    hand.healthy("q")
    assert hand.go() == ["p"]
    assert hand.phase() == "Progressing"
    hand.healthy("p")
    hand.go()
    assert hand.phase() == "Succeeded"
    assert hand.look().is_idle
    assert {hand.step(name).state for name in "pq"} == {"UpToDate"}


def test_a_stage_without_clusters_is_passed() -> None:
    hand = play([candidate("p", "prod")], TWO)
    assert hand.go() == ["p"]


@pytest.mark.rule("R2-8")
def test_a_cluster_that_no_stage_selects_is_named_and_the_rollout_does_not_end_without_it() -> None:
    hand = play([candidate("q", "qa"), candidate("x", None)], TWO)
    assert hand.go() == ["q"]
    hand.healthy("q")
    hand.go()
    assert hand.gates("x") == ["stage"]
    assert "no stage" in hand.step("x").reasons[0].message
    assert hand.rollout.is_open


@pytest.mark.rule("B24")
@pytest.mark.parametrize(
    ("amount", "total", "slots", "budget"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("1%", 10, 1, 0), ("33.3%", 9, 3, 2), ("100%", 7, 7, 7), ("7%", 100, 7, 7)],
)
def test_concurrency_rounds_up_and_failures_round_down(amount: int | str, total: int, slots: int, budget: int) -> None:
    rule = StageRule("s", amount, amount)
    assert (rule.slots(total), rule.budget(total)) == (slots, budget)
    assert structs.replace(rule, failures_round_up=True).budget(total) == slots


def test_shares_are_counted_in_whole_numbers() -> None:
    assert share("7%", 100, up=True) == 7
    assert share("0.5%", 200, up=True) == 1


def test_no_more_are_in_flight_than_may_be() -> None:
    hand = play([candidate(name) for name in "abcde"], Policy(stages=stages(all={"max_concurrency": "40%"})))
    assert hand.go() == ["a", "b"]
    hand.healthy("b")
    assert hand.go() == ["c"]
    hand.healthy("a", "c")
    assert hand.go() == ["d", "e"]


@pytest.mark.rule("S45")
def test_soak_counts_from_each_success_and_the_slot_frees_at_success() -> None:
    rules = stages(qa={"soak": HOUR, "max_concurrency": 1}, prod={})
    hand = play([candidate("a", "qa"), candidate("b", "qa"), candidate("p", "prod")], Policy(stages=rules))
    assert hand.go() == ["a"]
    hand.now += 10 * MINUTE
    hand.healthy("a")
    assert hand.go() == ["b"], "the slot is free although a soaks"
    hand.now += 30 * MINUTE
    hand.healthy("b")
    hand.go()
    (reason,) = hand.step("p").reasons
    assert (reason.gate, reason.until) == ("soak", NOON + 40 * MINUTE + HOUR)
    assert hand.phase() == "Soaking"
    assert hand.wait(HOUR - MINUTE) == []
    assert hand.wait(MINUTE) == ["p"]


@pytest.mark.rule("S45")
def test_where_soaking_holds_slots_it_does_as_in_open_cluster_management() -> None:
    rules = stages(all={"soak": HOUR, "max_concurrency": 1, "soaking_holds_slot": True})
    hand = play([candidate("a"), candidate("b")], Policy(stages=rules))
    hand.go()
    hand.healthy("a")
    assert hand.go() == []
    assert hand.wait(HOUR) == ["b"]


def test_a_stage_waits_before_it_starts_from_the_end_of_the_one_before() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy(stages=stages(qa={}, prod={"wait": DAY})))
    hand.go()
    hand.now += HOUR
    hand.healthy("q")
    hand.go()
    assert hand.step("p").reasons[0].until == NOON + HOUR + DAY
    assert hand.wait(DAY) == ["p"]


def test_the_first_stage_waits_from_when_the_change_was_first_seen() -> None:
    hand = play([candidate("p", "prod")], Policy(stages=stages(qa={}, prod={"wait": DAY})))
    assert hand.go() == []
    assert hand.wait(HOUR) == []
    assert hand.step("p").reasons[0].until == NOON + DAY
    assert hand.wait(DAY - HOUR) == ["p"]


@pytest.mark.rule("B1", "R1-15")
def test_any_other_hash_is_a_change_and_the_same_hash_is_none() -> None:
    hand = play([candidate("a"), candidate("b", wanted=OLD)])
    assert hand.go() == ["a"]
    assert hand.step("b").state == "UpToDate"
    assert hand.version("b") == "1.0.0"


@pytest.mark.rule("B1")
def test_only_a_start_moves_what_is_admitted() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], TWO)
    for _ in range(3):
        hand.go()
        assert hand.version("p") == "1.0.0"
        hand.now += HOUR
    assert hand.version("q") == "1.1.0"
    last = hand.progress("q").last_healthy
    assert last == OLD, "healthy is what was observed so"


def test_an_observation_of_another_hash_says_nothing() -> None:
    hand = play([candidate("a")])
    hand.go()
    progress = hand.progress("a")
    assert observed(progress, "h1:old", "Healthy", NOON) is progress
    assert observed(progress, "h1:old", "Failed", NOON) is progress
    assert observed(progress, "h1:new", "Unknown", NOON) is progress


@pytest.mark.rule("R2-30")
def test_what_is_in_flight_finishes_and_soak_runs_outside_of_windows() -> None:
    policy = Policy(stages=stages(qa={"soak": HOUR}, prod={}))
    hand = play([candidate("q", "qa", calendar=NIGHTS), candidate("p", "prod")], policy, now=NOON + 13 * HOUR)
    assert hand.go() == ["q"]
    hand.now += 2 * HOUR
    hand.healthy("q")
    hand.go()
    assert hand.wait(HOUR) == ["p"]


# ---- Unreachable clusters


@pytest.mark.rule("B25")
def test_an_unreachable_cluster_is_never_started_and_holds_no_slot() -> None:
    policy = Policy(stages=stages(all={"max_concurrency": 1}))
    hand = play([candidate("a", silent_since=NOON - HOUR), candidate("b")], policy)
    assert hand.go() == ["b"]
    assert hand.step("a").state == "Unreachable"


@pytest.mark.rule("B25")
def test_in_flight_it_holds_its_slot_for_a_time_then_is_set_aside_and_catches_up_on_return() -> None:
    policy = Policy(stages=stages(all={"max_concurrency": 1, "deadline": 10 * MINUTE}))
    hand = play([candidate("a"), candidate("b")], policy)
    assert hand.go() == ["a"]
    hand.edit("a", silent_since=NOON + MINUTE)
    assert hand.wait(14 * MINUTE) == [], "no deadline counts against a cluster that cannot answer"
    assert hand.step("a").state == "InFlight"
    assert hand.wait(2 * MINUTE) == ["b"]
    attempt = hand.progress("a").attempt
    assert attempt is not None
    assert attempt.phase == "SetAside"
    assert attempt.failures == 0
    hand.healthy("b")
    hand.edit("a", silent_since=None)
    hand.go()
    assert hand.step("a").state == "InFlight"
    hand.healthy("a")
    hand.go()
    assert hand.phase() == "Succeeded"


@pytest.mark.rule("B25")
def test_a_rollout_ends_without_a_cluster_that_cannot_be_reached_and_it_catches_up_later() -> None:
    hand = play([candidate("a"), candidate("b", silent_since=NOON - HOUR)])
    assert hand.go() == ["a"]
    hand.healthy("a")
    hand.go()
    assert hand.phase() == "Succeeded"
    hand.edit("b", silent_since=None)
    assert hand.wait(DAY) == ["b"]


@pytest.mark.rule("B25")
def test_a_stage_that_nobody_can_reach_is_not_taken_for_tested() -> None:
    limits = Limits(max_unreachable="100%")
    hand = play([candidate("q", "qa", silent_since=NOON - HOUR), candidate("p", "prod")], TWO, limits=limits)
    assert hand.go() == []
    assert hand.gates("p") == ["stage"]


@pytest.mark.rule("B25")
def test_too_many_unreachable_clusters_keep_a_new_stage_from_starting() -> None:
    lost = [candidate(f"l{each}", "qa", silent_since=NOON - HOUR) for each in range(3)]
    well = [candidate(f"q{each}", "qa") for each in range(6)]
    hand = play([*lost, candidate("p", "prod"), *well], TWO, limits=Limits(max_unreachable="20%"))
    assert hand.go() == []
    assert hand.gates("q0") == ["unreachable"]
    hand.edit("l0", silent_since=None)
    assert len(hand.go()) == 7


# ---- Names, and the plan's check of itself


@pytest.mark.rule("B33")
def test_a_rollout_record_does_not_grow_with_the_fleet() -> None:
    sizes = []
    for count in (10, 1000):
        hand = play([candidate(f"c{each:04}", "qa") for each in range(count)], TWO)
        hand.go()
        sizes.append(len(msgspec.json.encode(hand.rollout)))
    assert sizes[1] - sizes[0] < 20


def test_a_name_that_was_used_is_not_used_again() -> None:
    assert rollout_name("certs", "c1:0123456789") == "certs-01234567"
    assert rollout_name("certs", "c1:0123456789", frozenset({"certs-01234567"})) == "certs-01234567-2"
    assert rollout_name("certs", "c1:01234567", frozenset({"certs-01234567", "certs-01234567-2"})) == "certs-01234567-3"


def test_a_plan_that_starts_too_much_is_never_handed_out() -> None:
    hand = play([candidate(name) for name in "ab"], Policy(stages=stages(all={"max_concurrency": 1})))
    found = hand.look()
    owner = found.owners[0]
    first = owner.steps[0]
    both = tuple(structs.replace(first, key=step.key) for step in owner.steps)
    broken = structs.replace(found, owners=(structs.replace(owner, steps=both),))
    with pytest.raises(PlanError, match="in flight"):
        check_plan(broken)


@pytest.mark.rule("S24")
def test_without_a_state_nothing_runs_and_dependencies_are_not_healthy() -> None:
    hand = play([candidate("a", depends_on=("crds",))], states={key("a"): PluginState()})
    assert hand.progress("a").admitted is None
    assert hand.gates("a") == ["dependency"]
