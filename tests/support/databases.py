"""Databases as earlier releases wrote them."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime

import apsw
import msgspec

from fleetform.ports.store import Deed
from fleetform.store.audit_chain import chained
from fleetform.store.schema import APPLICATION_ID, STEPS

_DEED = Deed(datetime(2026, 3, 2, 12, 0, tzinfo=UTC), "ann", "rollout pause", "web-1", "done")


def write_database(path: str, version: int) -> None:
    """The steps up to a version, and rows as they were then.

    It has one Rollout, web-1, `{}` at version 7 and `[]` before, a blob and two entries of the audit log."""
    with closing(apsw.Connection(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for step in STEPS[:version]:
            for _ in connection.execute(step):
                pass
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("UPDATE counter SET version = 7, oldest = 3")
        connection.execute("INSERT INTO record VALUES ('Rollout', 'acme', 'web-1', 7, 4, x'7b7d')")
        past = "INSERT INTO past (kind, organization, name, version, ended, created, body) VALUES"
        connection.execute(f"{past} ('Rollout', 'acme', 'web-1', 4, 7, 4, x'5b5d')")
        connection.executemany(
            "INSERT INTO audit VALUES (?, ?, ?, ?)",
            [
                (each.number, msgspec.json.encode(each.deed), each.previous, each.hash)
                for each in chained([_DEED] * 2, 0, "")
            ],
        )
        connection.execute("INSERT INTO blob VALUES ('sha256:1', x'00')")


def version_of(path: str) -> int:
    """The version of a database's tables."""
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        found = connection.execute("PRAGMA user_version").get
        assert isinstance(found, int)
        return found
