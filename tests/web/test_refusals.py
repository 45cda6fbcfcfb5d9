"""Tokens that are refused stand in the audit log, and whoever tries many cannot fill it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fleetform.store.audit_chain import first_broken
from fleetform.web.refusals import Refusals
from support.api import ServedPlane
from support.fleets import BASE
from web.test_requests import Loop


class World:
    """A clock, what is due on it, and what was told."""

    def __init__(self) -> None:
        self.now = 5.0
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.told: list[str] = []
        self.refusals = Refusals(self.told.append, lambda: self.now, self.later)

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        self.due.append((self.now + seconds, do))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        ready, self.due = [each for each in self.due if each[0] <= self.now], [e for e in self.due if e[0] > self.now]
        for _, do in ready:
            do()


def test_the_first_is_told_at_once_and_the_next_ones_together() -> None:
    world = World()
    world.refusals.add("10.0.0.7", "nobody knows the token")
    assert world.told == ["a token was refused, from 10.0.0.7: nobody knows the token"]
    for number in range(30):
        world.refusals.add(f"10.0.0.{number}", "the token of ada expired 2026-11-01")
    assert len(world.told) == 1
    world.wait(60)
    assert world.told[1:] == [
        "30 tokens were refused, from 10.0.0.0, 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4 and 25 more: "
        "the token of ada expired 2026-11-01"
    ]


def test_a_day_of_trying_is_a_few_entries_of_bounded_length() -> None:
    world = World()
    for second in range(24 * 3600):
        if second % 10 == 0:
            world.refusals.add(f"2001:db8::{second:x}", "x" * 5000 + str(second))
        world.wait(1)
    assert 20 < len(world.told) < 40
    assert max(map(len, world.told)) < 2000
    counted = sum(int(each.split()[0].replace(",", "")) for each in world.told[1:]) + 1
    assert counted > 8000, "all but those of the last hour are counted"


def test_after_a_quiet_time_the_next_one_is_told_at_once_again() -> None:
    world = World()
    for _ in range(3):
        world.refusals.add("10.0.0.7", "no")
        world.wait(60)
    world.wait(3 * 3600)
    before = len(world.told)
    world.refusals.add("10.0.0.8", "no")
    assert world.told[before:] == ["a token was refused, from 10.0.0.8: no"]


def test_a_wrong_token_stands_in_the_audit_log_and_no_token_does_not(tmp_path: Path) -> None:
    served = ServedPlane(tmp_path, BASE)
    served.plane.settle()
    assert served.send("GET", "/api/v1/plugins", token=None).status_code == 401
    assert served.plane.store.audit() == []
    assert served.send("GET", "/api/v1/plugins", token="correct-horse").status_code == 401
    assert served.send("GET", "/api/v1/plugins", token="correct-horse").status_code == 401
    [entry] = served.plane.store.audit()
    deed = entry.deed
    assert (deed.actor, deed.verb, deed.subject, deed.outcome) == ("unknown", "sign-in", "api", "denied")
    assert deed.detail.endswith(": nobody knows the token")
    assert "correct-horse" not in str(entry)
    assert first_broken(served.plane.store.audit()) is None


def test_it_is_handed_to_the_loop_which_alone_writes() -> None:
    loop = Loop(lambda request: None)
    loop.to_loop.refused("a token was refused")
    loop.to_loop.look()
    assert loop.looks.wait(10)
    assert loop.refused == ["a token was refused"]
    loop.relay.end()
