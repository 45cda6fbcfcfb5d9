"""Views: made step by step from what changed in the store, they say what one that is made from nothing says."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fleetform.app.explain import explain, explain_ahead
from fleetform.app.fleet import Fleet
from fleetform.app.get import get, kinds
from fleetform.app.plan import plan_answer
from fleetform.app.scope import Scope
from fleetform.app.why import why
from fleetform.loop.asking import RolloutRequest
from fleetform.loop.records import SOURCE
from fleetform.loop.viewing import View, Views
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.ports.store import Commit, Put, Store, UnavailableError
from fleetform.store.known_state import read_known_state
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader
from support.api import stored_fleet
from support.fleets import NOW, override
from support.plane import Files, Plane, TurnedClock
from web.test_answers import FILES

ADA = Identity("ada", owner=True)
# What is wrong with it depends on the time.
EXPIRING = override("expiring", "[{path: replicas, value: 7}]", "expires: 2026-11-01T12:45:00Z")
UPGRADE = FILES["definition.yaml"].replace("version: 1.0.0", "version: 1.1.0")


def said(view: View) -> Any:
    """Everything that there is to say."""
    everywhere = Scope(None)
    answers: list[AnswerRecord] = [get(view.fleet, everywhere, plural) for plural in kinds()]
    answers += [explain(view.fleet, each) for each in everywhere.plugins(view.fleet)]
    return msgspec.to_builtins([*answers, plan_answer(view.fleet, everywhere), why(view.fleet, everywhere)])


class World:
    """A control plane over a file, and what follows it."""

    def __init__(self, folder: Path) -> None:
        self.database = str(folder / "fleet.db")
        self.plane = Plane(Files({**FILES, "expiring.yaml": EXPIRING}), SqliteStore(self.database))
        self.followed = self.views()

    def views(self, clock: TurnedClock | None = None) -> Views:
        return Views(SqliteReader(self.database), stored_fleet, clock or self.plane.clock, self.database)

    def check(self) -> None:
        view = self.followed.current()
        assert view.fleet.state == read_known_state(SqliteReader(self.database), self.database)
        # One that still holds is of an earlier time, which its texts count from.
        fresh = self.views(TurnedClock(view.fleet.plan.at)).current()
        assert said(view) == said(fresh)


def edit_value(world: World, random: Random) -> None:
    files = world.plane.files.files
    files["preset.yaml"] = FILES["preset.yaml"].replace("value: 2", f"value: {random.randrange(90)}")


def other_clusters(world: World, random: Random) -> None:
    files = world.plane.files.files
    files["clusters.yaml"] = FILES["clusters.yaml"].replace("eu-1", random.choice(["eu-1", "au-1"]))


def publish(world: World, random: Random) -> None:
    world.plane.files.files["definition2.yaml"] = UPGRADE


def fail(world: World, random: Random) -> None:
    cluster = random.choice(["eu-1", "eu-2", "us-1"])
    world.plane.health.says[cluster] = random.choice(["Failed", "Healthy"])


def ask(world: World, random: Random) -> None:
    verb = random.choice(["approve", "pause", "resume", "abort", "retry", "rollback", "start"])
    request = RolloutRequest(verb=verb, name="web", who=ADA, stage="gold", emergency=True, reason="x")  # type: ignore[arg-type]
    world.plane.control.ask(request)


def wait(world: World, random: Random) -> None:
    world.plane.wait(minutes=random.choice([1, 30, 90]))


EVENTS = (edit_value, other_clusters, publish, fail, ask, wait)


@pytest.mark.parametrize("seed", range(6))
def test_step_by_step_is_the_same_as_from_nothing(tmp_path: Path, seed: int) -> None:
    random, world = Random(seed), World(tmp_path)
    world.plane.settle()
    world.check()
    for _ in range(12):
        random.choice(EVENTS)(world, random)
        # Between passes, too, where nothing has settled yet.
        for _ in range(random.randrange(3)):
            world.plane.control.run_pass()
            world.check()
        world.plane.settle()
        if random.random() < 0.2:
            # More than the store remembers may have happened.
            world.plane.store.compact(0)
        world.check()


def test_a_plan_holds_until_the_very_time_of_its_next_look(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.settle()
    publish(world, Random(0))
    world.plane.settle()
    view = world.followed.current()
    look = view.fleet.plan.next_look
    assert look is not None
    assert view.is_planned_for(look - timedelta(seconds=1))
    assert not view.is_planned_for(look)
    world.plane.clock.at = look
    assert world.followed.current().fleet.plan.at == look


def test_of_what_a_pass_has_to_do_at_once_no_other_plan_is_made(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.settle()
    fleet = world.followed.current().fleet
    now = fleet.plan.at
    due = fleet.planned_as(structs.replace(fleet.plan, next_look=now), fleet.state)
    assert View(1, "one", due, None).is_planned_for(now)
    assert View(1, "one", due, None).is_planned_for(now + timedelta(days=1))


def test_the_last_few_views_are_kept_for_those_who_turn_pages(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.settle()
    seen = [world.followed.current()]
    for verb in ("pause", "resume", "pause"):
        world.plane.control.ask(RolloutRequest(verb=verb, name="web", who=ADA))
        seen.append(world.followed.current())
    assert [world.followed.kept(each.tag) for each in seen] == [None, *seen[1:]]


def test_what_was_decided_holds_until_the_very_time_that_it_is_due(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.settle()
    view = world.followed.current(planned=False)
    assert view.due == datetime(2026, 11, 1, 12, 45, tzinfo=UTC), "an override expires then"
    world.plane.clock.at = view.due - timedelta(seconds=1)
    assert world.followed.current(planned=False) is view
    world.plane.clock.at += timedelta(seconds=1)
    assert world.followed.current(planned=False) is not view


def test_what_did_not_change_is_not_decided_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.settle()
    before = world.followed.current()
    world.plane.control.ask(RolloutRequest(verb="pause", name="web", who=ADA))
    after = world.followed.current()
    assert after.version > before.version
    assert after.fleet.decisions.clusters is before.fleet.decisions.clusters
    assert after.fleet.input is before.fleet.input


class _Forgetful(SqliteReader):
    """Much is stored, and all before it is forgotten, right when the files of a view are asked for."""

    store: Store | None = None

    def list(self, kind: str, *args: Any, **more: Any) -> Any:
        if kind == SOURCE and self.store is not None:
            store, self.store = self.store, None
            store.commit(Commit([Put(Ref("Other", "acme", "a"), b"1")]), NOW)
            store.compact(keep=0)
        return super().list(kind, *args, **more)


def test_files_that_the_store_has_forgotten_meanwhile_are_those_of_the_view_of_now(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.settle()
    reader = _Forgetful(world.database)
    views = Views(reader, stored_fleet, world.plane.clock, world.database)
    before = views.accepted()
    reader.store = world.plane.store
    after = views.accepted()
    assert after.view.version == before.view.version + 1
    assert (after.files, after.source) == (before.files, before.source)


def test_the_first_view_is_prepared_before_anybody_sees_it(tmp_path: Path) -> None:
    world, end = World(tmp_path), threading.Event()
    world.plane.settle()
    views, prepared = world.views(), list[Fleet]()
    views.follow(end, pytest.fail, every=0.01, prepare=prepared.append)
    first = views.current(planned=False)
    assert prepared == [first.fleet]
    world.plane.control.ask(RolloutRequest(verb="pause", name="web", who=ADA))
    views.need(world.plane.store.version())
    assert views.current(planned=False) is not first
    assert len(prepared) == 1
    end.set()


def test_a_view_that_cannot_be_prepared_is_shown_and_that_is_told(tmp_path: Path) -> None:
    world, end, told = World(tmp_path), threading.Event(), list[str]()
    world.plane.settle()
    views = world.views()

    def prepare(fleet: Fleet) -> None:
        raise KeyError("lost")

    views.follow(end, told.append, every=0.01, prepare=prepare)
    assert views.current(planned=False).version == world.plane.store.version()
    assert len(told) == 1
    assert "KeyError('lost')" in told[0]
    end.set()


def test_what_is_explained_ahead_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.plane.settle()
    fleet = world.followed.current(planned=False).fleet
    explain_ahead(fleet)
    plugin = next(iter(fleet.decisions.plugins.values()))

    def parsed(*_: object) -> None:
        raise AssertionError("a file was read again")

    monkeypatch.setattr("fleetform.load.locator.marks_of", parsed)
    assert explain(fleet, plugin).options


def test_one_that_follows_shows_what_is_new_without_being_asked(tmp_path: Path) -> None:
    world, end = World(tmp_path), threading.Event()
    views = world.views()
    views.follow(end, pytest.fail, every=0.01)
    with pytest.raises(UnavailableError, match="no files were accepted yet"):
        views.current()
    world.plane.settle()
    views.need(world.plane.store.version())
    first = views.current()
    assert first.version == world.plane.store.version()
    world.plane.control.ask(RolloutRequest(verb="pause", name="web", who=ADA))
    views.need(world.plane.store.version())
    assert views.current().version == world.plane.store.version(), "who has changed something sees it"
    end.set()
