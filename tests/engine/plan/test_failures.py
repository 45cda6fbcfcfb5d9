"""Failures: budgets, halt, rollback, continue, retries, deadlines, rejected changes, irreversible versions."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import Limits
from fleetform.engine.plan.requests import retry
from fleetform.engine.plan.rollouts import OnFailure, Policy
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.state import PluginState
from support.plans import (
    CHANGE,
    DAY,
    HOUR,
    MINUTE,
    NEW,
    NEWER,
    NIGHTS,
    NOON,
    OLD,
    Hand,
    candidate,
    key,
    play,
    stages,
)

RETRIES = Limits(patience=Patience(retries=2, first_retry=MINUTE))


def three(on_failure: OnFailure = "Halt", limits: Limits | None = None, **rule: object) -> Hand:
    policy = Policy(stages=stages(all={"max_concurrency": 1, **rule}), on_failure=on_failure)
    return play([candidate(name) for name in "abc"], policy, **({"limits": limits} if limits else {}))


@pytest.mark.rule("R2-14", "B24")
def test_a_failure_beyond_the_budget_halts() -> None:
    hand = three()
    hand.go()
    hand.fail("a")
    assert hand.go() == []
    assert hand.phase() == "Halted"
    assert hand.gates("b") == ["budget"]
    assert hand.step("b").state == "Blocked"
    assert hand.step("a").state == "Failed"


@pytest.mark.rule("S2", "B24")
def test_a_failed_cluster_frees_its_slot_and_counts_against_the_budget() -> None:
    hand = three(max_failures=1)
    hand.go()
    hand.fail("a")
    assert hand.go() == ["b"]
    assert hand.look().owners[0].stages[0].failed == 1
    hand.fail("b")
    assert hand.go() == []


@pytest.mark.rule("B24")
def test_the_whole_rollout_has_a_budget_beside_each_stages_own() -> None:
    rules = stages(qa={"max_failures": 1}, prod={"max_failures": 5})
    hand = play(
        [candidate("q", "qa"), candidate("r", "qa"), candidate("s", "prod"), candidate("t", "prod")],
        Policy(stages=rules, max_failures=1),
    )
    hand.go()
    hand.fail("q")
    hand.healthy("r")
    assert hand.go() == ["s", "t"]
    hand.fail("s")
    hand.go()
    assert hand.phase() == "Halted"


@pytest.mark.rule("R2-14", "S44")
def test_continue_goes_on_whatever_fails_and_completes() -> None:
    hand = three("Continue")
    for name in "abc":
        assert hand.go() == [name]
        hand.fail(name)
    hand.go()
    assert hand.phase() == "Succeeded"


@pytest.mark.rule("R2-14", "S45", "B10", "R2-38")
def test_rollback_returns_every_cluster_the_rollout_started_in_all_stages() -> None:
    policy = Policy(stages=stages(qa={}, prod={"max_concurrency": 1}), on_failure="Rollback")
    hand = play([candidate("q", "qa"), candidate("s", "prod"), candidate("t", "prod")], policy)
    hand.go()
    hand.healthy("q")
    assert hand.go() == ["s"]
    hand.fail("s")
    assert sorted(hand.go()) == ["q", "s"]
    assert hand.phase() == "RollingBack"
    assert {hand.version(name) for name in "qst"} == {"1.0.0"}
    hand.healthy("q", "s")
    hand.go()
    assert (hand.phase(), hand.rollout.rejected) == ("Halted", True)
    # It is rejected: no restart, no time, no later plan starts it again.
    assert hand.wait(DAY) == []
    assert hand.gates("t") == ["rejected"]
    assert hand.step("t").state == "Blocked"


@pytest.mark.rule("B10")
def test_a_rejected_change_may_start_after_retry_or_as_another_change() -> None:
    hand = three("Rollback")
    hand.go()
    hand.fail("a")
    hand.go()
    hand.healthy("a")
    hand.go()
    assert hand.wait(HOUR) == []
    again = Hand(hand.world, hand.now)
    rollout, changed = retry(hand.rollout, hand.world.states.items())
    again.ask(rollout)
    again.world = structs.replace(again.world, states={**again.world.states, **dict(changed)})
    assert again.go() == ["a"]
    assert again.rollout.name == "certs-aaaaaaaa-2"
    hand.want(NEWER)
    assert hand.go() == ["a"]


@pytest.mark.rule("B10")
def test_a_change_that_the_store_lists_as_rejected_does_not_start() -> None:
    hand = play([candidate("a")], rejected=frozenset({"c1:aaaaaaaa11"}))
    assert hand.go() == []
    assert hand.gates("a") == ["rejected"]


def test_a_rollback_is_held_by_veto_and_hard_freeze_and_by_no_window() -> None:
    closed = Window("nights", "0 22 * * *", HOUR)
    hand = play([candidate("a"), candidate("b")], Policy(on_failure="Rollback"))
    hand.go()
    hand.fail("a")
    hand.healthy("b")
    frozen = Window("audit", begin=NOON, end=NOON + HOUR)
    hand.edit("a", calendar=Calendar((closed,), hard=(frozen,)))
    hand.edit("b", calendar=Calendar((closed,), soft=(frozen,)), hold="migration")
    assert hand.go() == []
    assert (hand.gates("a"), hand.gates("b")) == (["freeze"], ["veto"])
    assert hand.wait(HOUR) == ["a"]
    hand.edit("b", hold=None)
    assert hand.go() == ["b"]


@pytest.mark.rule("R2-38")
def test_a_rollback_changes_no_more_at_once_than_the_stage_may_and_what_failed_first() -> None:
    policy = Policy(stages=stages(all={"max_concurrency": 2, "max_failures": 1}), on_failure="Rollback")
    hand = play([candidate(name) for name in "abcd"], policy)
    hand.go()
    hand.healthy("a", "b")
    hand.go()
    hand.fail("c", "d")
    assert hand.go() == ["c", "d"], "the others still work"
    assert hand.gates("a") == ["concurrency"]
    hand.healthy("c", "d")
    assert hand.go() == ["a", "b"]


def test_a_first_install_has_nothing_to_go_back_to() -> None:
    hand = play([candidate("a")], Policy(on_failure="Rollback"), states={key("a"): PluginState()})
    hand.go()
    hand.fail("a")
    assert hand.go() == []
    assert hand.phase() == "Halted"
    assert "nothing to roll back to" in hand.step("a").reasons[0].message or hand.step("a").state == "Failed"


def test_a_cluster_that_could_not_be_reached_is_rolled_back_when_it_returns() -> None:
    hand = play([candidate("a"), candidate("b")], Policy(on_failure="Rollback"))
    hand.go()
    hand.healthy("b")
    hand.fail("a")
    hand.edit("b", silent_since=NOON - HOUR)
    assert hand.go() == ["a"]
    hand.healthy("a")
    hand.go()
    assert hand.phase() == "Halted"
    hand.edit("b", silent_since=None)
    assert hand.wait(HOUR) == ["b"]
    assert hand.version("b") == "1.0.0"


@pytest.mark.rule("R2-39")
def test_an_irreversible_version_refuses_rollback_and_halts() -> None:
    hand = play([candidate("a", irreversible=True), candidate("b")], Policy(on_failure="Rollback"))
    hand.go()
    hand.fail("a")
    assert hand.go() == []
    assert hand.phase() == "Halted"
    assert hand.version("a") == "1.1.0"


@pytest.mark.rule("B34")
def test_a_failure_is_retried_with_backoff_a_bounded_number_of_times() -> None:
    hand = three(limits=RETRIES)
    hand.go()
    waits = []
    for _ in range(2):
        hand.fail("a")
        hand.go()
        failed_at, look = hand.now, hand.look().next_look
        assert look is not None
        waits.append(look - failed_at)
        assert hand.sleep() == ["a"]
    assert waits == [MINUTE, 2 * MINUTE]
    hand.fail("a")
    assert hand.wait(DAY) == [], "it stays failed"
    assert hand.step("a").state == "Failed"
    assert hand.gates("a") == ["rejected"]


@pytest.mark.rule("B34")
def test_a_retry_that_succeeds_gives_the_budget_back() -> None:
    hand = three(limits=RETRIES)
    hand.go()
    hand.fail("a")
    assert hand.go() == [], "it stops at once"
    assert hand.sleep() == ["a"]
    assert hand.go() == [], "while it is tried again it still counts"
    hand.healthy("a")
    assert hand.go() == ["b"]


@pytest.mark.rule("B34")
def test_it_stops_at_once_and_goes_back_only_when_nothing_more_is_tried() -> None:
    hand = three("Rollback", RETRIES)
    hand.go()
    for _ in range(2):
        hand.fail("a")
        hand.go()
        assert hand.phase() == "Halted"
        hand.sleep()
    hand.fail("a")
    assert hand.go() == ["a"]
    assert hand.phase() == "RollingBack"


@pytest.mark.rule("B34")
def test_retry_tries_what_failed_again_and_a_new_hash_starts_afresh() -> None:
    hand = three()
    hand.go()
    hand.fail("a")
    hand.go()
    rollout, changed = retry(hand.rollout, hand.world.states.items())
    assert [each for each, _ in changed] == [key("a")]
    fresh = Hand(hand.world, hand.now)
    fresh.want(NEWER)
    assert fresh.go() == ["a"], "a halted rollout gives way to a fix"
    attempt = fresh.progress("a").attempt
    assert attempt is not None
    assert attempt.failures == 0
    assert rollout.rejected is False


def test_a_deadline_fails_what_takes_too_long_and_late_health_still_counts() -> None:
    hand = three(deadline=HOUR, max_failures=0)
    hand.go()
    assert hand.look().next_look == NOON + HOUR
    assert hand.wait(HOUR) == []
    attempt = hand.progress("a").attempt
    assert attempt is not None
    assert attempt.timed_out
    assert hand.phase() == "Halted"
    hand.healthy("a")
    assert hand.go() == ["b"]


def test_a_failure_during_the_soak_ends_it() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy(stages=stages(qa={"soak": HOUR}, prod={})))
    hand.go()
    hand.healthy("q")
    hand.wait(30 * MINUTE)
    hand.fail("q")
    assert hand.wait(HOUR) == []
    hand.healthy("q")
    assert hand.wait(59 * MINUTE) == []
    assert hand.wait(MINUTE) == ["p"], "it soaks anew, in full"


@pytest.mark.rule("B34")
def test_the_pause_before_a_retry_is_a_minute_and_doubles_up_to_an_hour() -> None:
    hand = three(limits=Limits(patience=Patience(retries=20)))
    hand.go()
    waits = []
    for _ in range(8):
        hand.fail("a")
        hand.go()
        look = hand.look().next_look
        assert look is not None
        waits.append((look - hand.now) // MINUTE)
        hand.sleep()
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.rule("B24", "S45")
def test_a_budget_of_the_whole_rollout_in_percent_is_rounded_down() -> None:
    hand = play(
        [candidate(name) for name in "abc"],
        Policy(stages=stages(all={"max_concurrency": 1, "max_failures": 3}), max_failures="50%"),
    )
    hand.go()
    hand.fail("a")
    assert hand.go() == ["b"]
    hand.fail("b")
    assert hand.go() == []
    assert hand.phase() == "Halted"
    assert "the rollout: 2 failed, 1 allowed" in hand.step("c").reasons[0].message


@pytest.mark.rule("B34")
def test_what_failed_is_not_tried_again_where_nothing_may_start() -> None:
    hand = three(limits=RETRIES)
    hand.go()
    hand.fail("a")
    frozen = Window("audit", begin=NOON, end=NOON + HOUR)
    hand.edit("a", calendar=Calendar(hard=(frozen,)))
    assert hand.wait(5 * MINUTE) == []
    assert hand.gates("a") == ["freeze"]
    assert hand.wait(HOUR) == ["a"]


def _fails_for_good(hand: Hand, cluster: str) -> list[str]:
    """Who goes back then."""
    for _ in range(2):
        hand.fail(cluster)
        assert hand.sleep() == [cluster]
    hand.fail(cluster)
    return hand.go()


def _behind_a_later_rollout_that_went_back(back: bool) -> tuple[Hand, str]:
    """Gold's cluster failed, on its way there or on its way back, and has retries left; meanwhile a later rollout had a
    place for it, did not get to it, failed in the first stage and went back, so that what failed is wanted again."""
    policy = Policy(stages=stages(qa={}, gold={"approvals": ApprovalRule(1)}), on_failure="Rollback")
    hand = play([candidate("q", "qa"), candidate("g", "gold")], policy, limits=RETRIES)
    hand.go()
    hand.healthy("q")
    hand.go()
    first = hand.rollout.name
    hand.approve("gold", "ann")
    assert hand.go() == ["g"]
    if back:
        assert sorted(_fails_for_good(hand, "g")) == ["g", "q"]
        hand.healthy("q")
    hand.fail("g")
    hand.go()
    hand.want(NEWER)
    hand.change(supersede=True)
    assert hand.go() == ["q"]
    hand.change(supersede=False)
    assert _fails_for_good(hand, "q") == ["q"]
    hand.healthy("q")
    hand.want(OLD if back else NEW, "c1:cccccccc33")
    return hand, first


@pytest.mark.rule("B34", "B26", "B8")
def test_a_retry_belongs_to_the_rollout_that_was_approved_and_not_to_a_later_one() -> None:
    hand, first = _behind_a_later_rollout_that_went_back(back=False)
    place = hand.progress("g").enrolment
    assert hand.wait(HOUR) == ["g"]
    attempt = hand.progress("g").attempt
    assert attempt is not None
    assert (attempt.rollout, attempt.failures) == (first, 1)
    assert hand.progress("g").enrolment == place, "the later rollout has not brought it this"
    assert hand.step("g").state == "InFlight"
    hand.healthy("g")
    hand.go()
    assert hand.step("g").state == "UpToDate", "there is nothing to go back from"


@pytest.mark.rule("B34", "R2-38")
def test_a_way_back_that_is_tried_again_stays_one_whatever_rollout_came_after() -> None:
    hand, first = _behind_a_later_rollout_that_went_back(back=True)
    assert hand.wait(HOUR) == ["g"]
    attempt = hand.progress("g").attempt
    assert attempt is not None
    assert (attempt.rollout, attempt.back, attempt.failures) == (first, True, 1)


@pytest.mark.rule("B34", "R2-38")
def test_a_way_back_is_tried_again_windows_or_not_also_while_what_is_wanted_is_rejected() -> None:
    hand = three("Rollback", RETRIES)
    hand.go()
    assert _fails_for_good(hand, "a") == ["a"]
    assert hand.phase() == "RollingBack"
    hand.edit("a", calendar=NIGHTS)
    hand.fail("a")
    assert hand.go() == []
    assert hand.phase() == "Halted", "a fix does not wait for a cluster that fails on its way back"
    assert (hand.step("a").state, hand.gates("a")) == ("Failed", ["rejected", "wait"])
    for _ in range(2):
        assert hand.sleep() == ["a"]
        assert hand.progress("a").admitted == OLD
        hand.fail("a")
    assert hand.wait(DAY) == []
    assert hand.gates("a") == ["rejected", "rejected"]


@pytest.mark.rule("B24", "R2-14", "B8")
def test_what_failed_with_a_change_counts_when_the_change_comes_again_after_its_fix_went_back() -> None:
    """Otherwise a fix that is rolled back would let the change that it was to mend go on."""
    policy = Policy(stages=stages(qa={}, gold={"max_concurrency": 1}), on_failure="Rollback")
    hand = play([candidate("q", "qa"), candidate("g", "gold"), candidate("h", "gold")], policy, limits=RETRIES)
    hand.go()
    hand.healthy("q")
    assert hand.go() == ["g"]
    hand.fail("g")
    hand.go()
    hand.want(NEWER)
    hand.change(supersede=True)
    assert hand.go() == ["q"]
    hand.change(supersede=False)
    assert _fails_for_good(hand, "q") == ["q"]
    hand.healthy("q")
    hand.want(NEW, CHANGE)
    assert hand.go() == ["g"], "it is tried again, and nothing else starts"
    assert (hand.rollout.name, hand.phase()) == ("certs-aaaaaaaa-2", "Halted")
    assert hand.gates("h") == ["budget"]
    hand.fail("g")
    hand.go()
    assert hand.sleep() == ["g"]
    mended = Hand(hand.world, hand.now)
    mended.healthy("g")
    assert mended.go() == ["h"]
    hand.fail("g")
    assert hand.wait(DAY) == [], "nothing was started by this rollout, and nothing goes back"
    assert hand.phase() == "Halted"
    hand.edit("h", wanted=OLD)
    hand.go()
    assert hand.phase() == "Superseded", "all that it was about is what is wanted"


@pytest.mark.rule("S45", "B8")
def test_a_change_that_comes_again_soaks_where_it_has_come_back_to() -> None:
    """It was replaced during its first soak, and what replaced it went back: nobody has seen it healthy for so long."""
    policy = Policy(stages=stages(qa={"soak": HOUR}, gold={}), on_failure="Rollback", replaces=True)
    hand = play([candidate("q", "qa"), candidate("g", "gold")], policy)
    hand.go()
    hand.healthy("q")
    hand.wait(10 * MINUTE)
    hand.want(NEWER)
    assert hand.go() == ["q"]
    hand.fail("q")
    assert hand.go() == ["q"]
    hand.healthy("q")
    hand.want(NEW, CHANGE)
    assert hand.go() == []
    assert hand.gates("g") == ["soak"]
    assert hand.wait(59 * MINUTE) == []
    assert hand.wait(MINUTE) == ["g"]


@pytest.mark.rule("B34", "B8")
def test_what_has_what_is_wanted_and_failed_is_tried_again_in_a_slot_of_its_stage_while_a_rollout_works_there() -> None:
    policy = Policy(stages=stages(gold={"max_concurrency": 1}), on_failure="Continue", replaces=True)
    hand = play([candidate("g", "gold"), candidate("h", "gold")], policy, limits=RETRIES)
    hand.go()
    hand.healthy("g")
    hand.go()
    hand.healthy("h")
    hand.go()
    assert hand.phase() == "Succeeded"
    hand.fail("h")
    hand.want(NEWER)
    assert hand.go() == ["g"]
    # Somebody takes that back while it is on its way, by other objects: h has what is wanted again, and g has not.
    hand.want(NEW, "c1:cccccccc")
    assert hand.wait(HOUR) == [], "g has the only slot"
    assert (hand.step("g").state, hand.step("h").state) == ("InFlight", "Failed")
    assert hand.gates("h") == ["concurrency"]
    hand.healthy("g")
    assert hand.go() == ["g"], "it is changed back before anything else"
    hand.healthy("g")
    assert hand.go() == ["h"]
    assert hand.progress("h").admitted == NEW


@pytest.mark.rule("B34", "S2")
@pytest.mark.parametrize(
    "rule", [{}, {"max_concurrency": 1, "soaking_holds_slot": True, "soak": DAY}], ids=["no limit", "soaks"]
)
def test_what_is_no_part_of_a_rollout_is_tried_again_where_that_sets_no_limit_or_only_soaks(
    rule: dict[str, object],
) -> None:
    policy = Policy(stages=stages(gold=rule), on_failure="Continue", replaces=True)
    hand = play([candidate("g", "gold"), candidate("h", "gold")], policy, limits=RETRIES)
    hand.go()
    hand.healthy("g")
    hand.wait(DAY)
    hand.healthy("h")
    hand.wait(DAY)
    hand.fail("h")
    hand.want(NEWER)
    hand.edit("h", wanted=NEW)
    assert hand.go() == ["g"], "h has what it is to have"
    if rule:
        hand.healthy("g")
    assert hand.wait(HOUR) == ["h"]
