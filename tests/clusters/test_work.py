"""Work on clusters beside the passes: one piece at a time, and nobody waits for a cluster that does not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from fleetform.clusters.work import ClusterKey, Clusters, Load, Outcome, Waiting
from fleetform.outside.kubernetes.access import Access, AccessError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError, InvalidError

ONE, OTHER = ("acme", "one"), ("acme", "other")
_PATIENCE = 30.0


class Asked(Client):
    """A client of a cluster that answers as the test says; it opens no connection."""

    def __init__(self, access: Access, questions: list[str], answers: Callable[[], None]) -> None:
        super().__init__(access)
        self._questions, self._answers = questions, answers

    def raw(self, method: str, path: str, *rest: Any, **more: Any) -> bytes:
        self._questions.append(path)
        self._answers()
        return b"{}"


class World:
    """Clusters that answer unless they are told not to; time goes by when the test says so."""

    def __init__(self, **threads: int) -> None:
        self.silent: set[str] = set()
        self.questions: list[str] = []
        self.now = 0.0
        self.done = Event()
        self.clusters = Clusters(self.done.set, self.connect, clock=lambda: self.now, **threads)

    def connect(self, access: Access) -> Client:
        def answers() -> None:
            if access.server in self.silent:
                raise BusyError(f"{access.server} does not answer")

        return Asked(access, self.questions, answers)

    def begin(self, cluster: ClusterKey, work: Callable[[Client], Waiting[Any]], id_: str = "work") -> Outcome | None:
        access = Access(f"https://{cluster[1]}")
        return self.clusters.outcome(cluster, access, ("slot", cluster), id_, work)

    def outcome(self, cluster: ClusterKey, work: Callable[[Client], Waiting[Any]], id_: str = "work") -> Outcome:
        """What comes of it, waited for."""
        while True:
            self.done.clear()
            found = self.begin(cluster, work, id_)
            if found is not None:
                return found
            assert self.done.wait(_PATIENCE)


@pytest.fixture
def world() -> Iterator[World]:
    found = World()
    yield found
    found.clusters.close()


def saying(text: str) -> Callable[[Client], Waiting[str]]:
    def work(client: Client) -> Waiting[str]:
        yield from ()
        client.raw("GET", f"/{text}")
        return text

    return work


def test_what_came_of_it_is_told_once(world: World) -> None:
    assert world.begin(ONE, saying("a")) is None
    assert world.outcome(ONE, saying("a")) == Outcome("a")
    assert world.begin(ONE, saying("a")) is None
    assert world.outcome(ONE, saying("a")) == Outcome("a")


def test_what_is_not_done_is_counted_with_how_long_it_has_been_wanted(world: World) -> None:
    held, at_work = Event(), Event()

    def waiting(client: Client) -> Waiting[str]:
        at_work.set()
        assert held.wait(_PATIENCE)
        yield from ()
        return "done"

    assert world.clusters.load() == Load()
    assert world.begin(ONE, waiting) is None
    assert at_work.wait(_PATIENCE)
    world.now += 5
    world.silent.add("https://other")
    assert world.outcome(OTHER, saying("a")).unreachable
    assert world.clusters.load() == Load(waiting=1, oldest=5.0, unreachable=1)
    held.set()
    assert world.outcome(ONE, waiting) == Outcome("done")
    assert world.clusters.load() == Load(unreachable=1)


def test_another_piece_of_work_takes_the_place_of_the_one_before(world: World) -> None:
    """What came of the one that nobody wants any more is never told."""
    assert world.outcome(ONE, saying("a"), "a") == Outcome("a")
    assert world.begin(ONE, saying("a"), "a") is None
    assert world.outcome(ONE, saying("b"), "b") == Outcome("b")
    assert world.begin(ONE, saying("a"), "a") is None


def test_a_refusal_is_an_outcome_and_a_bug_is_raised_where_the_work_was_asked_for(world: World) -> None:
    def refused(client: Client) -> Waiting[None]:
        yield from ()
        raise InvalidError("no")

    def wrong(client: Client) -> Waiting[None]:
        yield from ()
        raise ZeroDivisionError

    found = world.outcome(ONE, refused)
    assert str(found.error) == "no"
    assert not found.unreachable
    with pytest.raises(ZeroDivisionError):
        world.outcome(OTHER, wrong)


@pytest.mark.rule("B25")
def test_one_that_does_not_answer_is_asked_one_small_question_and_not_again_before_a_pause(world: World) -> None:
    world.silent.add("https://one")
    found = world.outcome(ONE, saying("a"))
    assert found.unreachable
    assert world.questions == ["/version"]
    assert world.outcome(ONE, saying("b"), "b").unreachable
    assert world.questions == ["/version"]
    world.silent.clear()
    world.now += 2
    assert world.outcome(ONE, saying("b"), "b") == Outcome("b")
    assert world.questions == ["/version", "/version", "/b"]


def test_pauses_grow_up_to_a_minute(world: World) -> None:
    world.silent.add("https://one")
    pauses = []
    for number in range(9):
        assert world.outcome(ONE, saying("a"), str(number)).unreachable
        before = len(world.questions)
        begun = world.now
        while len(world.questions) == before:
            world.now += 1
            world.outcome(ONE, saying("a"), "again")
        pauses.append(world.now - begun)
        world.now += 100
    assert pauses[0] <= 2
    assert 60 <= max(pauses) <= 76


def test_another_access_counts_at_once(world: World) -> None:
    world.silent.add("https://one")
    assert world.outcome(ONE, saying("a")).unreachable
    found = None
    while found is None:
        world.done.clear()
        found = world.clusters.outcome(ONE, Access("https://elsewhere"), "slot", "id", saying("a"))
        assert found is not None or world.done.wait(_PATIENCE)
    assert found == Outcome("a")


def test_an_access_that_is_none_is_said_at_once(world: World) -> None:
    found = world.clusters.outcome(ONE, AccessError("no kubeconfig"), "slot", "id", saying("a"))
    assert found is not None
    assert found.unreachable


def test_one_that_hangs_keeps_no_thread_of_the_others() -> None:
    """With one thread for work and one for questions."""
    world = World(threads=1, asking_threads=1)
    answers = Event()
    world.outcome(OTHER, saying("a"))

    def hangs() -> None:
        answers.wait(_PATIENCE)

    def hanging(access: Access) -> Client:
        return Asked(access, world.questions, hangs)

    world.clusters._connect = hanging
    assert world.begin(ONE, saying("never")) is None
    for number in range(3):
        assert world.outcome(OTHER, saying("b"), str(number)) == Outcome("b")
    answers.set()
    assert world.outcome(ONE, saying("never")) == Outcome("never")
    world.clusters.close()


def test_work_that_waits_keeps_no_thread(world: World) -> None:
    world = World(threads=1, asking_threads=1)
    steps: list[str] = []

    def waiting(client: Client) -> Waiting[str]:
        steps.append("begun")
        yield 5.0
        steps.append("went on")
        return "done"

    assert world.begin(ONE, waiting) is None
    assert world.outcome(OTHER, saying("a")) == Outcome("a")
    while steps != ["begun"]:
        assert world.outcome(OTHER, saying("a")) == Outcome("a")
    assert world.clusters.is_busy()
    world.now += 6
    assert world.outcome(OTHER, saying("b"), "b") == Outcome("b")
    assert world.outcome(ONE, waiting) == Outcome("done")
    assert steps == ["begun", "went on"]
    world.clusters.close()


def test_it_is_busy_until_somebody_could_have_asked_what_came_of_it(world: World) -> None:
    assert not world.clusters.is_busy()
    world.begin(ONE, saying("a"))
    assert world.done.wait(_PATIENCE)
    assert world.clusters.is_busy()
    assert not world.clusters.is_busy()
