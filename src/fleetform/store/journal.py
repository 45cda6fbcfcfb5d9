"""The journal: commits in the order in which they happened, kept by an API server, with a checkpoint from time to time.

An API server writes one object at a time. So a commit is one cell: written, it has happened, whole. Cells are a ring:
the entry of number n takes the place of the one a round before it, on the very version that this process has seen.
Whoever writes besides, or did so before this process was frozen and woken, holds another version of that cell and is
refused: this is what fences writers, whatever leases say. An entry is written over only once a checkpoint includes it.

What does not fit into a cell is cut into chunks, which are written before. Chunks are removed when neither an entry nor
the checkpoint needs them; only a writer that has just written an entry, and so is the one that writes, removes any.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from fleetform.outside.errors import OutsideError
from fleetform.ports.store import StoreError, UnavailableError, UnusableError
from fleetform.store.cells import Cell, Cells, TakenError, UncertainError

FORMAT = 1
SLOTS = 512
# How much of a payload or of a checkpoint is in one cell: a Secret holds at most 1 MiB.
PIECE = 512 * 1024
# Entries are read back at every start: beyond so many bytes of them a checkpoint is cheaper.
_MOST_BYTES = 8 * 1024 * 1024
_HEAD, _ENTRY, _PART = "head", "entry-", "chunk-"


class SupersededError(StoreError):
    """Another process writes this store now: this one must end, or open it anew."""

    def __init__(self) -> None:
        super().__init__("another replica has taken over this store", "this replica starts over and waits for its turn")


class DoubtError(UnavailableError):
    """Whether an entry was written is not known: the server does not answer."""


class Position(NamedTuple):
    """How far a copy is: the number of the last entry in it, and that entry's digest."""

    number: int = 0
    digest: str = ""


class Entry(Struct, frozen=True, array_like=True):
    """A commit as it is kept. previous is the digest of the entry before; chunks hold the payload if it is large."""

    number: int
    writer: str
    previous: str
    payload: bytes = b""
    chunks: tuple[str, ...] = ()


class Head(Struct, frozen=True, array_like=True):
    """The checkpoint: everything up to a number, as chunks of one file."""

    format: int
    number: int
    digest: str
    chunks: tuple[str, ...] = ()
    size: int = 0


_encode = msgspec.msgpack.encode
_entry = msgspec.msgpack.Decoder(Entry)
_head = msgspec.msgpack.Decoder(Head)


class Journal:
    """The journal of one store. read tells what there is; take_over makes this process the one that writes."""

    def __init__(self, cells: Cells, slots: int = SLOTS, piece: int = PIECE) -> None:
        self._cells, self._slots, self._piece = cells, slots, piece
        self._writer = secrets.token_hex(6)
        self._versions: dict[int, str] = {}
        self._kept: dict[int, Entry] = {}
        self._digests: dict[int, str] = {}
        self._last_writer = ""
        self._head = Head(FORMAT, 0, "")
        self._head_version = ""
        self._bytes = 0
        self.position = Position()

    # ---- Reading

    def read(self) -> Head:
        """Reads everything but payloads that are cut into chunks; the checkpoint that a copy can begin from."""
        self._versions, self._kept, self._bytes = {}, {}, 0
        found: dict[int, tuple[Entry, str]] = {}
        # Entries first: a checkpoint that is newer than they are includes those that took their place meanwhile.
        for cell in self._cells.all(_ENTRY):
            entry = _entry.decode(cell.content)
            self._versions[int(cell.name.removeprefix(_ENTRY))] = cell.version
            found[entry.number] = entry, _digest(cell.content)
        head = self._cells.get(_HEAD)
        self._head = _decoded_head(head) if head is not None else Head(FORMAT, 0, "")
        self._head_version = head.version if head is not None else ""
        self.position = Position(self._head.number, self._head.digest)
        while (following := found.get(self.position.number + 1)) is not None:
            entry, digest = following
            if entry.previous != self.position.digest:
                raise _damaged(f"entry {entry.number} does not follow the one before it")
            self._keep(entry)
            self.position = Position(entry.number, digest)
        newest = max(found, default=0)
        if newest > self.position.number:
            raise _damaged(f"entry {self.position.number + 1} is missing")
        self._last_writer = found[self.position.number][0].writer if self.position.number in found else ""
        # Older ones are no longer needed, but for telling how far a copy is.
        self._digests = {number: digest for number, (_, digest) in found.items()}
        self._digests[self._head.number] = self._head.digest
        return self._head

    def includes(self, position: Position) -> bool:
        """Whether a copy that is so far can go on from there."""
        return position.number >= self._head.number and self._digests.get(position.number) == position.digest

    def payloads(self, after: int) -> Iterator[tuple[Position, bytes]]:
        """What was written after an entry that is included."""
        for number in range(after + 1, self.position.number + 1):
            entry = self._kept[number]
            packed = b"".join(self._chunk(each) for each in entry.chunks) if entry.chunks else entry.payload
            yield Position(number, self._digests[number]), zlib.decompress(packed)

    def file(self) -> Iterator[bytes]:
        """The checkpoint, piece by piece."""
        for each in self._head.chunks:
            yield zlib.decompress(self._chunk(each))

    def _chunk(self, name: str) -> bytes:
        cell = self._cells.get(_PART + name)
        if cell is None or not name.endswith(_short(cell.content)):
            raise _damaged(f"chunk {name} is {'missing' if cell is None else 'not as it was written'}")
        return cell.content

    # ---- Writing

    @property
    def is_ours(self) -> bool:
        """Whether this process wrote the last entry that was read."""
        return self._last_writer == self._writer

    def take_over(self) -> Position:
        """Writes an entry that changes nothing: from then on what other processes began is refused."""
        return self.append(b"")

    def append(self, payload: bytes) -> Position:
        """Writes an entry. SupersededError if another process did; DoubtError if nobody answers."""
        number = self.position.number + 1
        if self.is_full:
            raise UnavailableError("the journal is full: no checkpoint could be written", "look at the log before this")
        packed = zlib.compress(payload, 1)
        chunks: tuple[str, ...] = ()
        if len(packed) > self._piece:
            chunks = tuple(self._written_chunk(each) for each in self._pieces(packed))
        entry = Entry(number, self._writer, self.position.digest, b"" if chunks else packed, chunks)
        content = _encode(entry)
        slot = number % self._slots
        self._versions[slot] = self._put(f"{_ENTRY}{slot:04d}", content, self._versions.get(slot, ""))
        self._keep(entry)
        self._bytes += len(packed) if chunks else 0
        self.position = Position(number, _digest(content))
        self._digests[number] = self.position.digest
        return self.position

    @property
    def is_full(self) -> bool:
        """Whether the next entry would take the place of one that no checkpoint includes."""
        return self.position.number + 1 - self._slots > self._head.number

    @property
    def wants_checkpoint(self) -> bool:
        """Half a round, or more bytes than the checkpoint itself has."""
        since = self.position.number - self._head.number
        return since >= self._slots // 2 or self._bytes > max(_MOST_BYTES, self._head.size)

    def checkpoint(self, content: Callable[[], bytes]) -> None:
        """Keeps a whole copy as it is at the last entry. Chunks that did not change since the last one stay.

        Entries that change nothing may follow it: position tells how far the journal is then.
        """
        copy = content()
        known = {each.rpartition("-")[2]: each for each in self._head.chunks}
        chunks = tuple(self._written_chunk(zlib.compress(each, 1), known) for each in self._pieces(copy))
        head = Head(FORMAT, *self.position, chunks, len(copy))
        body = _encode(head)
        try:
            self._head_version = self._put(_HEAD, body, self._head_version)
        except SupersededError:
            # A process before this one wrote its last checkpoint late: it includes less than this one. What includes as
            # much may be of the process that still writes, which removes the chunks of this one.
            found = self._cells.get(_HEAD)
            if found is None or _decoded_head(found).number >= head.number:
                raise
            self._head_version = self._put(_HEAD, body, found.version)
        self._head = head
        self._kept, self._bytes = {}, 0
        self._digests = {head.number: head.digest}
        self._remove_unneeded()

    def _remove_unneeded(self) -> None:
        """What was there before an entry that this process has just written, and that nothing needs."""
        names = self._cells.names(_PART)
        self.append(b"")
        # Entries before it are in the checkpoint, and this one has none.
        needed = {_PART + each for each in self._head.chunks}
        for each in names:
            if each not in needed:
                self._cells.delete(each)

    def _pieces(self, content: bytes) -> Iterator[bytes]:
        return (content[at : at + self._piece] for at in range(0, len(content), self._piece))

    def _keep(self, entry: Entry) -> None:
        self._kept[entry.number] = entry
        self._bytes += len(entry.payload)

    def _written_chunk(self, content: bytes, known: dict[str, str] | None = None) -> str:
        """The name of a chunk: who wrote it, since what another process may remove is not relied on, and its digest."""
        digest = _short(content)
        if known is not None and digest in known:
            return known[digest]
        name = f"{self._writer}-{digest}"
        self._put(_PART + name, content, "")
        return name

    def _put(self, name: str, content: bytes, version: str, tries: int = 3) -> str:
        """The new version of a cell. Where no answer came it is looked whether the write took place."""
        if not tries:
            raise DoubtError("the API server answers no write", "work goes on by itself once it does")
        try:
            return self._cells.replace(Cell(name, content, version)) if version else self._cells.create(name, content)
        except TakenError:
            found = self._look_again(name, "the API server answers no more")
            # A write that was sent twice by what lies between us and the server.
            if found is not None and found.content == content:
                return found.version
            raise SupersededError from None
        except UncertainError as error:
            found = self._look_again(name, str(error))
            if found is not None and found.content == content:
                return found.version
            # It did not take place, or not yet: of two of the same on one version only one can.
            return self._put(name, content, version, tries - 1)

    def _look_again(self, name: str, why: str) -> Cell | None:
        """What a cell holds after a write to it failed. While nobody tells, it is not known whether that took place."""
        try:
            return self._cells.get(name)
        except OutsideError:
            raise DoubtError(why, "work goes on by itself once the server answers") from None


def _decoded_head(cell: Cell) -> Head:
    number = msgspec.msgpack.decode(cell.content)[0]
    if number > FORMAT:
        raise UnusableError(f"the store was written by a newer release (format {number})", "upgrade Fleetform")
    return _head.decode(cell.content)


def _damaged(why: str) -> UnusableError:
    hint = "somebody changed Secrets of the store: restore them, or remove all of them to start over"
    return UnusableError(f"the journal is damaged: {why}", hint)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _short(content: bytes) -> str:
    return _digest(content)[:32]
