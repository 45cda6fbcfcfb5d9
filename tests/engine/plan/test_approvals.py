"""Approvals: bound to change, stage and policy; enough distinct people, none the author."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from fleetform.engine.plan.decide_by import DecideBy, Prospect
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from support.plans import DAY, HOUR, MINUTE, NEWER, NIGHTS, NOON, OWNER, Hand, candidate, play, stages

SRE = frozenset({"sre"})


def asking(rule: ApprovalRule | None = None, **fields: object) -> Hand:
    policy = Policy("standard", stages(qa={}, prod={"approvals": rule or ApprovalRule(2, groups=SRE)}))
    return play([candidate("q", "qa"), candidate("p", "prod")], policy, authors=frozenset({"ann"}), **fields)


def ready(hand: Hand) -> Hand:
    hand.go()
    hand.healthy("q")
    hand.go()
    return hand


@pytest.mark.rule("R2-32")
def test_a_stage_needs_so_many_distinct_people_none_the_author() -> None:
    hand = ready(asking())
    hand.approve("prod", "bob", groups=SRE)
    hand.approve("prod", "bob", groups=SRE)
    hand.approve("prod", "ann", groups=SRE)
    assert hand.go() == []
    message = hand.step("p").reasons[0].message
    assert message.startswith("1 of 2 people")
    assert "ann made the change" in message
    hand.approve("prod", "eve", groups=SRE)
    assert hand.go() == ["p"]


@pytest.mark.rule("R2-32", "S47")
def test_the_author_does_not_count_under_another_name_that_is_proved_to_be_theirs() -> None:
    hand = ready(asking(ApprovalRule(1, groups=SRE)))
    hand.approve("prod", "ann@example.com", groups=SRE)
    (given,) = hand.world.changes[0].approvals
    hand.change(approvals=(structs.replace(given, also=("ann",)),))
    assert hand.go() == []
    hand.change(approvals=(structs.replace(given, also=("bob",)),))
    assert hand.go() == ["p"]


@pytest.mark.rule("R2-32")
def test_only_those_who_may_approve_count() -> None:
    hand = ready(asking(ApprovalRule(1, frozenset({"bob"}), SRE)))
    hand.approve("prod", "mallory", groups=frozenset({"sales"}))
    assert hand.go() == []
    hand.approve("prod", "bob")
    assert hand.go() == ["p"]


@pytest.mark.rule("R2-32", "S47")
def test_the_author_counts_where_the_stage_says_so_or_nobody_knows_the_author() -> None:
    hand = ready(asking(ApprovalRule(1, not_author=False)))
    hand.approve("prod", "ann")
    assert hand.go() == ["p"]
    unknown = ready(asking(ApprovalRule(1)))
    unknown.change(authors=frozenset())
    unknown.approve("prod", "ann")
    assert unknown.go() == ["p"]


@pytest.mark.rule("R2-32")
def test_production_can_be_approved_before_any_stage() -> None:
    hand = asking(ApprovalRule(1))
    hand.edit("q", hold="wait a moment")
    hand.go()
    hand.approve("prod", "bob")
    hand.edit("q", hold=None)
    assert hand.go() == ["q"]
    hand.healthy("q")
    assert hand.go() == ["p"]


@pytest.mark.rule("B26", "R2-33")
@pytest.mark.parametrize("field", ["change_id", "policy", "rollout"])
def test_an_approval_of_anything_else_is_void(field: str) -> None:
    hand = ready(asking(ApprovalRule(1)))
    hand.approve("prod", "bob", bound={field: "another"})
    assert hand.go() == []
    hand.approve("qa", "bob")
    assert hand.go() == []


@pytest.mark.rule("B26")
def test_another_policy_makes_approvals_void_while_nothing_has_started() -> None:
    hand = asking(ApprovalRule(1))
    hand.edit("q", hold="wait a moment")
    hand.go()
    hand.approve("prod", "bob")
    stricter = stages(qa={}, prod={"approvals": ApprovalRule(1), "max_concurrency": 1})
    hand.change(policy=Policy("standard", stricter))
    hand.edit("q", hold=None)
    ready(hand)
    assert hand.gates("p") == ["approval"]


@pytest.mark.rule("B26")
def test_a_rollout_keeps_the_policy_that_it_started_with() -> None:
    hand = asking(ApprovalRule(1))
    hand.go()
    hand.change(policy=Policy("standard", stages(qa={}, prod={})))
    hand.healthy("q")
    assert hand.go() == []
    assert hand.gates("p") == ["approval"]


@pytest.mark.rule("B26", "B8")
def test_approvals_do_not_carry_over_to_the_next_change() -> None:
    hand = asking(ApprovalRule(1))
    hand.go()
    hand.approve("prod", "bob")
    hand.want(NEWER)
    hand.change(supersede=True)
    hand.healthy("q")
    hand.go()
    hand.healthy("q")
    hand.go()
    assert hand.gates("p") == ["approval"]


def due(hand: Hand, stage: str = "prod") -> DecideBy | None:
    return Prospect(hand.world, OWNER, hand.now, Scenario()).decide_by(stage)


def nightly() -> Hand:
    policy = Policy("standard", stages(qa={}, prod={"approvals": ApprovalRule(1)}))
    return play([candidate("q", "qa"), candidate("p", "prod", calendar=NIGHTS)], policy)


@pytest.mark.rule("R2-32")
def test_an_approval_is_due_before_the_window_in_which_its_stage_can_start() -> None:
    found = due(nightly())
    assert found is not None
    assert found.at == NOON + 10 * HOUR, "the window opens then"
    assert found.end == NOON + 10 * HOUR + Scenario().duration


@pytest.mark.parametrize("minutes", [7, 8])
def test_an_approval_is_due_to_the_minute(minutes: int) -> None:
    policy = Policy("standard", stages(qa={}, prod={"approvals": ApprovalRule(1)}))
    calendar = Calendar((Window("w", f"{minutes} 22 * * *", HOUR),))
    hand = play([candidate("q", "qa"), candidate("p", "prod", calendar=calendar)], policy)
    found = due(hand)
    assert found is not None
    assert (found.at, found.costs) == (NOON + 10 * HOUR + minutes * MINUTE, MINUTE)


def test_an_approval_that_everything_waits_for_already_is_due_now_and_not_at_a_minute_that_has_passed() -> None:
    policy = Policy("standard", stages(all={"approvals": ApprovalRule(1)}))
    now = NOON + timedelta(seconds=17)
    found = due(play([candidate("p")], policy, now=now), "all")
    assert found is not None
    assert (found.at, found.end, found.costs) == (now, now + 10 * MINUTE, timedelta(seconds=43))


@pytest.mark.rule("R2-32")
def test_a_late_approval_costs_what_it_moves_the_end_by() -> None:
    hand = nightly()
    found = due(hand)
    assert found is not None
    assert found.costs == MINUTE, "while the window is open, each minute costs one"
    missed = Prospect(hand.world, OWNER, NOON, Scenario()).approved("prod", NOON + 14 * HOUR)
    assert missed is not None
    assert missed.ended == found.end + DAY, "once it has closed, a day"


@pytest.mark.rule("R2-32")
def test_an_approval_can_wait_for_as_long_as_a_later_stage_waits_for_its_window() -> None:
    policy = Policy("standard", stages(qa={"approvals": ApprovalRule(1)}, prod={}))
    found = due(play([candidate("q", "qa"), candidate("p", "prod", calendar=NIGHTS)], policy), "qa")
    assert found is not None
    assert (found.at, found.costs) == (NOON + 9 * HOUR + 50 * MINUTE, MINUTE)


@pytest.mark.rule("R2-32")
def test_after_the_last_window_an_approval_comes_too_late() -> None:
    once = Calendar((Window("once", begin=NOON + HOUR, end=NOON + 2 * HOUR),))
    policy = Policy("standard", stages(prod={"approvals": ApprovalRule(1)}))
    found = due(play([candidate("p", "prod", calendar=once)], policy))
    assert found is not None
    assert (found.at, found.costs) == (NOON + HOUR, MINUTE)
    hand = play([candidate("p", "prod", calendar=once)], policy, now=NOON + 2 * HOUR - MINUTE)
    found = due(hand)
    assert found is not None
    assert (found.at, found.costs) == (hand.now, None), "the next minute the window is closed for good"


@pytest.mark.rule("R2-32")
def test_there_is_no_time_for_an_approval_that_does_not_help() -> None:
    hand = asking(ApprovalRule(1))
    hand.edit("q", hold="for ever")
    assert due(hand) is None


@pytest.mark.rule("R2-32", "B25")
def test_a_cluster_that_does_not_answer_does_not_keep_the_others_from_an_end() -> None:
    policy = Policy("standard", stages(qa={}, prod={"approvals": ApprovalRule(1)}))
    silent = candidate("q2", "qa", silent_since=NOON - DAY)
    found = due(play([candidate("q1", "qa"), silent, candidate("p", "prod")], policy))
    assert found is not None
    assert found.at == NOON + 10 * MINUTE, "prod can start once q1 is healthy"


@pytest.mark.rule("R2-32")
def test_a_rollout_that_begins_now_counts_its_stages() -> None:
    policy = Policy("standard", stages(all={"max_concurrency": 1}, prod={"approvals": ApprovalRule(1)}))
    found = due(play([candidate("a"), candidate("b"), candidate("p", "prod")], policy))
    assert found is not None
    assert (found.at, found.end) == (NOON + 20 * MINUTE, NOON + 30 * MINUTE)
