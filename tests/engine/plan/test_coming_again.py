"""A change that comes again because what replaced it went back, and then goes back itself (S45, B24)."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.requests import abort, roll_back
from fleetform.engine.plan.rollouts import Policy
from fleetform.model.state import Deployed, PluginState
from support.plans import CHANGE, HOUR, NEW, NEWER, NEXT_CHANGE, OLD, Hand, candidate, key, play, stages

ONE_BY_ONE = Policy(stages=stages(qa={}, gold={"max_concurrency": 1}), on_failure="Rollback")
NEWEST = Deployed("1.3.0", "certs", "h1:newest")
THIRD_CHANGE = "c1:cccccccc33"


def on_q_and_g(*more: str, states: dict[str, PluginState] | None = None) -> Hand:
    """The change has come to q and g, and neither to h nor to more clusters that follow."""
    names = [candidate("q", "qa"), *(candidate(each, "gold") for each in ("g", "h", *more))]
    hand = play(names, ONE_BY_ONE, states={key(name): state for name, state in (states or {}).items()})
    assert hand.go() == ["q"]
    hand.healthy("q")
    assert hand.go() == ["g"]
    hand.healthy("g")
    return hand


def is_replaced(hand: Hand, wanted: Deployed = NEWER, change: str = NEXT_CHANGE, reaches: str = "qg") -> None:
    """By a change that fails on the last cluster that it reaches, and goes back."""
    hand.want(wanted, change)
    hand.change(supersede=True)
    for name in reaches:
        assert hand.go() == [name]
        hand.change(supersede=False)
        if name != reaches[-1]:
            hand.healthy(name)
    goes_back(hand, reaches[-1], sorted(reaches))


def goes_back(hand: Hand, failing: str, returning: list[str]) -> None:
    hand.fail(failing)
    left = set(returning)
    while started := hand.go():
        left -= {*started}
        hand.healthy(*started)
    assert left == set()
    assert (hand.phase(), hand.rollout.is_open) == ("Halted", False)


def comes_again(hand: Hand, wanted: Deployed = NEW, change: str = CHANGE, starts: str = "h") -> None:
    hand.want(wanted, change)
    assert hand.go() == [starts]
    assert hand.rollout.name.endswith(("-2", "-3"))


def versions(hand: Hand, names: str = "qgh") -> list[str | None]:
    return [hand.version(each) for each in names]


@pytest.mark.rule("S45", "B24")
@pytest.mark.parametrize("reaches", ["q", "qg"])
def test_it_takes_back_what_has_it_from_before_to_what_was_there_before_it(reaches: str) -> None:
    """Wherever what replaced it had come to."""
    hand = on_q_and_g()
    is_replaced(hand, reaches=reaches)
    assert versions(hand) == [NEW.version, NEW.version, OLD.version]
    comes_again(hand)
    goes_back(hand, "h", ["g", "h", "q"])
    assert versions(hand) == [OLD.version] * 3
    assert [hand.gates(each) for each in "qgh"] == [["rejected"]] * 3


@pytest.mark.rule("S45", "B24")
def test_it_does_so_however_many_changes_came_and_went_meanwhile() -> None:
    hand = on_q_and_g()
    is_replaced(hand)
    is_replaced(hand, NEWEST, THIRD_CHANGE, reaches="q")
    comes_again(hand)
    goes_back(hand, "h", ["g", "h", "q"])
    assert versions(hand) == [OLD.version] * 3


@pytest.mark.rule("S45", "B24")
def test_it_does_so_though_it_was_replaced_twice() -> None:
    hand = on_q_and_g("i")
    is_replaced(hand)
    comes_again(hand)
    hand.healthy("h")
    is_replaced(hand, NEWEST, THIRD_CHANGE, reaches="q")
    comes_again(hand, starts="i")
    goes_back(hand, "i", ["g", "h", "i", "q"])
    assert versions(hand, "qghi") == [OLD.version] * 4


@pytest.mark.rule("S45", "B24")
def test_changes_that_replaced_one_another_come_again_and_go_back_one_after_the_other() -> None:
    hand = on_q_and_g()
    hand.want(NEWER)
    hand.change(supersede=True)
    assert hand.go() == ["q"]
    hand.change(supersede=False)
    hand.healthy("q")
    is_replaced(hand, NEWEST, THIRD_CHANGE, reaches="q")
    assert versions(hand) == [NEWER.version, NEW.version, OLD.version]
    comes_again(hand, NEWER, NEXT_CHANGE, starts="g")
    goes_back(hand, "g", ["g", "q"])
    assert versions(hand) == [NEW.version, NEW.version, OLD.version]
    comes_again(hand)
    goes_back(hand, "h", ["g", "h", "q"])
    assert versions(hand) == [OLD.version] * 3


@pytest.mark.rule("S45", "B24", "S50")
@pytest.mark.parametrize("succeeds", [False, True])
def test_somebody_may_roll_it_back_also_once_it_has_succeeded(succeeds: bool) -> None:
    hand = on_q_and_g()
    is_replaced(hand)
    comes_again(hand)
    if succeeds:
        hand.healthy("h")
        hand.go()
        assert hand.phase() == "Succeeded"
    hand.ask(roll_back(hand.rollout))
    while started := hand.go():
        hand.healthy(*started)
    assert versions(hand) == [OLD.version] * 3


@pytest.mark.rule("S45", "B24", "S50")
def test_one_that_was_aborted_and_comes_again_once_a_fix_went_back_takes_back_what_it_had_brought() -> None:
    hand = on_q_and_g()
    hand.ask(abort(hand.rollout, hand.now))
    is_replaced(hand)
    hand.want(NEW, CHANGE)
    hand.change(rejected=frozenset())
    assert hand.go() == ["h"]
    goes_back(hand, "h", ["g", "h", "q"])
    assert versions(hand) == [OLD.version] * 3


@pytest.mark.rule("S45", "B24", "R2-38")
@pytest.mark.parametrize("newer", [False, True])
def test_a_cluster_that_does_not_answer_then_returns_when_it_does(newer: bool) -> None:
    """Also while a newer change is on its way, which goes on from there."""
    hand = on_q_and_g()
    is_replaced(hand)
    comes_again(hand)
    hand.edit("g", silent_since=hand.now - HOUR)
    hand.fail("h")
    assert hand.go() == ["q", "h"]
    hand.healthy("q", "h")
    hand.go()
    assert hand.phase() == "Halted"
    if newer:
        hand.want(NEWEST, THIRD_CHANGE)
        assert hand.go() == ["q"]
    hand.edit("g", silent_since=None)
    assert hand.go() == ["g"]
    assert hand.version("g") == OLD.version
    attempt = hand.progress("g").attempt
    assert attempt is not None
    assert (attempt.rollout, attempt.back) == ("certs-aaaaaaaa-2", True)


@pytest.mark.rule("S45", "B24")
def test_what_failed_there_with_another_change_is_not_told_of_its_way_back() -> None:
    hand = on_q_and_g()
    is_replaced(hand)
    comes_again(hand)
    hand.fail("q")
    assert hand.progress("g").failure == "it failed"
    assert hand.go() == ["q", "h"]
    hand.healthy("h")
    assert hand.go() == ["g"]
    assert [hand.progress(each).failure for each in "qg"] == ["it failed", ""]


@pytest.mark.rule("S45", "B24", "B16")
def test_it_does_so_where_its_cluster_was_read_anew_meanwhile() -> None:
    first, then = (Deployed("1.1.0", "certs", f"h1:{'a' * 64}.{each * 32}") for each in "12")
    hand = play([candidate("q", "qa"), candidate("g", "gold", wanted=first), candidate("h", "gold")], ONE_BY_ONE)
    for name in "qg":
        assert hand.go() == [name]
        hand.healthy(name)
    is_replaced(hand, reaches="q")
    hand.change(change_id=CHANGE)
    for name, wanted in (("q", NEW), ("g", then), ("h", NEW)):
        hand.edit(name, wanted=wanted)
    assert hand.go() == ["g", "h"]
    hand.healthy("g")
    goes_back(hand, "h", ["g", "h", "q"])
    assert versions(hand) == [OLD.version] * 3


@pytest.mark.rule("S45", "B24", "R2-14")
def test_it_goes_back_before_anything_newer_also_where_it_started_nothing_that_returns() -> None:
    """h was never healthy, so that only what has it from before has something to go back to."""
    hand = on_q_and_g(states={"h": PluginState(OLD)})
    is_replaced(hand)
    comes_again(hand)
    hand.want(NEWEST, THIRD_CHANGE)
    hand.go()
    hand.fail("h")
    assert hand.go() == ["q", "g"]
    assert hand.phase() == "RollingBack"


@pytest.mark.rule("S45", "B24", "R2-38")
def test_what_was_installed_by_it_stays() -> None:
    hand = on_q_and_g(states={"g": PluginState()})
    is_replaced(hand, reaches="q")
    comes_again(hand)
    goes_back(hand, "h", ["h", "q"])
    assert versions(hand) == [OLD.version, NEW.version, OLD.version]


@pytest.mark.rule("S45", "B24")
@pytest.mark.parametrize("waits", [False, True])
def test_a_change_that_had_succeeded_is_not_remembered_to_be_taken_back(waits: bool) -> None:
    """It is what was admitted, and never comes again by itself."""
    hand = on_q_and_g()
    hand.go()
    hand.healthy("h")
    hand.go()
    assert hand.phase() == "Succeeded"
    if waits:
        hand.want(NEWER)
        hand.edit("q", hold="not today")
        hand.go()
        hand.edit("q", hold=None)
    is_replaced(hand)
    place = hand.progress("g").enrolment
    assert place is not None
    assert place.earlier is None


@pytest.mark.rule("S45", "B24")
def test_what_a_state_of_earlier_does_not_say_was_there_is_told_as_that() -> None:
    hand = on_q_and_g()
    is_replaced(hand, reaches="q")
    states = dict(hand.world.states)
    for name in "qg":
        place = states[key(name)].enrolment
        assert place is not None
        states[key(name)] = structs.replace(states[key(name)], enrolment=structs.replace(place, earlier=None))
    hand = Hand(structs.replace(hand.world, states=states), hand.now)
    comes_again(hand)
    hand.fail("h")
    assert hand.go() == ["h"]
    (reason,) = hand.step("g").reasons
    assert reason.message == "nothing is known of certs from before this change: there is nothing to roll back to"
    assert versions(hand) == [NEW.version, NEW.version, OLD.version]


@pytest.mark.rule("B33")
def test_where_changes_replace_one_another_for_ever_records_do_not_grow_for_ever() -> None:
    hand = on_q_and_g()
    hand.change(supersede=True)
    for number in range(6):
        hand.want(Deployed(f"2.{number}.0", "certs", f"h1:{number}"), f"c1:{number}{number}0000000")
        assert hand.go() == ["q"]
        hand.healthy("q")
    places = [hand.progress("q").enrolment]
    while (last := places[-1]) is not None:
        places.append(last.earlier)
    assert [each.target.version for each in places if each is not None] == ["2.5.0", "2.4.0", "2.3.0", "2.2.0"]
