"""Crowds by themselves: what is counted of members that nothing tells apart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fleetform.engine.plan.crowd import Crowd, CrowdStage, Waiting
from fleetform.engine.plan.stages import DONE, SOAKING, StageRule
from fleetform.engine.plan.windows.calendar import ALWAYS
from support.plans import HOUR, MINUTE, NOON

MEMBERS = tuple((rank, f"c{rank}") for rank in (1, 2, 4, 7))


def waiting(takes: timedelta = 10 * MINUTE, members: tuple[tuple[int, str], ...] = MEMBERS) -> Waiting:
    return Waiting(ALWAYS, False, takes, members)


STAGE = CrowdStage(
    (waiting(), waiting(MINUTE, ((3, "c3"),))),
    ((NOON, 2), (NOON + MINUTE, 3)),
    ((NOON - HOUR, 5), (NOON, 6)),
    failed=4,
)


def test_members_are_those_that_wait_are_on_their_way_healthy_and_failed() -> None:
    assert (STAGE.left, STAGE.flying, STAGE.members) == (5, 5, 5 + 5 + 11 + 4)
    assert CrowdStage().members == 0


@pytest.mark.parametrize(
    ("soak", "emergency", "after", "done", "soaking", "until"),
    [
        (timedelta(0), False, timedelta(0), 11, 0, None),
        (HOUR, False, timedelta(0), 5, 6, HOUR),
        (HOUR, False, -MINUTE, 0, 11, HOUR),
        (HOUR, False, HOUR, 11, 0, None),
        (HOUR, False, HOUR - MINUTE, 5, 6, HOUR),
        (HOUR, True, timedelta(0), 11, 0, None),
    ],
)
def test_those_that_are_healthy_soak_as_long_as_the_stage_asks(
    soak: timedelta, emergency: bool, after: timedelta, done: int, soaking: int, until: timedelta | None
) -> None:
    counts, last = STAGE.soaks(StageRule("all", soak=soak), emergency, NOON + after)
    assert counts == {DONE: done, SOAKING: soaking}
    assert last == (NOON + until if until is not None else None)


def test_what_comes_to_its_end_by_now_is_healthy_since_now() -> None:
    assert STAGE.landed(NOON - MINUTE) is STAGE
    here = STAGE.landed(NOON)
    assert (here.flights, here.healthy[-1]) == (((NOON + MINUTE, 3),), (NOON, 2))
    assert STAGE.landed(NOON + MINUTE).flights == ()
    assert STAGE.landed(NOON + MINUTE).healthy[-1] == (NOON + MINUTE, 5)


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ({0: {1}}, [(2, 4, 7), (3,)]),
        ({0: {1, 2}}, [(4, 7), (3,)]),
        ({0: {2}}, [(1, 4, 7), (3,)]),
        ({0: {1, 7}}, [(2, 4), (3,)]),
        ({0: {1, 2, 4, 7}}, [(3,)]),
        ({0: {4}, 1: {3}}, [(1, 2, 7)]),
        ({0: {1, 2, 4, 7}, 1: {3}}, []),
    ],
)
def test_those_that_start_wait_no_longer_whoever_they_are(
    taken: dict[int, set[int]], left: list[tuple[int, ...]]
) -> None:
    here = STAGE.started(taken, NOON)
    assert [tuple(rank for rank, _ in each.members) for each in here.waiting] == left
    slow, fast = len(taken.get(0, ())), len(taken.get(1, ()))
    ends = {NOON: 2, NOON + MINUTE: 3 + fast, NOON + 10 * MINUTE: slow}
    assert dict(here.flights) == {at: count for at, count in ends.items() if count}
    assert list(here.flights) == sorted(here.flights)


def test_the_next_landing_is_the_first_of_any_stage() -> None:
    later = CrowdStage(flights=((NOON + MINUTE, 1),))
    assert Crowd((later, CrowdStage(), STAGE), {}).next_landing == NOON
    assert Crowd((CrowdStage(), later), {}).next_landing == NOON + MINUTE
    assert Crowd((CrowdStage(),), {}).next_landing is None
    assert [each.flying for each in Crowd((later, STAGE), {}).landed(NOON).stages] == [1, 3]
