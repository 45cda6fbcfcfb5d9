"""The store on disk: one SQLite file in WAL mode, written by one connection of one process.

That connection also checkpoints, and nobody else does: before 3.51.3 SQLite could lose pages when a checkpoint ran
beside another connection's commit. Readers open the file read-only and end every read before they return, so that the
log never has to be kept for them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import apsw
import msgspec

from fleetform.model.objects import Ref
from fleetform.ports.store import (
    KEPT_IN_FEED,
    AuditEntry,
    Changes,
    Commit,
    ConflictError,
    Deed,
    Delete,
    Event,
    ExpiredError,
    Message,
    Notified,
    Outgoing,
    Page,
    Put,
    Record,
    UnusableError,
)
from fleetform.store.audit_chain import chained
from fleetform.store.hold import hold
from fleetform.store.schema import NEWEST, bring_up_to_date, check_schema, quick_check
from fleetform.store.sqlite_errors import translated

# Above this size the log is emptied into the file and cut, not only reused.
_LONGEST_LOG = 64 * 1024 * 1024
_BUSY_MILLISECONDS = 30_000
_EVERYTHING = -1

_encode = msgspec.json.encode
_deed = msgspec.json.Decoder(Deed)
_event = msgspec.json.Decoder(Event)
# What is too old for the feed is taken out of it. Its key stays: it is never told again.
_FORGET = """UPDATE message SET body = x'', endpoint = '-' WHERE endpoint = '' AND organization = ?1 AND number <= (
    SELECT number FROM message WHERE endpoint = '' AND organization = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)"""
_message = msgspec.json.Decoder(Message)
# A row as the tables are declared; types are SQLite's to keep.
_Row = tuple[Any, ...]


class SqliteReader:
    """Reads a store that another process may be writing."""

    def __init__(self, path: str) -> None:
        if not os.path.isfile(path):
            raise UnusableError(f"there is no database {path}", "`fleetform serve` makes one")
        self._path = path
        with translated(path):
            self._connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
        version = check_schema(self._connection, path)
        if version == 0:
            raise UnusableError(f"{path} is empty", "`fleetform serve` fills it")
        if version < NEWEST:
            raise UnusableError(f"{path} was written by an earlier release", "`fleetform serve` brings it up to date")

    def close(self) -> None:
        self._connection.close()

    def version(self) -> int:
        with self._reading():
            return self._counter()[0]

    def get(self, ref: Ref) -> Record | None:
        with self._reading():
            rows = self._rows(_GET, ref)
        return Record(ref, *rows[0]) if rows else None

    def list(
        self,
        kind: str,
        organization: str | None = None,
        *,
        limit: int = 0,
        after: Ref | None = None,
        version: int | None = None,
    ) -> Page:
        with self._one_state() as (now, oldest):
            asked = now if version is None else version
            if asked > now or asked < oldest:
                raise ExpiredError(asked, oldest)
            wanted = {
                "kind": kind,
                "organization": organization,
                "from_organization": after.organization if after is not None else "",
                "from_name": after.name if after is not None else "",
                "version": asked,
                "limit": limit + 1 if limit else _EVERYTHING,
            }
            rows = self._rows(_LIST if asked == now else _LIST_PAST, wanted)
        records = [Record(Ref(kind, row[0], row[1]), *row[2:]) for row in rows[: limit or None]]
        return Page(records, asked, records[-1].ref if limit and len(rows) > limit else None)

    def changes(self, since: int, limit: int = 0) -> Changes:
        with self._one_state() as (now, oldest):
            if since < oldest or since > now:
                raise ExpiredError(since, oldest)
            upto = self._end_of_changes(since, limit) if limit else now
            rows = self._rows(
                "SELECT kind, organization, name, version, created, body FROM record"
                " WHERE version > ? AND version <= ? ORDER BY version, kind, organization, name",
                (since, upto),
            )
            gone = self._rows(
                "SELECT kind, organization, name, version FROM removed"
                " WHERE version > ? AND version <= ? ORDER BY version, kind, organization, name",
                (since, upto),
            )
        records = [Record(Ref(*row[:3]), *row[3:]) for row in rows]
        return Changes(records, [(Ref(*row[:3]), row[3]) for row in gone], upto)

    def _end_of_changes(self, since: int, limit: int) -> int:
        """The version up to which about so many records changed: a commit is never handed out in parts."""
        found = self._connection.execute(
            "SELECT version FROM (SELECT version FROM record WHERE version > :since UNION ALL"
            " SELECT version FROM removed WHERE version > :since) ORDER BY version LIMIT 1 OFFSET :limit - 1",
            {"since": since, "limit": limit},
        ).get
        return found if isinstance(found, int) else self._counter()[0]

    def blob(self, digest: str) -> bytes | None:
        with self._reading():
            found = self._connection.execute("SELECT bytes FROM blob WHERE digest = ?", (digest,)).get
        return found if isinstance(found, bytes) else None

    def events(
        self,
        organization: str,
        cluster: str,
        plugin: str | None = None,
        until: datetime | None = None,
        limit: int = 0,
    ) -> Sequence[Event]:
        with self._reading():
            rows = self._rows(
                "SELECT body FROM event WHERE organization = :organization AND cluster = :cluster"
                " AND (:plugin IS NULL OR plugin = :plugin) AND (:until IS NULL OR at <= :until)"
                " ORDER BY at DESC, number DESC LIMIT :limit",
                {
                    "organization": organization,
                    "cluster": cluster,
                    "plugin": plugin,
                    "until": _number(until) if until is not None else None,
                    "limit": limit or _EVERYTHING,
                },
            )
        return [_event.decode(row[0]) for row in rows]

    def audit(self, after: int = 0, limit: int = 0) -> Sequence[AuditEntry]:
        with self._reading():
            rows = self._rows(
                "SELECT number, deed, previous, hash FROM audit WHERE number > ? ORDER BY number LIMIT ?",
                (after, limit or _EVERYTHING),
            )
        return [AuditEntry(number, _deed.decode(deed), previous, hash_) for number, deed, previous, hash_ in rows]

    def outbox(self, due: datetime, limit: int = 0) -> Sequence[Outgoing]:
        with self._reading():
            rows = self._rows(
                "SELECT number, body, tries, due FROM message WHERE due <= ? ORDER BY number LIMIT ?",
                (_number(due), limit or _EVERYTHING),
            )
        return [Outgoing(number, _message.decode(body), tries, _time(at)) for number, body, tries, at in rows]

    def feed(self, organization: str | None = None, *, before: int = 0, limit: int = 0) -> Sequence[Notified]:
        with self._reading():
            rows = self._rows(
                "SELECT number, body FROM message WHERE endpoint = ''"
                " AND (:organization IS NULL OR organization = :organization) AND (:before = 0 OR number < :before)"
                " ORDER BY number DESC LIMIT :limit",
                {"organization": organization, "before": before, "limit": limit or _EVERYTHING},
            )
        return [Notified(number, _message.decode(body)) for number, body in rows]

    def told(self, keys: Collection[str]) -> frozenset[str]:
        with self._reading():
            asked = _encode(sorted(keys)).decode()
            rows = self._rows("SELECT key FROM message WHERE key IN (SELECT value FROM json_each(?))", (asked,))
        return frozenset(row[0] for row in rows)

    def _reading(self) -> AbstractContextManager[None]:
        """Around everything that reads."""
        return translated(self._path)

    def _rows(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> Sequence[_Row]:
        return self._connection.execute(statement, values).fetchall()

    def _counter(self) -> tuple[int, int]:
        version, oldest = self._rows("SELECT version, oldest FROM counter")[0]
        return version, oldest

    @contextmanager
    def _one_state(self) -> Iterator[tuple[int, int]]:
        """Several statements that see one state of the file: the last version and the oldest that is remembered."""
        with self._reading():
            self._connection.execute("BEGIN")
            try:
                yield self._counter()
            finally:
                self._connection.execute("COMMIT")


class SqliteStore(SqliteReader):
    """The one that writes. Opening it takes hold of the file until it is closed: a second one is refused."""

    def __init__(self, path: str) -> None:
        self._hold = hold(path)
        self._path = path
        try:
            with translated(path):
                _create_private(path)
                self._connection = apsw.Connection(path)
                self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
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
            [(_number(e.at), e.organization, e.cluster, e.plugin, _encode(e)) for e in commit.events],
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
                (each.key, each.organization, each.endpoint, _encode(each), _number(at) if each.endpoint else None)
                for each in commit.messages
            ],
        )
        self._connection.executemany(
            _FORGET, [(each, KEPT_IN_FEED) for each in sorted({each.organization for each in commit.messages})]
        )
        self._connection.executemany(
            "UPDATE message SET tries = tries + 1, due = ?1, body = iif(?1 IS NULL, x'', body) WHERE number = ?2",
            [(_number(each.due) if each.due is not None else None, each.number) for each in commit.sent],
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
        if len(set(refs)) < len(refs):
            twice = next(ref for ref, count in Counter(refs).items() if count > 1)
            raise ValueError(f"{twice} is written twice in one commit")
        execute = self._connection.executemany
        known = {row[0]: row[1:] for row in execute(_GET_NUMBERED, [(*ref, number) for number, ref in enumerate(refs)])}
        past: list[_Row] = []
        new: list[_Row] = []
        other: list[_Row] = []
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


_GET = "SELECT version, created, body FROM record WHERE kind = ? AND organization = ? AND name = ?"

_GET_NUMBERED = "SELECT ?4, version, created, body FROM record WHERE kind = ?1 AND organization = ?2 AND name = ?3"

_LIST = """
SELECT organization, name, version, created, body FROM record
WHERE kind = :kind AND (organization, name) > (:from_organization, :from_name)
  AND (:organization IS NULL OR organization = :organization)
ORDER BY organization, name LIMIT :limit
"""

_LIST_PAST = """
SELECT organization, name, version, created, body FROM (
    SELECT * FROM (SELECT organization, name, version, created, body FROM record
        WHERE kind = :kind AND version <= :version)
    UNION ALL
    SELECT organization, name, version, created, body FROM past
        WHERE kind = :kind AND version <= :version AND :version < ended)
WHERE (organization, name) > (:from_organization, :from_name)
  AND (:organization IS NULL OR organization = :organization)
ORDER BY organization, name LIMIT :limit
"""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _create_private(path: str) -> None:
    """A new database is for its user alone, and so is its log: the files that were accepted may hold Secrets.

    One that is there is never opened so: closing it would let go of locks that other connections have.
    """
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


@lru_cache(64)
def _number(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _time(number: int) -> datetime:
    return _EPOCH + number * _MICROSECOND
