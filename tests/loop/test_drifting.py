"""Looking for drift: whose turn it is, so that every plugin is looked at within the time that is stated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from fleetform.loop.drifting import DriftSearch
from fleetform.loop.image import Image
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed, Installer, PluginState
from fleetform.ports.delivery import Drift
from fleetform.ports.state import KnownState
from support.fleets import NOW
from support.plane import TurnedClock

FOLDER, OTHER_FOLDER = Destination("directory", "out"), Destination("directory", "elsewhere")
BRANCH, OTHER_BRANCH = (Destination("git", f"https://git.example/{name}.git", "main") for name in ("x", "y"))


class Fleet:
    """What was delivered where, and a search for drift there, a minute after the other; `looked_at` is what each run
    asked of each destination."""

    def __init__(self, most: int, **places: Destination) -> None:
        state = PluginState(
            Deployed("1.0.0", "web", "v1:a", None, Installer(Ref("PluginPreset", "acme", "web"), "", ""))
        )
        self._state = state
        self.clock = TurnedClock()
        self._around = SimpleNamespace(
            clock=self.clock, store=SimpleNamespace(version=lambda: 1), deliverer=self._deliverer
        )
        self.image = Image(KnownState(), {}, {}, {})
        self.deliver(places)
        self.search = DriftSearch(self, most)  # type: ignore[arg-type]
        self.looked_at: list[dict[Destination, list[str]]] = []

    @property
    def around(self) -> Any:
        return self._around

    def deliver(self, places: Mapping[str, Destination]) -> None:
        """Plugins are at these places, and no others are anywhere."""
        records = {("acme", "eu-1", name): DeliveryRecord(at, "v1:a", "", NOW) for name, at in places.items()}
        states: dict[PluginKey, PluginState | None] = dict.fromkeys(records, self._state)
        self.image = Image(KnownState(), {}, records, {}).with_plugins(states)

    def decide(self, now: object) -> object:
        return self

    def commit(self, *_: object) -> None:
        pass

    def _deliverer(self, destination: Destination) -> Any:
        def drift(keys: Sequence[PluginKey], beside: Collection[str]) -> Sequence[Drift]:
            assert destination not in self.looked_at[-1], "a place is looked at once in a run"
            self.looked_at[-1][destination] = [key[2] for key in keys]
            return []

        return SimpleNamespace(drift=drift)

    def run(self, everything: bool = False) -> dict[Destination, list[str]]:
        self.looked_at.append({})
        self.search.run(everything)
        self.clock.at += timedelta(minutes=1)
        return self.looked_at[-1]


def named(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:03}" for number in range(count)]


def test_a_small_fleet_in_folders_is_looked_at_in_every_run() -> None:
    names = named("a", 4)
    for most in (4, 5):
        fleet = Fleet(most, **dict.fromkeys(names, FOLDER))
        assert [sorted(fleet.run()[FOLDER]) for _ in range(5)] == [names] * 5


@pytest.mark.parametrize("most", [1, 3, 4, 9])
def test_every_plugin_in_a_folder_is_looked_at_within_a_round(most: int) -> None:
    names = named("a", 10)
    fleet = Fleet(most, **dict.fromkeys(names, FOLDER))
    runs = -(-10 // most)
    looks = [fleet.run()[FOLDER] for _ in range(4 * runs)]
    for first in range(3 * runs):
        seen = [name for look in looks[first : first + runs] for name in look]
        assert set(seen) == set(names), "any so many runs in a row are a round"
    assert all(len(look) == len(set(look)) == most for look in looks), "each run looks at as many as it may"


def test_every_plugin_in_a_branch_is_asked_for_in_every_run_as_branches_are_looked_at_beside_it() -> None:
    names = named("a", 10)
    fleet = Fleet(3, **dict.fromkeys(names, BRANCH))
    assert [fleet.run()[BRANCH] for _ in range(3)] == [names] * 3


def test_in_a_mixed_fleet_no_place_waits_for_another() -> None:
    many, few, last = named("a", 20), named("b", 6), named("c", 5)
    places = dict.fromkeys(many, BRANCH) | dict.fromkeys(few, FOLDER) | dict.fromkeys(last, OTHER_BRANCH)
    fleet = Fleet(4, **places, z=OTHER_FOLDER)
    looks = [fleet.run() for _ in range(22)]
    for number in range(22):
        assert looks[number][BRANCH] == many
        assert looks[number][OTHER_BRANCH] == last
    for first in range(20):
        two = [look.get(place, []) for look in looks[first : first + 2] for place in (FOLDER, OTHER_FOLDER)]
        assert {name for names in two for name in names} == {*few, "z"}, "seven are two runs of four"


def test_a_round_goes_on_where_plugins_come_and_go() -> None:
    fleet = Fleet(3, **dict.fromkeys(named("a", 7), FOLDER))
    assert fleet.run()[FOLDER] == ["a000", "a001", "a002"]
    fleet.deliver(dict.fromkeys(["a001", "a005", "a006", "b"], FOLDER))
    assert fleet.run()[FOLDER] == ["a005", "a006", "b"]
    assert fleet.run()[FOLDER] == ["a001", "a005", "a006"]
    fleet.deliver({})
    assert fleet.run() == {}
    fleet.deliver({"a": FOLDER})
    assert fleet.run()[FOLDER] == ["a"]


def test_all_of_it_is_looked_at_in_one_run_where_that_is_asked_for() -> None:
    folders, branches = named("a", 7), named("b", 7)
    fleet = Fleet(3, **dict.fromkeys(folders, FOLDER), **dict.fromkeys(branches, BRANCH))
    fleet.run()
    assert fleet.run(everything=True) == {FOLDER: folders, BRANCH: branches}


def test_what_did_not_arrive_is_not_looked_at() -> None:
    fleet = Fleet(3, a=FOLDER, b=BRANCH)
    waiting = {key: structs.replace(record, input_hash="") for key, record in fleet.image.deliveries.items()}
    fleet.image = Image(fleet.image.known, {}, waiting, {})
    assert fleet.run() == {}
