"""The store on disk: one SQLite file in WAL mode, written by one connection of one process.

That connection also checkpoints, and nobody else does: before 3.51.3 SQLite could lose pages when a checkpoint ran
beside another connection's commit.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime

import apsw
import msgspec

from fleetform.model.objects import Ref
from fleetform.ports.store import KEPT_IN_FEED, Commit, ConflictError, Delete, Put, UnusableError, refuse_doubles
from fleetform.store.audit_chain import chained
from fleetform.store.hold import hold
from fleetform.store.schema import bring_up_to_date, check_schema, quick_check
from fleetform.store.sqlite_errors import translated
from fleetform.store.sqlite_reader import BUSY_MILLISECONDS, Row, SqliteReader, number_of

# Above this size the log is emptied into the file and cut, not only reused.
_LONGEST_LOG = 64 * 1024 * 1024

_encode = msgspec.json.encode
# What is too old for the feed is taken out of it. Its key stays: it is never told again.
_FORGET = """UPDATE message SET body = x'', endpoint = '-' WHERE endpoint = '' AND organization = ?1 AND number <= (
    SELECT number FROM message WHERE endpoint = '' AND organization = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)"""

_GET_NUMBERED = "SELECT ?4, version, created, body FROM record WHERE kind = ?1 AND organization = ?2 AND name = ?3"


class SqliteStore(SqliteReader):
    """The one that writes. Opening it takes hold of the file until it is closed: a second one is refused."""

    def __init__(self, path: str) -> None:
        self._hold = hold(path)
        self._path = path
        try:
            with translated(path):
                _create_private(path)
                self._connection = apsw.Connection(path)
                self._connection.set_busy_timeout(BUSY_MILLISECONDS)
                if check_schema(self._connection, path) and (damage := quick_check(self._connection)) is not None:
                    raise UnusableError(f"{path} is damaged: {damage}", "restore a backup")
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute(f"PRAGMA journal_size_limit = {_LONGEST_LOG}")
                bring_up_to_date(self._connection, path)
        except BaseException:
            self._hold.release()
            raise

    def close(self) -> None:
        self._connection.close()
        self._hold.release()

    def commit(self, commit: Commit, at: datetime) -> int:
        if commit.is_empty:
            return self.version()
        with translated(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                before = self._connection.total_changes()
                version = self._store(commit, at)
                if self._connection.total_changes() != before:
                    self._seal(commit, at)
                self._connection.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have ended the transaction itself.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._cut_log()
        return version

    def _seal(self, commit: Commit, at: datetime) -> None:
        """Called when a commit is about to be stored; what it raises keeps it from being so."""

    def _store(self, commit: Commit, at: datetime) -> int:
        last, _ = self._counter()
        version = last + 1 if self._write(commit.writes, last + 1) else last
        self._connection.executemany(
            "INSERT INTO event (at, organization, cluster, plugin, body) VALUES (?, ?, ?, ?, ?)",
            [(number_of(e.at), e.organization, e.cluster, e.plugin, _encode(e)) for e in commit.events],
        )
        if commit.deeds:
            end = next(iter(self._rows("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1")), (0, ""))
            self._connection.executemany(
                "INSERT INTO audit VALUES (?, ?, ?, ?)",
                [
                    (entry.number, _encode(entry.deed), entry.previous, entry.hash)
                    for entry in chained(commit.deeds, *end)
                ],
            )
        self._connection.executemany(
            "INSERT INTO message (key, organization, endpoint, body, tries, due) VALUES (?, ?, ?, ?, 0, ?)"
            " ON CONFLICT (key) DO NOTHING",
            [
                (each.key, each.organization, each.endpoint, _encode(each), number_of(at) if each.endpoint else None)
                for each in commit.messages
            ],
        )
        self._connection.executemany(
            _FORGET, [(each, KEPT_IN_FEED) for each in sorted({each.organization for each in commit.messages})]
        )
        self._connection.executemany(
            "UPDATE message SET tries = tries + 1, due = ?1, body = iif(?1 IS NULL, x'', body) WHERE number = ?2",
            [(number_of(each.due) if each.due is not None else None, each.number) for each in commit.sent],
        )
        self._connection.executemany(
            "INSERT INTO blob VALUES (?, ?) ON CONFLICT (digest) DO NOTHING", list(commit.blobs)
        )
        return version

    def _write(self, writes: Sequence[Put | Delete], version: int) -> bool:
        """Stores records under a version; whether that changed anything.

        Statements are run over all of them at once: to begin one for each costs more than what it does.
        """
        refs = [write.ref for write in writes]
        refuse_doubles(writes)
        execute = self._connection.executemany
        known = {row[0]: row[1:] for row in execute(_GET_NUMBERED, [(*ref, number) for number, ref in enumerate(refs)])}
        past: list[Row] = []
        new: list[Row] = []
        other: list[Row] = []
        gone: list[Ref] = []
        for number, write in enumerate(writes):
            ref, row = write.ref, known.get(number)
            found = row[0] if row is not None else 0
            if write.expected is not None and found != write.expected:
                raise ConflictError(ref, write.expected, found)
            body = write.body if isinstance(write, Put) else None
            if row is None and body is not None:
                new.append((*ref, version, version, body))
            elif row is not None and row[2] != body:
                past.append((version, *ref, *row))
                if body is None:
                    gone.append(ref)
                else:
                    other.append((version, body, *ref))
        execute("INSERT INTO past VALUES (?, ?, ?, ?, ?, ?, ?)", past)
        execute("DELETE FROM removed WHERE kind = ? AND organization = ? AND name = ?", [row[:3] for row in new])
        execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", new)
        execute("UPDATE record SET version = ?, body = ? WHERE kind = ? AND organization = ? AND name = ?", other)
        execute("DELETE FROM record WHERE kind = ? AND organization = ? AND name = ?", gone)
        execute("INSERT OR REPLACE INTO removed VALUES (?, ?, ?, ?)", [(*ref, version) for ref in gone])
        changed = bool(new or past)
        if changed:
            self._connection.execute("UPDATE counter SET version = ?", (version,))
        return changed

    def compact(self, keep: int) -> None:
        with translated(self._path), self._connection:
            version, oldest = self._counter()
            floor = max(version - keep, oldest)
            self._connection.execute("UPDATE counter SET oldest = ?", (floor,))
            self._connection.execute("DELETE FROM past WHERE ended <= ?", (floor,))
            self._connection.execute("DELETE FROM removed WHERE version <= ?", (floor,))
        self._cut_log()

    def _cut_log(self) -> None:
        """A log that a reader kept open for long is emptied; where one still does, the next commit tries again."""
        if self.log_size() > _LONGEST_LOG:
            with suppress(apsw.BusyError):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def sweep(self, used: Collection[str]) -> int:
        with translated(self._path), self._connection:
            stored = [row[0] for row in self._connection.execute("SELECT digest FROM blob")]
            unused = [(digest,) for digest in stored if digest not in used]
            self._connection.executemany("DELETE FROM blob WHERE digest = ?", unused)
        return len(unused)

    def log_size(self) -> int:
        """The bytes of the write-ahead log: it grows while a reader keeps it open."""
        log = f"{self._path}-wal"
        return os.path.getsize(log) if os.path.exists(log) else 0


def _create_private(path: str) -> None:
    """A new database is for its user alone, and so is its log: the files that were accepted may hold Secrets.

    One that is there is never opened so: closing it would let go of locks that other connections have.
    """
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
