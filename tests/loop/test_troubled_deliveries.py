"""Deliveries that do not get through: tried again, ended by what mends them, told to whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fleetform.loop.delivering import Deliveries
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import AdmittedState, DeliveryRecord, Destination, packed
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Attempt, Deployed, PluginState
from fleetform.ports.delivery import UNDER_WAY, Drift, Failure, Note, Parcel
from fleetform.ports.state import KnownState
from support.fleets import NOW

KEY: PluginKey = ("acme", "eu-1", "web")
OTHER: PluginKey = ("acme", "eu-2", "web")
OLD, NEW = Destination("directory", "old"), Destination("git", "https://git.example/x.git", "main", secret="acme/login")
THIRD = Destination("directory", "third")
DIGEST, BLOB = packed({"web.yaml": b"kind: ConfigMap\n"})


@dataclass
class Place:
    """A destination that may refuse."""

    broken: Failure | None = None
    there: set[PluginKey] = field(default_factory=set)
    calls: int = 0
    handed: dict[PluginKey, str] = field(default_factory=dict)

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        self.calls += 1
        self.handed = {each.key: each.input_hash for each in parcels} | dict.fromkeys(removals, "")
        if self.broken is not None:
            return dict.fromkeys([*(each.key for each in parcels), *removals], self.broken)
        self.handed = {}
        self.there |= {each.key for each in parcels}
        self.there -= set(removals)
        return {}

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        return ()


class World:
    """Two destinations, and plugins that are to be at one of them."""

    def __init__(self, *keys: PluginKey) -> None:
        self.places = {OLD: Place(), NEW: Place()}
        self.deliveries = Deliveries(lambda destination: self.places[destination], lambda digest: BLOB)
        self.at: datetime = NOW
        self.login: object = None
        self.destination = OLD
        self.extras = Extras()
        image = Image(KnownState(), {}, {}, {"v1:a": AdmittedState(DIGEST, "1.0.0")})
        state = PluginState(Deployed("1.0.0", input_hash="v1:a"), attempt=Attempt("v1:a", "web-1", NOW, NOW))
        self.image = image.with_plugins(dict.fromkeys(keys or (KEY,), state))
        self.keys = keys or (KEY,)

    def deliver(self, *removals: PluginKey, later: timedelta = timedelta(0)) -> DeliveryRecord | None:
        self.at += later
        self.image = self.deliveries.deliver(
            self.image,
            self.keys,
            dict.fromkeys(self.keys, self.destination),
            dict.fromkeys(removals, ""),
            lambda destination: self.login,
            self.at,
            self.extras,
        )
        return self.image.deliveries.get(self.keys[0])


def test_a_delivery_that_failed_rests_and_says_since_when_how_often_and_when_it_is_tried_next() -> None:
    world = World()
    world.places[OLD].broken = Failure("disk full", "make room")
    world.deliver()
    record = world.deliver(later=timedelta(seconds=1))
    assert world.places[OLD].calls == 1
    assert record is not None
    assert record.failing is not None
    assert (record.failing.tries, record.failing.since) == (1, NOW)
    assert (record.failing.where, record.failing.hint) == ("old", "make room")
    record = world.deliver(later=timedelta(seconds=4))
    assert record is not None
    assert record.failing is not None
    assert (record.failing.tries, record.failing.since, world.places[OLD].calls) == (2, NOW, 2)
    assert record.failing.retry_at == world.at + timedelta(seconds=10)


@pytest.mark.parametrize("mended", ["login", "destination", "content", "restart"])
def test_what_a_delivery_depends_on_ends_its_pause_when_it_changes(mended: str) -> None:
    world = World()
    world.places[OLD].broken = Failure("permission denied", "check the Secret")
    world.deliver()
    world.places[OLD].broken = None
    world.deliver()
    assert world.places[OLD].there == set(), "nothing has changed as far as anybody can tell: it rests"
    if mended == "login":
        world.login = {"password": "another"}
    elif mended == "destination":
        world.destination = NEW
    elif mended == "content":
        world.image = replace(world.image, states={"v1:b": AdmittedState(DIGEST, "1.0.1")})
        attempt = Attempt("v1:b", "web-2", NOW, NOW)
        world.image = world.image.with_plugins(
            {KEY: PluginState(Deployed("1.0.1", input_hash="v1:b"), attempt=attempt)}
        )
    else:
        world.deliveries = Deliveries(lambda destination: world.places[destination], lambda digest: BLOB)
    record = world.deliver()
    assert record is not None
    assert record.trouble is None
    assert world.places[world.destination].there == {KEY}


def test_what_came_of_a_delivery_on_its_way_is_taken_at_once_though_an_earlier_one_failed() -> None:
    world = World()
    world.places[OLD].broken = Failure("permission denied", "check the Secret")
    world.deliver()
    world.login, world.places[OLD].broken = {"password": "another"}, UNDER_WAY
    world.deliver()
    world.places[OLD].broken = None
    record = world.deliver()
    assert world.places[OLD].there == {KEY}, "the pause was that of the failure"
    assert record is not None
    assert record.trouble is None


def test_a_clock_that_was_turned_back_does_not_prolong_a_pause() -> None:
    world = World()
    world.places[OLD].broken = Failure("disk full", "make room")
    world.deliver()
    world.places[OLD].broken = None
    world.deliver(later=-timedelta(hours=1))
    assert world.places[OLD].there == {KEY}


def test_files_at_an_earlier_destination_that_cannot_be_removed_are_tried_again_and_told_of() -> None:
    world = World(KEY, OTHER)
    world.deliver()
    world.destination = NEW
    world.places[OLD].broken = Failure("read-only file system", "mount it again")
    record = world.deliver()
    assert record is not None
    assert (record.destination, record.leaves) == (NEW, (OLD,))
    assert record.failing is not None
    assert (record.failing.of, record.failing.where) == ("removal", "old")
    assert world.places[OLD].calls == 2, "one delivery for both plugins"
    world.deliver()
    assert world.places[OLD].calls == 2, "it rests"
    world.places[OLD].broken = None
    record = world.deliver(later=timedelta(minutes=1))
    assert record == DeliveryRecord(NEW, "v1:a", DIGEST, NOW)
    assert world.places[OLD].there == set()
    assert world.places[NEW].there == {KEY, OTHER}
    assert world.places[NEW].calls == 1, "what is there is not brought there again"


def test_a_plugin_that_comes_back_before_it_was_removed_keeps_its_files() -> None:
    world = World()
    world.deliver()
    world.destination = NEW
    world.places[OLD].broken = Failure("read-only file system", "mount it again")
    world.deliver()
    world.places[OLD].broken = None
    world.destination = OLD
    record = world.deliver()
    assert record is not None
    assert (record.destination, record.leaves, record.trouble) == (OLD, (), None)
    assert (world.places[OLD].there, world.places[NEW].there) == ({KEY}, set())


def test_an_earlier_destination_that_is_gone_for_good_is_given_up_after_a_day_and_that_is_told() -> None:
    world = World()
    world.deliver()
    world.destination = NEW
    world.places[OLD].broken = Failure("there is no repository", "check the address")
    for _ in range(120):
        world.deliver(later=timedelta(minutes=15))
    record = world.image.deliveries[KEY]
    assert (record.leaves, record.trouble) == ((), None)
    [event] = world.extras.events
    assert (event.event, event.reason) == ("LeftBehind", "its files stay at old: there is no repository")


def test_a_plugin_is_deleted_once_its_files_are_gone_everywhere() -> None:
    world = World()
    world.deliver()
    world.destination = NEW
    world.places[OLD].broken = Failure("read-only file system", "mount it again")
    world.deliver()
    world.deliver(KEY, later=timedelta(minutes=1))
    assert world.places[NEW].there == set()
    assert KEY in world.image.deliveries
    assert world.extras.events == []
    world.places[OLD].broken = None
    world.deliver(KEY, later=timedelta(minutes=1))
    assert world.image.deliveries == {}
    assert [each.event for each in world.extras.events] == ["Deleted"]
    assert world.places[OLD].there == set()


def test_a_removal_that_fails_rests_as_a_delivery_does() -> None:
    world = World()
    world.deliver()
    world.places[OLD].broken = Failure("read-only file system", "mount it again")
    world.deliver(KEY)
    world.deliver(KEY, later=timedelta(seconds=1))
    assert world.places[OLD].calls == 2


# ---- What is on its way beside the passes


class Under:
    """What is under way, as the world's places say."""

    def __init__(self, world: World) -> None:
        self.world = world

    def is_under_way(self, key: PluginKey, input_hash: str) -> bool:
        slow = [each for each in self.world.places.values() if each.broken is UNDER_WAY]
        return any(each.handed.get(key) == input_hash for each in slow)

    def is_busy(self) -> bool:
        return False


def beside(*keys: PluginKey) -> World:
    """A world whose deliveries go on beside the passes."""
    world = World(*keys)
    world.places[THIRD] = Place()
    world.deliveries = Deliveries(lambda destination: world.places[destination], lambda digest: BLOB, Under(world))
    return world


def there(world: World) -> list[bool]:
    """Whether the plugin is at the old place, the new one and a third."""
    return [KEY in world.places[each].there for each in (OLD, NEW, THIRD)]


def test_what_is_on_its_way_is_removed_from_there_if_it_is_to_be_elsewhere_by_then() -> None:
    world = beside()
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    record = world.deliver()
    assert record is not None
    assert (record.since, record.leaves) == (None, (NEW,)), "it may be there, and has not arrived"
    # It arrives, and nobody asks.
    world.places[NEW].there = {KEY}
    world.destination = OLD
    world.deliver()
    assert there(world) == [True, True, False], "a place that is slow holds up no other"
    world.places[NEW].broken = None
    assert world.deliver() == DeliveryRecord(OLD, "v1:a", DIGEST, NOW)
    assert there(world) == [True, False, False]


def test_what_is_on_its_way_to_another_place_stays_and_is_known_where_it_was_until_it_has_arrived() -> None:
    world = beside()
    before = world.deliver()
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    record = world.deliver()
    assert before is not None
    assert record == structs.replace(before, leaves=(NEW,))
    assert there(world) == [True, False, False]
    world.places[OLD].broken, world.places[NEW].broken = UNDER_WAY, None
    record = world.deliver()
    assert record is not None
    assert (record.destination, record.input_hash, record.leaves, record.trouble) == (NEW, "v1:a", (OLD,), None)
    calls = world.places[OLD].calls
    world.places[OLD].broken = None
    assert world.deliver() == DeliveryRecord(NEW, "v1:a", DIGEST, NOW)
    assert world.places[OLD].calls == calls + 1, "nothing rests that is only on its way"
    assert there(world) == [False, True, False]


def test_what_did_not_arrive_at_a_new_place_was_never_there() -> None:
    world = beside()
    before = world.deliver()
    assert before is not None
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    world.deliver()
    world.places[NEW].broken = Failure("there is no repository", "check the address")
    record = world.deliver()
    assert record is not None
    assert record.trouble is not None
    assert structs.replace(record, trouble=None) == before
    world.destination = OLD
    world.deliver(later=timedelta(minutes=1))
    assert world.places[NEW].calls == 2, "nobody looks there for leftovers of an address that was misspelt"


def test_what_failed_after_another_state_was_on_its_way_there_may_be_there() -> None:
    world = beside()
    world.deliver()
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    world.deliver()
    other = Attempt("v1:b", "web-2", NOW, NOW)
    state = PluginState(Deployed("1.0.1", input_hash="v1:b"), attempt=other)
    states = {**world.image.states, "v1:b": AdmittedState(DIGEST, "1.0.1")}
    world.image = replace(world.image, states=states).with_plugins({KEY: state})
    world.deliver()
    world.places[NEW].broken = Failure("the remote hung up", "wait")
    record = world.deliver()
    assert record is not None
    assert record.leaves == (NEW,)


def test_who_moves_on_while_something_is_on_its_way_leaves_nothing_behind_though_the_next_place_fails_first() -> None:
    world = beside()
    world.deliver()
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    world.deliver()
    world.places[NEW].there = {KEY}
    world.destination = THIRD
    world.places[THIRD].broken = Failure("disk full", "make room")
    record = world.deliver()
    assert record is not None
    assert (record.destination, record.leaves) == (OLD, (NEW,))
    calls = world.places[THIRD].calls
    world.deliver()
    assert world.places[THIRD].calls == calls, "it rests, whatever is on its way elsewhere"
    world.places[NEW].broken = world.places[THIRD].broken = None
    world.deliver(later=timedelta(minutes=1))
    assert there(world) == [False, False, True]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_to_be_gone_while_it_is_on_its_way_is_removed_from_both_places(restarted: bool) -> None:
    world = beside()
    world.deliver()
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    world.deliver()
    world.places[NEW].there, world.places[NEW].broken = {KEY}, None
    if restarted:
        world.deliveries = Deliveries(lambda destination: world.places[destination], lambda digest: BLOB)
    world.deliver(KEY)
    assert KEY not in world.image.deliveries
    assert there(world) == [False, False, False]


def test_a_plugin_that_ran_on_its_cluster_is_removed_there_if_it_was_on_its_way_into_a_branch() -> None:
    cluster = Destination("kubernetes", "acme/eu-1", namespace="web")
    world = beside()
    world.places[cluster] = Place()
    world.destination = cluster
    world.deliver()
    attempt = Attempt("v1:b", "web-2", NOW, NOW)
    state = PluginState(Deployed("1.0.1", input_hash="v1:b"), attempt=attempt)
    states = {**world.image.states, "v1:b": AdmittedState(DIGEST, "1.0.1")}
    world.image = replace(world.image, states=states).with_plugins({KEY: state})
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    world.deliver()
    world.places[NEW].broken = None
    world.deliver(KEY)
    assert world.places[cluster].there == set()
    assert KEY not in world.image.deliveries


def test_a_login_that_was_mended_while_the_old_one_was_tried_is_tried_at_once() -> None:
    world = beside()
    world.destination = NEW
    world.places[NEW].broken = UNDER_WAY
    world.deliver()
    world.login = {"password": "another"}
    world.deliver()
    world.places[NEW].broken = Failure("permission denied", "check the Secret")
    world.deliver()
    world.places[NEW].broken = None
    world.deliver()
    assert there(world) == [False, True, False]


def test_of_two_places_to_be_left_the_one_that_fails_rests_while_the_other_is_slow() -> None:
    world = beside()
    world.destination = THIRD
    world.deliver()
    record = world.image.deliveries[KEY]
    world.image = replace(world.image, deliveries={KEY: structs.replace(record, leaves=(NEW, OLD))})
    world.places[NEW].broken, world.places[OLD].broken = UNDER_WAY, Failure("read-only", "mount it again")
    world.deliver()
    calls = world.places[OLD].calls
    world.deliver()
    assert world.places[OLD].calls == calls
