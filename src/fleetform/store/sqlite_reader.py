"""Reading the store on disk, also while another process writes it.

Readers open the file read-only and end every read before they return, so that the log never has to be kept for them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import apsw
import msgspec

from fleetform.model.objects import Ref
from fleetform.ports.store import (
    AuditEntry,
    Changes,
    Deed,
    Event,
    ExpiredError,
    Message,
    Notified,
    Outgoing,
    Page,
    Record,
    UnusableError,
)
from fleetform.store.schema import NEWEST, check_schema
from fleetform.store.sqlite_errors import translated

BUSY_MILLISECONDS = 30_000
_EVERYTHING = -1

_deed = msgspec.json.Decoder(Deed)
_event = msgspec.json.Decoder(Event)
_message = msgspec.json.Decoder(Message)
# A row as the tables are declared; types are SQLite's to keep.
Row = tuple[Any, ...]


class SqliteReader:
    """Reads a store that another process may be writing."""

    def __init__(self, path: str) -> None:
        if not os.path.isfile(path):
            raise UnusableError(f"there is no database {path}", "`fleetform serve` makes one")
        self._path = path
        with translated(path):
            self._connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            self._connection.set_busy_timeout(BUSY_MILLISECONDS)
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
                    "until": number_of(until) if until is not None else None,
                    "limit": limit or _EVERYTHING,
                },
            )
        return [_event.decode(row[0]) for row in rows]

    def audit(self, after: int = 0, limit: int = 0) -> Sequence[AuditEntry]:
        with self._reading():
            return list(audit_entries(self._connection, after, limit))

    def outbox(self, due: datetime, limit: int = 0) -> Sequence[Outgoing]:
        with self._reading():
            rows = self._rows(
                "SELECT number, body, tries, due FROM message WHERE due <= ? ORDER BY number LIMIT ?",
                (number_of(due), limit or _EVERYTHING),
            )
        return [Outgoing(number, _message.decode(body), tries, time_of(at)) for number, body, tries, at in rows]

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
            asked = msgspec.json.encode(sorted(keys)).decode()
            rows = self._rows("SELECT key FROM message WHERE key IN (SELECT value FROM json_each(?))", (asked,))
        return frozenset(row[0] for row in rows)

    def _reading(self) -> AbstractContextManager[None]:
        """Around everything that reads."""
        return translated(self._path)

    def _rows(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> Sequence[Row]:
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


_GET = "SELECT version, created, body FROM record WHERE kind = ? AND organization = ? AND name = ?"

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


def audit_entries(connection: apsw.Connection, after: int = 0, limit: int = 0) -> Iterator[AuditEntry]:
    """Also of a database of an earlier release: no step touches the audit log, as nobody may change it."""
    rows = connection.execute(
        "SELECT number, deed, previous, hash FROM audit WHERE number > ? ORDER BY number LIMIT ?",
        (after, limit or _EVERYTHING),
    )
    for number, deed, previous, hash_ in rows:
        yield AuditEntry(number, _deed.decode(deed), previous, hash_)


@lru_cache(64)
def number_of(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def time_of(number: int) -> datetime:
    return _EPOCH + number * _MICROSECOND
