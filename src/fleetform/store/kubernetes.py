"""The store on Kubernetes: a database of this replica, and a journal on the API server that it is a copy of.

A commit is made in the database, written to the journal, and only then stored here: what is in the journal has
happened, and what is not has not. A replica that begins takes its own copy if that is one of the journal, or the last
checkpoint, and adds the entries that followed. So everything that reads a database works here as it does elsewhere,
and a pass that changes nothing asks the API server nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime

import apsw
import msgspec
from msgspec import Struct

from fleetform.model.objects import Ref
from fleetform.outside.errors import OutsideError
from fleetform.ports.store import (
    Commit,
    Deed,
    Delete,
    Event,
    Message,
    Put,
    Sent,
    StoreError,
    UnavailableError,
    UnusableError,
)
from fleetform.store.cells import Cells
from fleetform.store.journal import PIECE, SLOTS, DoubtError, Journal, Position, SupersededError
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_errors import translated

_POSITION = (
    "CREATE TABLE IF NOT EXISTS journal (only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER, digest TEXT)"
)


class KubernetesStore(SqliteStore):
    """path is where this replica has its copy. Opening it makes this process the one that writes the journal."""

    def __init__(self, path: str, cells: Cells, slots: int = SLOTS, piece: int = PIECE) -> None:
        self._journal = Journal(cells, slots, piece)
        self._doubts = False
        with _reached():
            _prepare(path, self._journal)
        super().__init__(path)
        try:
            with translated(path), _reached():
                # What is lost here is in the journal; the file itself stays sound.
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute(_POSITION)
                self._take_in()
                if self._journal.is_full:
                    self.checkpoint()
                self._stand_at(self._journal.take_over())
        except BaseException:
            self.close()
            raise

    def commit(self, commit: Commit, at: datetime) -> int:
        self._settle()
        if self._journal.is_full:
            self.checkpoint()
        version = super().commit(commit, at)
        if self._journal.wants_checkpoint:
            # The commit is stored; where a checkpoint fails, the next commit tries again.
            with suppress(UnavailableError):
                self.checkpoint()
        return version

    def checkpoint(self) -> None:
        """Keeps a whole copy on the API server, so that earlier entries are no longer needed."""
        with _reached(), translated(self._path):
            try:
                self._journal.checkpoint(lambda: self._connection.serialize("main"))
            except DoubtError:
                self._doubts = True
                raise
            self._stand_at(self._journal.position)

    def _seal(self, commit: Commit, at: datetime) -> None:
        with _reached():
            try:
                position = self._journal.append(_encoded(commit, at))
            except DoubtError:
                self._doubts = True
                raise
            self._stand_at(position)

    def _reading(self) -> AbstractContextManager[None]:
        self._settle()
        return super()._reading()

    def _settle(self) -> None:
        """After a write that nobody answered: finds out whether it took place, before anything is read or written."""
        if not self._doubts:
            return
        with _reached(), translated(self._path):
            self._journal.read()
            if not self._journal.includes(self._position()) or not self._journal.is_ours:
                raise SupersededError
            self._take_in()
            self._doubts = False

    def _take_in(self) -> None:
        """Stores entries that this copy has not."""
        for position, payload in self._journal.payloads(self._position().number):
            with self._connection:
                if payload:
                    self._store(*_decoded(payload))
                self._stand_at(position)

    def _position(self) -> Position:
        return _position_of(self._connection)

    def _stand_at(self, position: Position) -> None:
        self._connection.execute("INSERT OR REPLACE INTO journal VALUES (1, ?, ?)", position)


def _prepare(path: str, journal: Journal) -> None:
    """Leaves a file that the journal can go on from: the copy that is there, or the checkpoint."""
    for last in (False, True):
        journal.read()
        if os.path.exists(path) and journal.includes(_standing(path)):
            return
        for leftover in (path, f"{path}-wal", f"{path}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)
        try:
            _restore(path, journal)
            return
        except UnusableError:
            # Its chunks may have been replaced by those of a later one while they were read.
            if last:
                raise


def _restore(path: str, journal: Journal) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    partial = f"{path}.part"
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for piece in journal.file():
            file.write(piece)
    if os.path.getsize(partial):
        os.replace(partial, path)
    else:
        os.unlink(partial)


def _standing(path: str) -> Position:
    """How far a copy is; one that cannot be read is at no entry of any journal."""
    try:
        connection = apsw.Connection(path)
        try:
            return _position_of(connection)
        finally:
            connection.close()
    except apsw.Error:
        return Position(-1)


def _position_of(connection: apsw.Connection) -> Position:
    connection.execute(_POSITION)
    found = connection.execute("SELECT number, digest FROM journal").fetchone()
    return msgspec.convert(found, Position) if found is not None else Position()


class _JournalCommit(Struct, frozen=True, array_like=True):
    """A commit as bytes: a write without a body removes."""

    at: datetime
    writes: list[tuple[str, str, str, bytes | None]]
    events: list[Event]
    deeds: list[Deed]
    messages: list[Message]
    sent: list[tuple[int, datetime | None]]
    blobs: list[tuple[str, bytes]]


_commit = msgspec.msgpack.Decoder(_JournalCommit)


def _encoded(commit: Commit, at: datetime) -> bytes:
    writes = [(*each.ref, each.body if isinstance(each, Put) else None) for each in commit.writes]
    return msgspec.msgpack.encode(
        _JournalCommit(
            at,
            writes,
            list(commit.events),
            list(commit.deeds),
            list(commit.messages),
            [(each.number, each.due) for each in commit.sent],
            list(commit.blobs),
        )
    )


def _decoded(payload: bytes) -> tuple[Commit, datetime]:
    found = _commit.decode(payload)
    writes = [Put(Ref(*ref), body) if body is not None else Delete(Ref(*ref)) for *ref, body in found.writes]
    sent = [Sent(*each) for each in found.sent]
    return Commit(writes, found.events, found.deeds, found.messages, sent, found.blobs), found.at


@contextmanager
def _reached() -> Iterator[None]:
    """Failures of the API server as those of a store."""
    try:
        yield
    except StoreError:
        raise
    except OutsideError as error:
        raise UnavailableError(f"the API server: {error.message}", error.hint) from error
