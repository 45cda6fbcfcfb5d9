"""Deliveries beside the passes: nobody waits for a place, what came of a delivery is taken once, and in order."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from threading import Event, Semaphore

import pytest

from deliver.contract import NOTE, A, B, DeliveryContract, parcel
from fleetform.deliver.beside import AllBeside, DeliveriesBeside, DeliveryBeside
from fleetform.deliver.directory import DirectoryDelivery
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.errors import OutsideError
from fleetform.ports.delivery import UNDER_WAY, Deliverer, Drift, Failure, Note, NothingBeside, Parcel

_PATIENCE = 20.0
NO = Failure("the remote hung up", "wait")


def wait_for(beside: DeliveriesBeside) -> None:
    until = time.monotonic() + _PATIENCE
    while beside.is_busy():
        assert time.monotonic() < until
        time.sleep(0.002)


class Slow:
    """A place that does nothing before it may, and says what it was asked for."""

    def __init__(self) -> None:
        self.may, self.began = Semaphore(0), Semaphore(0)
        self.asked: list[tuple[list[str], list[PluginKey]]] = []
        self.looks: list[list[PluginKey]] = []
        self.failures: dict[PluginKey, Failure] = {}
        self.drifts: list[Drift] = []
        self.error: Exception | None = None

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        self._wait()
        self.asked.append(([each.input_hash for each in parcels], list(removals)))
        return self.failures

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        self._wait()
        self.looks.append(list(keys))
        return self.drifts

    def _wait(self) -> None:
        self.began.release()
        assert self.may.acquire(timeout=_PATIENCE)
        if self.error is not None:
            raise self.error


class Here:
    """What a pass sees of one or two places, and a turned clock."""

    def __init__(self) -> None:
        self.at = 0.0
        self.woken = Event()
        self.beside = DeliveriesBeside(self.woken.set, lambda: self.at)
        self.slow, self.other = Slow(), Slow()
        self.place = self.beside.to("repository", "main", self.slow)

    def done(self) -> None:
        """Until nothing is under way."""
        wait_for(self.beside)


@pytest.fixture
def here() -> Here:
    return Here()


ONE, TWO, OTHERS = parcel(A, one="1"), parcel(A, one="2"), parcel(B, one="1")


def test_nobody_waits_for_a_place_and_what_came_of_it_is_taken_once(here: Here) -> None:
    assert here.place.deliver([ONE, OTHERS], [], NOTE) == {A: UNDER_WAY, B: UNDER_WAY}
    assert here.slow.began.acquire(timeout=_PATIENCE)
    assert here.beside.is_busy()
    assert here.beside.is_under_way(A, ONE.input_hash)
    assert not here.beside.is_under_way(A, TWO.input_hash)
    assert not here.beside.is_under_way(A, "")
    assert here.place.deliver([ONE], [], NOTE) == {A: UNDER_WAY}, "it is not asked for twice"
    here.slow.failures = {B: NO}
    here.slow.may.release()
    here.done()
    assert not here.beside.is_under_way(A, ONE.input_hash)
    assert here.place.deliver([ONE, OTHERS], [], NOTE) == {B: NO}
    assert here.slow.asked == [([ONE.input_hash, OTHERS.input_hash], [])], "what one pass brings goes in one go"
    assert here.place.deliver([OTHERS], [], NOTE) == {B: UNDER_WAY}, "what failed is tried again once it is asked for"
    here.slow.may.release()
    here.done()


def test_what_is_handed_over_later_waits_its_turn_and_replaces_what_still_waits(here: Here) -> None:
    here.place.deliver([OTHERS], [], NOTE)
    assert here.slow.began.acquire(timeout=_PATIENCE)
    here.place.deliver([ONE], [], NOTE)
    here.place.deliver([TWO], [B], NOTE)
    assert here.beside.is_under_way(B, "")
    assert not here.beside.is_under_way(A, ONE.input_hash)
    for _ in range(3):
        here.slow.may.release()
    here.done()
    assert here.slow.asked == [([OTHERS.input_hash], []), ([TWO.input_hash], [B])]
    assert here.place.deliver([TWO], [B], NOTE) == {}


def test_a_place_that_hangs_holds_up_no_other(here: Here) -> None:
    here.place.deliver([ONE], [], NOTE)
    assert here.slow.began.acquire(timeout=_PATIENCE)
    other = here.beside.to("another repository", "main", here.other)
    other.deliver([OTHERS], [], NOTE)
    here.other.may.release()
    assert here.woken.wait(_PATIENCE)
    assert other.deliver([OTHERS], [], NOTE) == {}
    assert here.beside.is_under_way(A, ONE.input_hash)
    here.slow.may.release()
    here.done()


def test_two_branches_of_one_repository_come_one_after_the_other(here: Here) -> None:
    branch = here.beside.to("repository", "gold", here.other)
    here.place.deliver([ONE], [], NOTE)
    assert branch.deliver([ONE], [], NOTE) == {A: UNDER_WAY}, "each place is told apart"
    assert not here.other.began.acquire(timeout=0.05)
    here.slow.may.release()
    assert here.other.began.acquire(timeout=_PATIENCE)
    here.other.may.release()
    here.done()
    assert (len(here.slow.asked), len(here.other.asked)) == (1, 1)


def test_what_came_of_a_delivery_that_nobody_asked_for_counts_no_more_once_it_was_elsewhere(here: Here) -> None:
    here.place.deliver([ONE], [], NOTE)
    here.slow.may.release()
    here.done()
    elsewhere = here.beside.to("another repository", "main", here.other)
    elsewhere.deliver([ONE], [], NOTE)
    here.other.may.release()
    here.done()
    assert here.place.deliver([ONE], [], NOTE) == {A: UNDER_WAY}, "it may be gone from there by now"
    here.slow.may.release()
    here.done()


def test_what_should_never_happen_is_raised_where_it_is_asked_for_and_the_line_goes_on(here: Here) -> None:
    here.slow.error = RuntimeError("a bug")
    here.slow.may.release()
    here.place.deliver([ONE], [], NOTE)
    here.done()
    with pytest.raises(RuntimeError, match="a bug"):
        here.place.deliver([ONE], [], NOTE)
    with pytest.raises(OutsideError):
        here.place.drift([A])
    here.slow.may.release()
    here.done()
    with pytest.raises(RuntimeError, match="a bug"):
        here.place.drift([A])
    here.slow.error = None
    here.place.deliver([ONE], [], NOTE)
    here.slow.may.release()
    here.done()
    assert here.place.deliver([ONE], [], NOTE) == {}


@pytest.mark.parametrize("hangs", [False, True])
def test_at_the_end_what_has_begun_is_waited_for_unless_it_hangs_and_nothing_else_begins(
    here: Here, hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetform.deliver.beside._LAST", 0.05 if hangs else _PATIENCE)
    here.place.deliver([ONE], [], NOTE)
    assert here.slow.began.acquire(timeout=_PATIENCE)
    here.place.deliver([OTHERS], [], NOTE)
    here.beside.to("another repository", "main", here.other).deliver([ONE], [], NOTE)
    assert here.other.began.acquire(timeout=_PATIENCE)
    here.other.may.release()
    if not hangs:
        here.slow.may.release()
    here.beside.close()
    assert here.slow.asked == ([] if hangs else [([ONE.input_hash], [])])
    here.slow.may.release()
    here.done()
    assert here.slow.asked == [([ONE.input_hash], [])]


def test_so_many_repositories_are_asked_at_once_and_the_others_when_it_is_their_turn(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetform.deliver.beside._THREADS", 2)
    for name in "abc":
        here.beside.to(name, name, here.slow).deliver([ONE], [], NOTE)
    assert here.slow.began.acquire(timeout=_PATIENCE)
    assert here.slow.began.acquire(timeout=_PATIENCE)
    assert not here.slow.began.acquire(timeout=0.05)
    for _ in "abc":
        here.slow.may.release()
    here.done()
    assert len(here.slow.asked) == 3


def test_who_comes_to_a_branch_by_different_logins_looks_at_it_together(here: Here) -> None:
    one, other = (here.beside.to("repository", "main", here.slow) for _ in range(2))
    here.slow.drifts = [Drift(A, "one.yaml", missing=True), Drift(B, "one.yaml", missing=False)]
    for place, key in ((one, A), (other, B)):
        with pytest.raises(OutsideError):
            place.drift([key])
    here.slow.may.release()
    here.slow.may.release()
    here.done()
    assert one.drift([A]) == here.slow.drifts[:1]
    assert other.drift([B]) == here.slow.drifts[1:]
    assert here.slow.looks[-1] == [B, A]
    assert len(here.slow.looks) <= 2


# ---- Drift


def test_a_place_is_looked_at_beside_the_passes_and_what_was_seen_counts_for_ten_minutes(here: Here) -> None:
    here.slow.drifts = [Drift(A, "one.yaml", missing=True)]
    for _ in range(2):
        with pytest.raises(OutsideError, match="it is being looked at"):
            here.place.drift([A, B])
    here.slow.may.release()
    here.done()
    here.at = 600.0
    assert here.place.drift([B, A]) == here.slow.drifts
    assert here.place.drift([B]) == []
    assert here.slow.looks == [[A, B]]
    here.at = 600.5
    with pytest.raises(OutsideError):
        here.place.drift([A, B])
    here.slow.may.release()
    here.done()
    assert len(here.slow.looks) == 2


def test_a_place_that_cannot_be_looked_at_is_asked_again_after_ten_minutes(here: Here) -> None:
    here.slow.error = OutsideError("nothing came from there")
    with pytest.raises(OutsideError, match="being looked at"):
        here.place.drift([A])
    here.slow.may.release()
    here.done()
    for here.at in (0.0, 599.0):
        with pytest.raises(OutsideError, match="nothing came"):
            here.place.drift([A])
    here.at, here.slow.error = 601.0, None
    with pytest.raises(OutsideError, match="being looked at"):
        here.place.drift([A])
    here.slow.may.release()
    here.done()
    assert here.place.drift([A]) == []


def test_what_was_seen_of_other_plugins_says_nothing(here: Here) -> None:
    for asked in ([A], [A, B]):
        with pytest.raises(OutsideError):
            here.place.drift(asked)
        here.slow.may.release()
        here.done()
        assert here.place.drift(asked) == []
    assert here.slow.looks == [[A], [A, B]]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_was_delivered_since_a_look_is_as_it_was_delivered_and_hides_nothing_of_the_others(
    here: Here, meanwhile: bool
) -> None:
    """Else a branch into which something goes every minute would never be looked at."""
    third: PluginKey = ("acme", "eu-3", "cert-manager")
    here.slow.drifts = [Drift(A, "one.yaml", missing=True), Drift(B, "one.yaml", missing=False)]
    with pytest.raises(OutsideError):
        here.place.drift([A, B])
    if not meanwhile:
        here.slow.may.release()
        here.done()
    here.place.deliver([ONE, parcel(third, one="1")], [], NOTE)
    here.slow.may.release()
    here.slow.may.release()
    here.done()
    assert here.place.drift([A, B, third]) == here.slow.drifts[1:]
    assert here.slow.looks == [[A, B]]
    here.at = 601.0
    with pytest.raises(OutsideError):
        here.place.drift([A, B, third])
    here.slow.may.release()
    here.done()
    assert here.place.drift([A, B, third]) == here.slow.drifts


# ---- Several ways, and the contract


def test_several_ways_are_asked_together(here: Here) -> None:
    every = AllBeside(NothingBeside(), here.beside)
    assert not every.is_busy()
    here.place.deliver([ONE], [], NOTE)
    assert every.is_busy()
    assert every.is_under_way(A, ONE.input_hash)
    assert not every.is_under_way(B, ONE.input_hash)
    here.slow.may.release()
    while here.beside.is_under_way(A, ONE.input_hash):
        assert here.woken.wait(_PATIENCE)
    here.done()
    assert not every.is_busy()


class Waited:
    """A place beside the passes, waited for."""

    def __init__(self, deliverer: Deliverer) -> None:
        self.beside = DeliveriesBeside(lambda: None)
        self.place: DeliveryBeside = self.beside.to("folder", "folder", deliverer)

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        self.place.deliver(parcels, removals, note)
        wait_for(self.beside)
        return self.place.deliver(parcels, removals, note)

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        self.beside.looks.clear()
        with pytest.raises(OutsideError):
            self.place.drift(keys)
        wait_for(self.beside)
        return self.place.drift(keys)


class TestBeside(DeliveryContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "clusters"
        self.delivery = Waited(DirectoryDelivery(str(self.folder)))

    def seen(self) -> dict[str, str]:
        files = [each for each in self.folder.rglob("*.yaml") if each.is_file()]
        return {str(each.relative_to(self.folder)): each.read_text() for each in files}

    def put(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def take(self, path: str) -> None:
        (self.folder / path).unlink()
