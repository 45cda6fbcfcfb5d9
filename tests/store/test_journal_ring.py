"""The journal by itself, step by step: what it keeps, when it is full, and what a checkpoint leaves."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from fleetform.ports.store import UnavailableError, UnusableError
from fleetform.store.journal import DoubtError, Journal, Position, SupersededError
from support.cells import MemoryCells

SLOTS, PIECE = 4, 200
_CHANCE = random.Random(1)


def noise(size: int) -> bytes:
    """Bytes that no compression makes fewer."""
    return _CHANCE.randbytes(size)


def opened(cells: MemoryCells, slots: int = SLOTS, piece: int = PIECE) -> Journal:
    journal = Journal(cells, slots, piece)
    journal.read()
    return journal


def payloads(journal: Journal, after: int = 0) -> list[tuple[int, bytes]]:
    return [(position.number, payload) for position, payload in journal.payloads(after)]


def cells_of(cells: MemoryCells, prefix: str) -> list[str]:
    return sorted(each for each in cells.content if each.startswith(prefix))


def test_an_empty_journal_is_at_no_entry() -> None:
    journal = opened(MemoryCells())
    assert journal.position == Position(0, "")
    assert journal.includes(Position()), "an empty copy can go on from there"
    assert not journal.includes(Position(1))
    assert not journal.includes(Position(-1))
    assert (journal.is_ours, journal.is_full, journal.wants_checkpoint) == (False, False, False)
    assert (payloads(journal), list(journal.file())) == ([], [])


def test_entries_are_read_back_in_their_order_by_anybody() -> None:
    cells = MemoryCells()
    journal = opened(cells)
    one, two, three = (journal.append(each) for each in (b"one", b"two", b"three"))
    assert [each.number for each in (one, two, three)] == [1, 2, 3]
    assert len({each.digest for each in (one, two, three)}) == 3
    other = opened(cells)
    assert other.position == journal.position == three
    assert payloads(other) == payloads(journal) == [(1, b"one"), (2, b"two"), (3, b"three")]
    assert payloads(other, 1) == [(2, b"two"), (3, b"three")]
    assert payloads(other, 3) == []
    assert [position for position, _ in other.payloads(0)] == [one, two, three]
    for each in (one, two, three, Position()):
        assert (other.includes(each), journal.includes(each)) == (True, True), each
    assert not other.includes(two._replace(digest=one.digest))
    journal.read()
    assert (journal.is_ours, other.is_ours) == (True, False)
    assert cells_of(cells, "entry-") == ["entry-0001", "entry-0002", "entry-0003"]


def test_a_round_without_a_checkpoint_fills_it_and_nothing_is_written_over() -> None:
    cells = MemoryCells()
    journal = opened(cells)
    full = [journal.is_full]
    for number in range(1, SLOTS + 1):
        journal.append(b"%d" % number)
        full.append(journal.is_full)
    assert full == [False] * SLOTS + [True]
    before = dict(cells.content)
    with pytest.raises(UnavailableError, match="the journal is full: no checkpoint could be written"):
        journal.append(b"more")
    assert cells.content == before
    assert opened(cells).is_full
    journal.checkpoint(lambda: b"copy")
    assert not journal.is_full
    assert journal.append(b"more").number == SLOTS + 2, "the checkpoint itself is followed by an entry"
    assert cells_of(cells, "entry-") == ["entry-0000", "entry-0001", "entry-0002", "entry-0003"]


def test_half_a_round_wants_a_checkpoint() -> None:
    journal = opened(MemoryCells())
    wants = []
    for number in range(SLOTS):
        wants.append(journal.wants_checkpoint)
        journal.append(b"%d" % number)
    assert wants == [False, False, True, True]
    journal.checkpoint(lambda: b"copy")
    assert not journal.wants_checkpoint


@pytest.mark.parametrize("size", [200, 100_000])
def test_many_bytes_want_a_checkpoint_too_and_more_where_the_last_one_is_large(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Small ones in their entries, and large ones in chunks."""
    monkeypatch.setattr("fleetform.store.journal._MOST_BYTES", 3 * size)
    cells = MemoryCells()
    journal = opened(cells, 100, 1_000)
    wants = []
    for _ in range(3):
        journal.append(noise(size))
        wants.append(journal.wants_checkpoint)
    assert wants == [False, False, True], "with what compression adds it is more than three of them"
    if size < 1_000:
        assert opened(cells, 100, 1_000).wants_checkpoint, "as much for one that reads it"
    journal.checkpoint(lambda: noise(10 * size))
    for _ in range(9):
        journal.append(noise(size))
        assert not journal.wants_checkpoint
    journal.append(noise(size))
    journal.append(noise(size))
    assert journal.wants_checkpoint


def test_what_does_not_fit_into_a_cell_is_cut_into_chunks() -> None:
    cells = MemoryCells()
    journal = opened(cells)
    # Compression of what cannot be compressed adds 11 bytes.
    fits, large = noise(PIECE - 11), noise(PIECE - 10)
    journal.append(fits)
    assert cells_of(cells, "chunk-") == []
    journal.append(large)
    assert len(cells_of(cells, "chunk-")) == 2
    larger = noise(5 * PIECE)
    journal.append(larger)
    assert len(cells_of(cells, "chunk-")) == 2 + 6
    assert payloads(opened(cells)) == [(1, fits), (2, large), (3, larger)]


def test_a_checkpoint_takes_the_place_of_what_was_before_it() -> None:
    cells = MemoryCells()
    journal = opened(cells)
    before = journal.append(noise(3 * PIECE))
    last = journal.append(b"two")
    copy = noise(2 * PIECE + 1)
    journal.checkpoint(lambda: copy)
    assert b"".join(journal.file()) == copy
    assert len(cells_of(cells, "chunk-")) == 3, "those of the entry are gone"
    # An entry that changes nothing follows, so that this process knows that it is the one that writes.
    assert journal.position.number == 3
    other = opened(cells)
    head = other.read()
    assert (head.number, head.digest, head.size) == (last.number, last.digest, len(copy))
    assert b"".join(other.file()) == copy
    assert payloads(other, last.number) == [(3, b"")]
    assert (other.includes(before), other.includes(last)) == (False, True)
    assert (journal.includes(before), journal.includes(last)) == (False, True)


def test_chunks_of_a_checkpoint_that_did_not_change_stay() -> None:
    cells = MemoryCells()
    journal = opened(cells)
    journal.append(b"one")
    first, second, third = (noise(PIECE) for _ in range(3))
    journal.checkpoint(lambda: first + second)
    kept = cells_of(cells, "chunk-")
    writes = cells.writes
    journal.append(b"two")
    journal.checkpoint(lambda: first + third)
    # The entry, one chunk, the head, the entry after it, and the chunk that nothing needs.
    assert cells.writes - writes == 5
    assert len(set(kept) & set(cells_of(cells, "chunk-"))) == 1
    assert b"".join(opened(cells).file()) == first + third


def test_one_that_writes_on_an_old_version_is_refused_and_nothing_is_lost() -> None:
    cells = MemoryCells()
    one, other = opened(cells), opened(cells)
    one.append(b"one")
    other.read()
    other.take_over()
    with pytest.raises(SupersededError):
        one.append(b"two")
    assert payloads(opened(cells)) == [(1, b"one"), (2, b"")]
    one.read()
    assert not one.is_ours
    other.read()
    assert other.is_ours


def test_a_checkpoint_that_somebody_before_wrote_late_is_replaced() -> None:
    cells = MemoryCells()
    one, other = opened(cells), opened(cells)
    one.append(b"one")
    other.read()
    other.take_over()

    def copy() -> bytes:
        """Meanwhile the one before wakes, and writes the checkpoint that it had begun."""
        with pytest.raises(SupersededError):
            one.checkpoint(lambda: b"early")
        return b"late"

    other.checkpoint(copy)
    assert b"".join(opened(cells).file()) == b"late"
    assert opened(cells).read().number == 2


def test_a_checkpoint_never_takes_the_place_of_one_that_includes_more() -> None:
    cells = MemoryCells()
    one, other = opened(cells), opened(cells)
    one.append(b"one")

    def copy() -> bytes:
        other.read()
        other.take_over()
        other.checkpoint(lambda: b"late")
        return b"early"

    with pytest.raises(SupersededError):
        one.checkpoint(copy)
    assert b"".join(opened(cells).file()) == b"late"


def test_of_two_that_write_a_checkpoint_of_the_same_entries_the_first_is_kept_whole() -> None:
    """One opens a journal that is full while the process before it writes the checkpoint that was missing."""
    cells = MemoryCells()
    before = opened(cells)
    for number in range(SLOTS):
        before.append(b"%d" % number)
    other = opened(cells)
    assert other.is_full
    head = cells.writes + 2

    def meanwhile(number: int) -> str:
        """The chunk of the other is there, and its head is about to be written."""
        if number == head:
            before.checkpoint(lambda: b"the first")
        return ""

    cells.fault = meanwhile
    with pytest.raises(SupersededError):
        other.checkpoint(lambda: b"the second")
    assert b"".join(opened(cells).file()) == b"the first"
    assert before.append(b"more").number == SLOTS + 2


@pytest.mark.parametrize("answers", [0, 1, 2, 3])
def test_a_write_that_nobody_answers_is_tried_three_times(answers: int) -> None:
    """The first ones are refused without an answer."""
    cells = MemoryCells(lambda number: "refused" if number <= answers else "")
    journal = opened(cells)
    if answers < 3:
        journal.append(b"one")
        assert payloads(opened(cells)) == [(1, b"one")]
    else:
        with pytest.raises(DoubtError, match="the API server answers no write"):
            journal.append(b"one")
        assert cells.writes == 3


def test_a_write_whose_answer_was_lost_is_written_once() -> None:
    cells = MemoryCells(lambda number: "lost" if number == 1 else "")
    journal = opened(cells)
    journal.append(b"one")
    journal.append(b"two")
    assert cells.writes == 2
    assert payloads(opened(cells)) == [(1, b"one"), (2, b"two")]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda cells, name: cells.content.pop(name), "missing"),
        (lambda cells, name: cells.content.update({name: cells.content[name]._replace(content=b"x")}), "not as it was"),
    ],
)
def test_a_chunk_that_is_gone_or_another_is_damage(damage: Callable[[MemoryCells, str], object], said: str) -> None:
    cells = MemoryCells()
    journal = opened(cells)
    journal.append(noise(2 * PIECE))
    damage(cells, cells_of(cells, "chunk-")[0])
    with pytest.raises(UnusableError, match=f"the journal is damaged: chunk .* is {said}"):
        payloads(opened(cells))


def test_a_checkpoint_of_this_format_is_read_and_one_of_the_next_is_not() -> None:
    cells = MemoryCells()
    journal = opened(cells)
    journal.append(b"one")
    journal.checkpoint(lambda: b"copy")
    head = cells.content["head"]
    assert head.content[1] == 1, "the format is the first field"
    cells.content["head"] = head._replace(content=head.content[:1] + b"\x02" + head.content[2:])
    with pytest.raises(UnusableError, match=r"written by a newer release \(format 2\)"):
        opened(cells)
