"""Left behind: clusters that could not be reached while their rollout went back."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.rollouts import Policy
from fleetform.model.results.decisions import Gate
from support.plans import DAY, HOUR, NEWER, OLD, Hand, candidate, key, play, stages

REJECTED = Gate("would-downgrade", "1.1.0 runs, and newest leads to 1.0.0 now", "pin it")


def left_behind(*names: str) -> Hand:
    """The rollout went back from c, which failed; the others did not answer then."""
    policy = Policy(stages=stages(all={"max_concurrency": 3, "max_failures": 0}), on_failure="Rollback")
    hand = play([candidate(name) for name in (*names, "c")], policy)
    hand.go()
    hand.healthy(*names)
    hand.fail("c")
    for name in names:
        hand.edit(name, silent_since=hand.now - HOUR)
    assert hand.go() == ["c"]
    hand.healthy("c")
    hand.go()
    assert hand.phase() == "Halted"
    return hand


def answers(hand: Hand, *names: str) -> None:
    for name in names:
        hand.edit(name, silent_since=None)


@pytest.mark.rule("R2-38", "B25")
def test_a_region_that_returns_goes_back_in_the_slots_of_its_stage() -> None:
    hand = left_behind("a", "b")
    rollout = structs.replace(
        hand.rollout, policy=structs.replace(hand.rollout.policy, stages=stages(all={"max_concurrency": 1}))
    )
    hand.ask(rollout)
    answers(hand, "a", "b")
    assert hand.go() == ["a"]
    assert hand.gates("b") == ["concurrency"]
    hand.healthy("a")
    assert hand.go() == ["b"]


@pytest.mark.rule("R2-38", "B25", "B10")
def test_it_goes_back_though_its_version_was_rejected_and_what_is_wanted_lies_below() -> None:
    """A new rollout down to what it goes back to would be blocked for ever."""
    hand = left_behind("a")
    hand.change(change_id="c1:rejected")
    for name in "ac":
        hand.edit(name, wanted=OLD, gates=(REJECTED,) if name == "a" else ())
    assert hand.go() == []
    assert hand.gates("a") == ["unreachable"]
    assert hand.rollout.name == "certs-aaaaaaaa"
    answers(hand, "a")
    assert hand.go() == ["a"]
    hand.healthy("a")
    assert hand.wait(DAY) == []
    assert (hand.version("a"), hand.step("a").state) == ("1.0.0", "UpToDate")


def cannot_be_rendered(hand: Hand, name: str, input_hash: str | None) -> None:
    states = dict(hand.world.states)
    states[key(name)] = structs.replace(states[key(name)], render_failed=input_hash)
    hand.world = structs.replace(hand.world, states=states)


@pytest.mark.rule("R2-38", "B25")
@pytest.mark.parametrize("rejected", [False, True])
def test_it_waits_and_says_so_if_what_was_healthy_before_cannot_be_rendered_any_more(rejected: bool) -> None:
    hand = left_behind("a")
    if rejected:
        hand.change(change_id="c1:rejected")
        hand.edit("a", wanted=OLD, gates=(REJECTED,))
        hand.edit("c", wanted=OLD)
    answers(hand, "a")
    cannot_be_rendered(hand, "a", OLD.input_hash)
    assert hand.go() == []
    assert (hand.gates("a"), hand.version("a")) == (["render-failed"], "1.1.0")
    cannot_be_rendered(hand, "a", None)
    assert hand.go() == ["a"]
    assert hand.progress("a").admitted == OLD


@pytest.mark.rule("R2-38", "B25")
def test_a_newer_change_does_not_wait_for_what_cannot_be_rendered_any_more() -> None:
    """It may mend it."""
    hand = left_behind("a")
    hand.want(NEWER)
    answers(hand, "a")
    cannot_be_rendered(hand, "a", OLD.input_hash)
    assert hand.go() == ["a", "c"]
    assert (hand.version("a"), hand.version("c")) == ("1.2.0", "1.2.0")


@pytest.mark.rule("R2-14", "R2-38", "B8", "B25")
def test_a_newer_change_goes_on_from_what_was_healthy_before() -> None:
    """It may come to the cluster after days, or fail; and what failed elsewhere is nothing to return to."""
    hand = left_behind("a")
    hand.want(NEWER)
    answers(hand, "a")
    assert hand.go() == ["a", "c"]
    assert hand.version("a") == "1.0.0"
    hand.healthy("c")
    assert hand.go() == []
    hand.healthy("a")
    assert hand.go() == ["a"]
    assert hand.version("a") == "1.2.0"
    hand.fail("a")
    hand.wait(DAY)
    assert hand.version("a") == "1.0.0"


@pytest.mark.rule("R2-14", "R2-38", "B8", "B25")
@pytest.mark.parametrize("newest", [False, True])
def test_it_goes_back_before_a_newer_rollout_that_leads_below_it(newest: bool) -> None:
    """Its gates are those of the way down from what was rejected: once it is back they are gone. Neither the rollout
    that began meanwhile nor one that waits behind that takes them for what somebody asked for."""
    hand = left_behind("a")
    lower = structs.replace(OLD, input_hash="h1:other-values")
    hand.want(lower)
    hand.edit("a", gates=(REJECTED,))
    assert hand.go() == ["c"]
    hand.healthy("c")
    hand.go()
    if newest:
        hand.want(structs.replace(OLD, input_hash="h1:yet-others"), "c1:" + "c" * 64)
        hand.go()
    answers(hand, "a")
    assert "a" in hand.go()
    assert hand.progress("a").admitted == OLD
    hand.edit("a", gates=())
    for _ in range(3):
        hand.healthy("a", "c")
        hand.go()
    assert {hand.progress(name).admitted for name in "ac"} == {hand.world.changes[0].candidates[0].wanted}
    assert hand.phase() == "Succeeded"


@pytest.mark.rule("R2-38", "B25")
def test_it_goes_back_also_when_what_came_after_it_has_succeeded_without_it() -> None:
    hand = left_behind("a")
    hand.want(NEWER)
    hand.go()
    hand.healthy("c")
    hand.go()
    assert hand.phase() == "Succeeded"
    answers(hand, "a")
    assert hand.go() == ["a"]
    assert hand.version("a") == "1.0.0"
    hand.healthy("a")
    assert hand.go() == ["a"]
    assert hand.version("a") == "1.2.0"


@pytest.mark.rule("R2-38", "B24")
def test_it_goes_back_in_the_slots_of_the_rollout_that_runs() -> None:
    hand = left_behind("a", "b")
    hand.change(policy=Policy(stages=stages(all={"max_concurrency": 1})))
    hand.want(NEWER)
    answers(hand, "a", "b")
    assert hand.go() == ["a"]
    assert (hand.gates("b"), hand.gates("c")) == (["concurrency"], ["concurrency"])
    for before, expected in ("ab", "ba", "ab", "bc"):
        hand.healthy(before)
        assert hand.go() == [expected]


@pytest.mark.rule("R2-38")
def test_what_went_back_to_what_a_newer_change_brings_it_is_not_that_ones_to_take_back() -> None:
    hand = left_behind("a")
    hand.change(change_id="c1:rejected")
    for name, wanted in (("a", OLD), ("c", NEWER)):
        hand.edit(name, wanted=wanted)
    assert hand.go() == ["c"]
    answers(hand, "a")
    assert hand.go() == ["a"]
    hand.healthy("a")
    hand.go()
    hand.fail("c")
    assert hand.go() == ["c"]
    assert (hand.version("a"), hand.step("a").state) == ("1.0.0", "UpToDate")


@pytest.mark.rule("R2-38", "B10")
def test_what_is_wanted_again_by_a_newer_change_does_not_go_back() -> None:
    hand = left_behind("a")
    hand.want(hand.world.changes[0].candidates[0].wanted)
    answers(hand, "a")
    assert hand.go() == ["c"]
    hand.healthy("c")
    hand.go()
    assert hand.phase() == "Succeeded"
    assert (hand.version("a"), hand.step("a").state) == ("1.1.0", "UpToDate")
