"""The next look: sleeping exactly until then makes progress, and nothing changes before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import ClusterFacts, Emergency, Limits, Removal, World
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.results.decisions import Gate
from fleetform.model.state import Attempt, PluginState
from support.held import held_by
from support.plans import CHANGE, HOUR, MINUTE, NIGHTS, NOON, OLD, OWNER, Hand, candidate, key, play, stages


def _retry() -> Hand:
    hand = play([candidate("x")], limits=Limits(patience=Patience(retries=2)))
    hand.go()
    hand.fail("x")
    hand.go()
    return hand


def _deadline() -> Hand:
    hand = play([candidate("x")], Policy(stages=stages(all={"deadline": HOUR}), on_failure="Continue"))
    hand.go()
    return hand


def _set_aside() -> Hand:
    hand = play([candidate("x")])
    hand.go()
    hand.edit("x", silent_since=NOON)
    return hand


def _left_out() -> Hand:
    """A silent cluster of an earlier stage, from the moment on at which the stage no longer waits for it."""
    policy = Policy(stages=stages(qa={}, prod={}))
    hand = play([candidate("a", "qa"), candidate("b", "qa", silent_since=NOON), candidate("x", "prod")], policy)
    hand.go()
    hand.healthy("a")
    hand.go()
    return hand


def _failed_slot() -> Hand:
    """Where failed clusters hold their slots, as in Open Cluster Management, the deadline frees them."""
    rule = {"failed_holds_slot": True, "deadline": HOUR, "max_concurrency": 1, "max_failures": 1}
    hand = play([candidate("a"), candidate("x")], Policy(stages=stages(all=rule)))
    hand.go()
    hand.fail("a")
    hand.go()
    return hand


def _spread() -> Hand:
    calendar = Calendar((Window("w", "0 12 * * *", 4 * HOUR, jitter=2 * HOUR),))
    return play([candidate("x", calendar=calendar)])


def _forced() -> Hand:
    """A breaking version waits for consent until it is forced (S56)."""
    return play([candidate("x", gates=(Gate("breaking", "it breaks", "agree"),), forced_at=NOON + 5 * HOUR)])


def _removal(calendar: Calendar) -> Hand:
    facts = ClusterFacts("acme", "x")
    removal = Removal(key("x"), OWNER, CHANGE, facts, calendar=calendar)
    world = World((), {key("x"): PluginState(OLD, OLD)}, (removal,), {"acme": Limits(max_deletes=5)})
    return Hand(world)


TIMED: dict[str, Callable[[], Hand]] = {
    **{gate: (lambda gate=gate: held_by(gate)) for gate in ("soak", "wait", "notice", "freeze", "window")},  # type: ignore[misc]
    "retry": _retry,
    "deadline": _deadline,
    "set aside": _set_aside,
    "left out": _left_out,
    "failed slot": _failed_slot,
    "spread": _spread,
    "forced": _forced,
    "removal in a window": lambda: _removal(NIGHTS),
    "removal after a freeze": lambda: _removal(Calendar(soft=(Window("f", begin=NOON - HOUR, end=NOON + HOUR),))),
}


def _says(hand: Hand, at: datetime) -> list[tuple[object, ...]]:
    found = plan(hand.world, at)
    return [
        (step.key, step.action, step.state, tuple(reason.gate for reason in step.reasons), step.progress)
        for step in found.steps
    ]


@pytest.mark.parametrize("what", sorted(TIMED))
def test_sleeping_exactly_until_the_next_look_makes_progress(what: str) -> None:
    hand = TIMED[what]()
    before = _says(hand, hand.now)
    look = hand.look().next_look
    assert look is not None
    assert look > hand.now
    assert _says(hand, look - timedelta(microseconds=1)) == before, "nothing changes before"
    assert _says(hand, look) != before, "something changes then"


@pytest.mark.parametrize(
    "what", ["soak", "wait", "notice", "freeze", "window", "spread", "left out", "failed slot", "forced"]
)
def test_a_cluster_that_only_time_holds_starts_exactly_then(what: str) -> None:
    hand = TIMED[what]()
    assert "x" in hand.sleep()


def test_nothing_to_wait_for_is_no_next_look() -> None:
    hand = play([candidate("x")])
    hand.go()
    hand.healthy("x")
    hand.go()
    assert hand.look().next_look is None


def test_a_plan_is_given_back_while_nothing_changed_and_nothing_is_due() -> None:
    hand = held_by("window")
    hand.go()
    first = hand.look()
    assert plan(hand.world, NOON + MINUTE, first) is first
    assert plan(hand.world, NOON + 3 * HOUR, first) is not first, "the window opens"
    assert plan(hand.world, NOON - MINUTE, first) is not first, "the clock was set back"
    assert plan(structs.replace(hand.world), NOON + MINUTE, first) is not first, "another world"


def test_a_plan_that_starts_something_is_made_anew() -> None:
    hand = play([candidate("x")])
    first = hand.look()
    assert plan(hand.world, NOON + MINUTE, first) is not first


def test_a_plan_is_not_given_back_over_the_end_of_a_window_or_an_emergency() -> None:
    open_now = play([candidate("x", calendar=NIGHTS, hold="busy")], now=NOON + 10 * HOUR)
    open_now.go()
    first = open_now.look()
    assert first.next_look is None or first.next_look > NOON + 20 * HOUR
    closed = plan(open_now.world, NOON + 15 * HOUR, first)
    assert [reason.gate for reason in next(iter(closed.steps)).reasons] == ["veto", "window"]
    urgent = Emergency("CVE", NOON + HOUR, frozenset({"ann"}))
    hand = play([candidate("x", calendar=NIGHTS, hold="busy")], emergency=urgent)
    hand.go()
    over = plan(hand.world, NOON + HOUR, hand.look())
    assert [reason.gate for reason in next(iter(over.steps)).reasons] == ["veto", "window"]


def test_an_attempt_of_another_owner_that_time_ends_frees_its_cluster() -> None:
    hand = held_by("in-flight")
    dns = key("x", "dns")
    stuck = PluginState(OLD, OLD, attempt=Attempt("h1:new", "", NOON - HOUR, NOON - HOUR))
    policy = Policy(stages=stages(all={"deadline": 30 * MINUTE}))
    others = structs.replace(hand.world.changes[1], policy=policy)
    hand.world = structs.replace(
        hand.world, changes=(hand.world.changes[0], others), states={**hand.world.states, dns: stuck}
    )
    assert hand.go() == ["x"]
