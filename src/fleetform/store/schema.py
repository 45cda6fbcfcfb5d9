"""The tables of the database, and the steps from each earlier version of them to this one."""

from __future__ import annotations

import apsw

from fleetform.ports.store import UnusableError

# Marks the file as ours, so that somebody else's database is refused and not changed ("flft").
APPLICATION_ID = 0x666C6674

_FIRST = """
-- Times are microseconds since 1970.
-- One row of numbers: the last version, and the oldest one that changes and lists can be asked for.
CREATE TABLE counter (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL, oldest INTEGER NOT NULL);
INSERT INTO counter VALUES (1, 0, 0);

CREATE TABLE record (
    kind TEXT NOT NULL, organization TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, created INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (kind, organization, name)
) WITHOUT ROWID;
CREATE INDEX record_version ON record (version);

-- What records were before: valid from a version to the one before ended. Lists of an earlier version are made of it.
CREATE TABLE past (
    kind TEXT NOT NULL, organization TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, ended INTEGER NOT NULL, created INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (kind, organization, name, version)
) WITHOUT ROWID;
CREATE INDEX past_ended ON past (ended);

CREATE TABLE removed (
    kind TEXT NOT NULL, organization TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (kind, organization, name)
) WITHOUT ROWID;
CREATE INDEX removed_version ON removed (version);

CREATE TABLE event (
    number INTEGER PRIMARY KEY, at INTEGER NOT NULL,
    organization TEXT NOT NULL, cluster TEXT NOT NULL, plugin TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX event_plugin ON event (organization, cluster, plugin, at);

CREATE TABLE audit (number INTEGER PRIMARY KEY, deed BLOB NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_holds BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- due is null once a message was sent or given up; its key stays, so that it is never sent again.
CREATE TABLE message (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL, tries INTEGER NOT NULL, due INTEGER
);
CREATE INDEX message_due ON message (due) WHERE due IS NOT NULL;

CREATE TABLE blob (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
"""

# Messages that are sent nowhere are the feed, which is read by organization, the latest first.
_FEED = """
ALTER TABLE message ADD COLUMN organization TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN endpoint TEXT NOT NULL DEFAULT '';
CREATE INDEX message_feed ON message (organization, number) WHERE endpoint = '';
"""

# What lies together is written together: the plugins of a preset (plugin before cluster), and what one commit replaces.
_TOGETHER = """
CREATE TABLE ended (
    ended INTEGER NOT NULL, kind TEXT NOT NULL, organization TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, created INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (ended, kind, organization, name)
) WITHOUT ROWID;
INSERT INTO ended SELECT ended, kind, organization, name, version, created, body FROM past;
DROP TABLE past;
ALTER TABLE ended RENAME TO past;
-- In two steps: one record's new name may be another's old one.
UPDATE record SET name = '/' || substr(name, instr(name, '/') + 1) || '/' || substr(name, 1, instr(name, '/') - 1)
    WHERE kind IN ('PluginState', 'Delivery');
UPDATE record SET name = substr(name, 2) WHERE kind IN ('PluginState', 'Delivery');
UPDATE past SET name = '/' || substr(name, instr(name, '/') + 1) || '/' || substr(name, 1, instr(name, '/') - 1)
    WHERE kind IN ('PluginState', 'Delivery');
UPDATE past SET name = substr(name, 2) WHERE kind IN ('PluginState', 'Delivery');
UPDATE removed SET name = '/' || substr(name, instr(name, '/') + 1) || '/' || substr(name, 1, instr(name, '/') - 1)
    WHERE kind IN ('PluginState', 'Delivery');
UPDATE removed SET name = substr(name, 2) WHERE kind IN ('PluginState', 'Delivery');
"""

# The step at index n leads from version n to version n + 1. Steps that were released are never changed.
STEPS: tuple[str, ...] = (_FIRST, _FEED, _TOGETHER)
NEWEST = len(STEPS)


def check_schema(connection: apsw.Connection, path: str) -> int:
    """The version of a database's tables. Refuses what is not ours and what a newer release wrote."""
    try:
        owner = _pragma(connection, "application_id")
        version = _pragma(connection, "user_version")
        empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    except apsw.NotADBError as error:
        raise UnusableError(f"{path} is not a database", "name another file, or restore a backup") from error
    if owner == 0 and version == 0 and empty:
        return 0
    if owner != APPLICATION_ID:
        raise UnusableError(f"{path} is a database of another program", "name another file")
    if version > NEWEST:
        hint = "upgrade Fleetform, or restore a backup that this release wrote"
        raise UnusableError(f"{path} was written by a newer release (version {version}; this one knows {NEWEST})", hint)
    return version


def bring_up_to_date(connection: apsw.Connection, path: str) -> None:
    """Takes the steps that a database lacks, each whole or not at all."""
    for version in range(check_schema(connection, path), NEWEST):
        with connection:
            for _ in connection.execute(STEPS[version]):
                pass
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version + 1}")


def quick_check(connection: apsw.Connection) -> str | None:
    """What is wrong with the pages of a database; None if nothing is."""
    found = connection.execute("PRAGMA quick_check(1)").get
    return None if found == "ok" else str(found)


def _pragma(connection: apsw.Connection, name: str) -> int:
    value = connection.execute(f"PRAGMA {name}").get
    return value if isinstance(value, int) else 0
