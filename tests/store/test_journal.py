"""The store on Kubernetes: whatever fails at whichever write, what was answered is there, whole, and one writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from fleetform.model.objects import Ref
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.store import Commit, Deed, Delete, Event, Message, Put, StoreError, UnavailableError, UnusableError
from fleetform.store.cells import Cell, Cells, SecretCells, TakenError, UncertainError
from fleetform.store.journal import SupersededError
from fleetform.store.kubernetes import KubernetesStore
from fleetform.store.memory import MemoryStore
from support.api_servers import ApiServer
from support.cells import Ended, MemoryCells

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
A, B, C = (Ref("PluginState", "acme", name) for name in "abc")
_LARGE = random.Random(1).randbytes(60_000)


def _commit(number: int) -> Commit:
    """Commits of all that can be in one; every third one is larger than a cell."""
    writes = [Put(A, b"%d" % number), Put(B, b"same"), *([Delete(C)] if number % 2 else [Put(C, b"%d" % number)])]
    event = Event(NOW, "acme", "eu-1", "p", "Started", f"1.{number}.0")
    deed = Deed(NOW, "alice", "approve", f"Rollout/acme/{number}", "done")
    message = Message(f"Started/{number}", NOW, "acme", "Started", b"{}", "hook")
    blobs = [(f"sha256:{number}", _LARGE)] if number % 3 == 0 else []
    return Commit(writes, [event], [deed], [message], blobs=blobs)


class Found(NamedTuple):
    """Everything that a store has."""

    version: int
    records: Sequence[object]
    events: Sequence[object]
    audit: Sequence[object]
    outbox: Sequence[object]
    blobs: Sequence[bool]


def _found(store: KubernetesStore | MemoryStore) -> Found:
    return Found(
        store.version(),
        store.list("PluginState").records,
        store.events("acme", "eu-1"),
        store.audit(),
        store.outbox(NOW),
        [store.blob(f"sha256:{number}") == _LARGE for number in range(8)],
    )


def _expected() -> list[Found]:
    """What a store has after each number of commits."""
    store = MemoryStore()
    found = [_found(store)]
    for number in range(7):
        store.commit(_commit(number), NOW)
        found.append(_found(store))
    return found


_EXPECTED = _expected()
_paths = count()


def _open(folder: Path, cells: Cells, name: str = "") -> KubernetesStore:
    return KubernetesStore(str(folder / (name or f"{next(_paths)}.db")), cells, slots=4, piece=32768)


def _story(store: KubernetesStore, begin: int = 0) -> Iterator[int]:
    """Commits from one on; yields how many there are after each."""
    for number in range(begin, 7):
        store.commit(_commit(number), NOW)
        yield number + 1


def _collect(done: list[int], story: Iterator[int]) -> None:
    """What was answered, up to where the story breaks off."""
    for number in story:
        done.append(number)


def _writes_of_the_story(folder: Path) -> int:
    cells = MemoryCells()
    store = _open(folder, cells)
    for done in _story(store):
        assert _found(store) == _EXPECTED[done]
    store.close()
    return cells.writes


class TestCells:
    """The cells that tests use behave as those of a real server."""

    @pytest.fixture(params=["memory", "server"])
    def cells(self, request: pytest.FixtureRequest) -> Iterator[Cells]:
        if request.param == "memory":
            yield MemoryCells()
            return
        hub: ApiServer = request.getfixturevalue("hub")
        client = Client(access_from_kubeconfig(hub.kubeconfig()))
        yield SecretCells(client, "default", f"cells-{random.randrange(10**9)}")
        client.close()

    def test_a_cell_is_made_once_and_replaced_only_on_the_version_that_was_read(self, cells: Cells) -> None:
        first = cells.create("entry-1", b"\x00one")
        with pytest.raises(TakenError):
            cells.create("entry-1", b"another")
        second = cells.replace(Cell("entry-1", b"two", first))
        assert cells.get("entry-1") == Cell("entry-1", b"two", second)
        with pytest.raises(TakenError):
            cells.replace(Cell("entry-1", b"three", first))

    def test_a_cell_that_is_gone_is_not_made_again_by_who_knew_it(self, cells: Cells) -> None:
        version = cells.create("head", b"1")
        cells.delete("head")
        cells.delete("head")
        assert cells.get("head") is None
        with pytest.raises(TakenError):
            cells.replace(Cell("head", b"2", version))

    def test_cells_are_listed_by_how_their_names_begin(self, cells: Cells) -> None:
        for name in ("entry-2", "entry-1", "head", "chunk-1"):
            cells.create(name, name.encode())
        assert sorted((each.name, each.content) for each in cells.all("entry-")) == [
            ("entry-1", b"entry-1"),
            ("entry-2", b"entry-2"),
        ]
        assert cells.names("chunk-") == ["chunk-1"]


@pytest.mark.parametrize("fault", ["lost", "refused", "ended", "ended after"])
def test_a_fault_at_any_write_loses_nothing_that_was_answered_and_stores_nothing_in_part(
    fault: str, tmp_path: Path
) -> None:
    for at in range(1, _writes_of_the_story(tmp_path) + 1):
        cells = MemoryCells(_only_at(at, fault))
        done, store = 0, None
        try:
            store = _open(tmp_path, cells, f"{fault}-{at}.db")
            for done in _story(store):
                assert _found(store) == _EXPECTED[done]
        except Ended:
            pass
        if store is not None:
            store.close()
        cells.fault = lambda _: ""
        # From the copy of the one before, and where there is none.
        for name in (f"{fault}-{at}.db", ""):
            store = _open(tmp_path, cells, name)
            found = _found(store)
            assert found in _EXPECTED[done : done + 2], f"write {at}"
            done = _EXPECTED.index(found)
            store.close()
        store = _open(tmp_path, cells)
        for number in _story(store, done):
            assert _found(store) == _EXPECTED[number]
        store.close()


def _only_at(at: int, fault: str) -> Callable[[int], str]:
    return lambda number: fault if number == at else ""


def test_an_answer_that_never_comes_leaves_nothing_to_guess(tmp_path: Path) -> None:
    """While the server is away nothing is read, since what would be may not be so; then it is known what happened."""
    for at in range(2, 8):
        for happened in (True, False):
            cells = MemoryCells()
            store = _open(tmp_path, cells)
            away = _away_at(cells, at, happened)
            done = [0]
            with pytest.raises(UnavailableError):
                _collect(done, _story(store))
            with pytest.raises(UnavailableError):
                store.version()
            with pytest.raises(UnavailableError):
                store.commit(_commit(done[-1]), NOW)
            cells.reachable, cells.fault = True, lambda _: ""
            found = _found(store)
            assert found in _EXPECTED[done[-1] : done[-1] + 2]
            for number in _story(store, _EXPECTED.index(found)):
                assert _found(store) == _EXPECTED[number]
            assert away
            store.close()


def _away_at(cells: MemoryCells, at: int, happened: bool) -> list[int]:
    """The server stops answering at a write, which takes place or not."""
    hit: list[int] = []

    def fault(number: int) -> str:
        if number != cells_at:
            return ""
        hit.append(number)
        cells.reachable = False
        return "lost" if happened else "refused"

    cells_at = cells.writes + at
    cells.fault = fault
    return hit


class _LateWrites(MemoryCells):
    """A write gets no answer, is not there yet when somebody looks, and arrives before it is sent again; then nothing
    answers any more."""

    def __init__(self) -> None:
        super().__init__()
        self.late: Callable[[], object] | None = None

    def replace(self, cell: Cell) -> str:
        return self._delayed(lambda: MemoryCells.replace(self, cell))

    def create(self, name: str, content: bytes) -> str:
        return self._delayed(lambda: MemoryCells.create(self, name, content))

    def _delayed(self, write: Callable[[], str]) -> str:
        if not self.armed:
            return write()
        if self.late is None:
            self.late = write
            raise UncertainError("no answer")
        self.late()
        self.reachable = False
        raise TakenError

    armed = False


def test_a_write_that_arrives_late_is_not_taken_for_one_that_did_not_happen(tmp_path: Path) -> None:
    cells = _LateWrites()
    store = _open(tmp_path, cells)
    store.commit(_commit(0), NOW)
    cells.armed = True
    with pytest.raises(UnavailableError):
        store.commit(_commit(1), NOW)
    with pytest.raises(UnavailableError):
        store.version()
    cells.reachable, cells.armed = True, False
    assert _found(store) == _EXPECTED[2]
    store.close()


class _Interruption:
    """Another replica takes over when a write of the first is due, and commits once."""

    def __init__(self, folder: Path, cells: MemoryCells, at: int) -> None:
        self._folder, self._cells, self._at = folder, cells, at
        self.other: KubernetesStore | None = None
        self.seen = 0

    def __call__(self, number: int) -> str:
        if number >= self._at and self.other is None:
            # Its own writes come here, too.
            self._at = 10**9
            self.other = _open(self._folder, self._cells)
            self.seen = _EXPECTED.index(_found(self.other))
            next(_story(self.other, self.seen), None)
        return ""


@pytest.mark.rule("B1")
def test_one_that_was_frozen_at_any_write_and_wakes_changes_nothing_any_more(tmp_path: Path) -> None:
    """Another replica takes over and writes while the first stands before a write; woken, the first is refused."""
    for at in range(2, _writes_of_the_story(tmp_path) + 1):
        cells = MemoryCells()
        frozen = _open(tmp_path, cells)
        interruption = cells.fault = _Interruption(tmp_path, cells, at)
        answered = [0]
        with suppress(SupersededError):
            _collect(answered, _story(frozen))
        frozen.close()
        # All that it was let write stands before what the other one found.
        assert answered[-1] <= interruption.seen, f"write {at}"
        assert interruption.other is not None
        begin = _EXPECTED.index(_found(interruption.other))
        assert begin in (interruption.seen + 1, 7)
        for number in _story(interruption.other, begin):
            assert _found(interruption.other) == _EXPECTED[number], f"write {at}"
        interruption.other.close()
        again = _open(tmp_path, cells)
        assert _found(again) == _EXPECTED[7]
        again.close()


@pytest.mark.rule("R0-19")
def test_a_commit_that_changes_nothing_asks_the_server_nothing(tmp_path: Path) -> None:
    cells = MemoryCells()
    store = _open(tmp_path, cells)
    before = cells.writes, cells.reads
    assert _found(store) == _EXPECTED[0]
    store.commit(Commit([Delete(B)]), NOW)
    assert (cells.writes, cells.reads) == before
    store.commit(Commit([Put(A, b"1")]), NOW)
    before = cells.writes, cells.reads
    store.commit(Commit([Put(A, b"1"), Delete(B)]), NOW)
    store.commit(Commit(), NOW)
    _found(store)
    assert (cells.writes, cells.reads) == before
    store.close()


@pytest.mark.rule("R0-19")
@pytest.mark.parametrize("happened", [True, False])
def test_once_it_is_known_what_became_of_a_write_the_server_is_not_asked_again(tmp_path: Path, happened: bool) -> None:
    cells = MemoryCells()
    store = _open(tmp_path, cells)
    store.commit(_commit(0), NOW)
    _away_at(cells, 1, happened)
    with pytest.raises(UnavailableError):
        store.commit(_commit(1), NOW)
    cells.reachable, cells.fault = True, lambda _: ""
    assert _found(store) == _EXPECTED[2 if happened else 1]
    before = cells.writes, cells.reads
    assert _found(store) == _EXPECTED[2 if happened else 1]
    assert (cells.writes, cells.reads) == before
    store.close()


def test_a_refused_commit_is_not_written(tmp_path: Path) -> None:
    cells = MemoryCells()
    store = _open(tmp_path, cells)
    before = cells.writes
    with pytest.raises(StoreError):
        store.commit(Commit([Put(A, b"1", expected=7)]), NOW)
    assert cells.writes == before
    store.close()


def test_a_copy_that_is_there_is_gone_on_from_and_a_damaged_one_is_made_anew(tmp_path: Path) -> None:
    cells = MemoryCells()
    store = _open(tmp_path, cells, "copy.db")
    for _ in _story(store):
        pass
    store.close()
    fresh, kept = MemoryCells(), MemoryCells()
    fresh.content, kept.content = dict(cells.content), dict(cells.content)
    store = _open(tmp_path, kept, "copy.db")
    assert _found(store) == _EXPECTED[7]
    store.close()
    _open(tmp_path, fresh).close()
    assert kept.reads < fresh.reads
    (tmp_path / "copy.db").write_bytes(b"no database" * 1000)
    store = _open(tmp_path, kept, "copy.db")
    assert _found(store) == _EXPECTED[7]
    store.close()


def test_a_copy_of_another_journal_is_not_taken(tmp_path: Path) -> None:
    one, other = MemoryCells(), MemoryCells()
    store = _open(tmp_path, one, "copy.db")
    store.commit(_commit(0), NOW)
    store.close()
    store = _open(tmp_path, other, "copy.db")
    assert _found(store) == _EXPECTED[0]
    store.close()


def test_what_nothing_needs_is_removed(tmp_path: Path) -> None:
    """A round of large commits leaves the chunks of the checkpoint and of the entries after it."""
    cells = MemoryCells()
    store = _open(tmp_path, cells)
    for number in range(40):
        store.commit(Commit([Put(A, b"%d" % number)], blobs=[("sha256:1", _LARGE)]), NOW)
        store.sweep(["sha256:1"])
    entries = [each for each in cells.content if each.startswith("entry-")]
    chunks = [each for each in cells.content if each.startswith("chunk-")]
    assert len(entries) == 4
    assert len(chunks) < 40
    store.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda cells: cells.content.pop("entry-0002"), "entry 2 is missing"),
        (lambda cells: _with_another_before_it(cells, "entry-0002"), "does not follow"),
        (lambda cells: cells.content.update(head=Cell("head", b"\x95\x63\x00\xa0\x90\x00", "9")), "a newer release"),
    ],
)
def test_damage_is_said_and_not_repaired_by_guessing(
    damage: Callable[[MemoryCells], object], said: str, tmp_path: Path
) -> None:
    cells = MemoryCells()
    store = KubernetesStore(str(tmp_path / "one.db"), cells)
    for number in (0, 1, 2):
        store.commit(_commit(number), NOW)
    store.close()
    damage(cells)
    with pytest.raises(UnusableError, match=said):
        KubernetesStore(str(tmp_path / "two.db"), cells)


def _with_another_before_it(cells: MemoryCells, name: str) -> None:
    number, writer, _, *rest = msgspec.msgpack.decode(cells.content[name].content)
    cells.content[name] = Cell(name, msgspec.msgpack.encode([number, writer, "0" * 64, *rest]), "77")
