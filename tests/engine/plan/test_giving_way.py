"""Giving way: which rollout a newer change replaces, and that its gates do not judge the one that runs."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import Emergency, Limits
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.model.results.decisions import Gate
from fleetform.model.state import PluginState
from support.plans import (
    DAY,
    HOUR,
    MINUTE,
    NEW,
    NEWER,
    NEXT_CHANGE,
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
MISSING = Gate("required-option", "host has no value", "set it")


def fails_in_gold(replaces: bool = False) -> Hand:
    """q has the new version, g failed with it and will be tried again."""
    policy = Policy(stages=stages(qa={}, gold={"max_concurrency": 1}), on_failure="Rollback", replaces=replaces)
    hand = play([candidate("q", "qa"), candidate("g", "gold"), candidate("h", "gold")], policy, limits=RETRIES)
    hand.go()
    hand.healthy("q")
    assert hand.go() == ["g"]
    hand.fail("g")
    hand.go()
    return hand


def fails_for_good(hand: Hand) -> list[str]:
    """What starts once the last try failed."""
    for _ in range(2):
        assert hand.sleep() == ["g"]
        hand.fail("g")
    return hand.go()


@pytest.mark.rule("R2-14", "B8", "B10", "B34")
@pytest.mark.parametrize("replaces", [False, True], ids=["queue", "replace"])
@pytest.mark.parametrize("gates", [(), (MISSING,)], ids=["may start", "is blocked"])
def test_what_will_go_back_goes_back_before_a_newer_change_starts(replaces: bool, gates: tuple[Gate, ...]) -> None:
    """Else g would stay failed until the newer change gets there, if it ever does, with what failed still in it."""
    hand = fails_in_gold(replaces=replaces)
    assert hand.phase() == "Halted"
    first = hand.rollout.name
    hand.want(NEWER)
    for name in "qgh":
        hand.edit(name, gates=gates)
    assert hand.go() == []
    assert (hand.rollout.name, hand.rollout.queued) == (first, NEXT_CHANGE)
    assert sorted(fails_for_good(hand)) == ["g", "q"]
    assert {hand.version(each) for each in "qgh"} == {"1.0.0"}
    hand.healthy("q", "g")
    assert hand.go() == ([] if gates else ["q"]), "then the newer one, from its first stage"
    assert hand.rollout.change_id == NEXT_CHANGE


@pytest.mark.rule("B8", "B34")
def test_what_is_tried_again_and_heals_is_finished_before_a_newer_change() -> None:
    hand = fails_in_gold()
    hand.want(NEWER)
    assert hand.sleep() == ["g"]
    hand.healthy("g")
    assert hand.go() == ["h"]
    assert hand.version("h") == "1.1.0"


@pytest.mark.rule("R2-14", "B8")
def test_a_newer_change_that_comes_with_the_failure_does_not_hide_it() -> None:
    """In one pass a cluster is seen to have failed, and files want something newer."""
    policy = Policy(stages=stages(qa={}, gold={}), on_failure="Rollback", replaces=True)
    hand = play([candidate("q", "qa"), candidate("g", "gold")], policy)
    hand.go()
    hand.fail("q")
    hand.want(NEWER)
    assert hand.go() == ["q"]
    assert hand.version("q") == "1.0.0"
    healthy = play([candidate("q", "qa"), candidate("g", "gold")], policy)
    healthy.go()
    healthy.want(NEWER)
    healthy.healthy("q")
    assert healthy.go() == ["q"]
    assert healthy.version("q") == "1.2.0", "without a failure the policy says that it is replaced"


@pytest.mark.rule("B8", "B12")
@pytest.mark.parametrize("how", ["request", "emergency"])
def test_people_can_replace_what_will_go_back(how: str) -> None:
    hand = fails_in_gold()
    hand.want(NEWER)
    if how == "request":
        hand.change(supersede=True)
    else:
        hand.change(emergency=Emergency("CVE-2026-1", NOON + DAY, frozenset({"bob"})))
    assert hand.go() == ["q"]
    assert hand.version("q") == "1.2.0"


@pytest.mark.rule("R2-39", "R2-14", "B8")
def test_what_can_not_go_back_gives_way_to_a_fix() -> None:
    hand = play([candidate("a", irreversible=True)], Policy(on_failure="Rollback"), limits=RETRIES)
    hand.go()
    hand.fail("a")
    hand.go()
    hand.want(NEWER)
    assert hand.go() == ["a"]
    assert hand.version("a") == "1.2.0"


@pytest.mark.rule("R2-14", "R2-38", "B8")
def test_a_first_install_that_failed_gives_way_to_a_fix_at_once() -> None:
    """There is nothing that it would go back to."""
    first = {key(name): PluginState() for name in "ab"}
    policy = Policy(stages=stages(all={"max_concurrency": 1}), on_failure="Rollback")
    hand = play([candidate("a"), candidate("b")], policy, limits=RETRIES, states=first)
    hand.go()
    hand.fail("a")
    hand.go()
    hand.want(NEWER)
    assert hand.go() == ["a"]
    assert hand.version("a") == "1.2.0"


@pytest.mark.rule("R2-14", "B25")
@pytest.mark.parametrize("why", ["held", "silent"])
def test_a_rollout_goes_back_where_what_failed_can_not_be_tried_again(why: str) -> None:
    """Nobody knows for how long; the cluster itself follows when it may."""
    hand = fails_in_gold()
    if why == "held":
        hand.edit("g", hold="somebody looks at it")
    else:
        hand.edit("g", silent_since=hand.now - HOUR)
    assert hand.go() == ["q"]
    assert (hand.version("q"), hand.phase()) == ("1.0.0", "RollingBack")
    hand.healthy("q")
    assert hand.go() == []
    hand.edit("g", hold=None, silent_since=None)
    assert hand.go() == ["g"]
    assert hand.version("g") == "1.0.0"


@pytest.mark.rule("R2-14", "R2-30", "R2-38")
def test_a_rollout_goes_back_where_the_window_closes_before_what_failed_is_tried_again() -> None:
    hand = fails_in_gold()
    hand.edit("g", calendar=NIGHTS)
    assert hand.go() == [], "the next try is not due yet"
    assert sorted(hand.sleep()) == ["g", "q"], "a way back passes windows"
    assert {hand.version("g"), hand.version("q")} == {"1.0.0"}


# ---- Gates of a newer change


def runs(**fields: object) -> Hand:
    hand = play([candidate("q", "qa"), candidate("p", "prod", **fields)], Policy("two", stages(qa={}, prod={})))
    assert hand.go() == ["q"]
    return hand


@pytest.mark.rule("B8", "R2-37")
@pytest.mark.parametrize("field", ["gates", "not_before"])
def test_gates_of_a_newer_change_do_not_hold_the_rollout_that_runs(field: str) -> None:
    hand = runs()
    hand.want(NEWER)
    for name in "qp":
        hand.edit(name, **{field: (MISSING,) if field == "gates" else NOON + DAY})
    hand.healthy("q")
    assert hand.go() == ["p"]
    assert hand.version("p") == "1.1.0"
    held = {"gates": "required-option", "not_before": "notice"}[field]
    assert hand.gates("q") == ["queue", held], "what comes after it is told with what holds that"


@pytest.mark.rule("R2-17", "B8")
def test_what_was_blocked_is_not_started_because_a_newer_change_is_not() -> None:
    """The value is part of what is wanted now, and not of what the rollout brings."""
    hand = runs()
    hand.edit("p", gates=(MISSING,))
    hand.healthy("q")
    assert hand.go() == []
    place = hand.progress("p").enrolment
    assert place is not None
    assert place.blocked == "required-option"
    hand.edit("p", gates=(), wanted=structs.replace(NEW, input_hash="h1:with-host"))
    hand.change(change_id="c1:host")
    assert hand.go() == ["p"]
    assert hand.progress("p").admitted == structs.replace(NEW, input_hash="h1:with-host")
    assert hand.rollout.change_id == "c1:host"


@pytest.mark.rule("R2-17", "B8")
def test_what_was_blocked_waits_for_the_others_and_says_so() -> None:
    policy = Policy("two", stages(qa={"max_concurrency": 1}, prod={}))
    hand = play([candidate("q", "qa"), candidate("r", "qa", gates=(MISSING,)), candidate("s", "qa")], policy)
    assert hand.go() == ["q"]
    hand.want(NEWER)
    hand.edit("r", gates=())
    assert hand.go() == []
    assert hand.gates("r") == ["required-option"]
    blocked = hand.step("r").reasons[0]
    assert blocked.message == "1.1.0 was blocked on r when a newer change came"
    assert blocked.do == "wait until q is done: then the newer change takes its place"
    hand.healthy("q")
    assert hand.go() == ["s"], "not r, whose turn it is"


@pytest.mark.rule("R2-17")
def test_a_gate_that_opened_is_forgotten() -> None:
    hand = play([candidate("q", "qa"), candidate("r", "qa", gates=(MISSING,))], Policy(stages=stages(qa={})))
    hand.go()
    hand.change(suspended=True)
    hand.edit("r", gates=())
    hand.go()
    hand.want(NEWER)
    hand.change(suspended=False)
    assert hand.go() == ["r"]
    assert hand.version("r") == "1.1.0"


@pytest.mark.rule("S51", "B8")
def test_gates_of_a_newer_change_do_not_keep_a_cluster_that_joins_from_what_runs() -> None:
    hand = runs()
    hand.want(NEWER)
    late = candidate("late", "qa", wanted=NEWER, baseline=OLD, underway=NEW, gates=(MISSING,))
    hand.change(candidates=(*hand.world.changes[0].candidates, late))
    assert hand.go() == ["late"]
    assert hand.version("late") == "1.1.0"


@pytest.mark.rule("B26", "B8")
def test_a_newer_change_is_not_started_by_consent_to_the_one_that_went_back() -> None:
    rule = ApprovalRule(1)
    policy = Policy(stages=stages(all={"approvals": rule}), on_failure="Rollback")
    hand = play([candidate("a")], policy)
    hand.go()
    hand.approve("all", "ann")
    assert hand.go() == ["a"]
    hand.fail("a")
    hand.want(NEWER)
    assert hand.go() == ["a"]
    hand.healthy("a")
    assert hand.go() == []
    assert (hand.version("a"), hand.gates("a")) == ("1.0.0", ["approval"])
