"""Left behind: clusters that could not be reached while their rollout went back."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.rollouts import Policy
from fleetform.model.results.decisions import Gate
from support.plans import DAY, HOUR, NEWER, OLD, Hand, candidate, play, stages

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


@pytest.mark.rule("B8", "B25")
def test_a_newer_change_takes_it_along() -> None:
    hand = left_behind("a")
    hand.want(NEWER)
    answers(hand, "a")
    assert hand.go() == ["a", "c"]
    assert hand.version("a") == "1.2.0"
