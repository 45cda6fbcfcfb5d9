"""Backups of a database: a whole copy at one moment, taken while it is in use; checked before it is put in place."""

from __future__ import annotations

import os

import apsw

from fleetform.ports.store import UnavailableError, UnusableError
from fleetform.store.audit_chain import first_broken
from fleetform.store.hold import hold
from fleetform.store.schema import bring_up_to_date, check_schema, quick_check
from fleetform.store.sqlite_errors import translated
from fleetform.store.sqlite_reader import SqliteReader


def back_up(path: str, target: str) -> None:
    """Writes a checked copy; an existing file is replaced only once the copy is whole."""
    SqliteReader(path).close()
    partial = f"{target}.part"
    _remove(partial)
    try:
        # Made first: what keeps it from being written is said of the copy, and not of the database.
        with translated(target):
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        with translated(path):
            connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            try:
                connection.execute("VACUUM INTO ?", (partial,))
            finally:
                connection.close()
        check(partial)
        _settle(partial, target)
    finally:
        _remove(partial)


def restore(backup: str, path: str) -> None:
    """Puts a backup in place of a database that nobody holds; what was there stays beside it as `.before-restore`."""
    check(backup)
    held = hold(path)
    try:
        partial = f"{path}.part"
        _remove(partial)
        with translated(backup):
            connection = apsw.Connection(backup, flags=apsw.SQLITE_OPEN_READONLY)
            try:
                connection.execute("VACUUM INTO ?", (partial,))
            finally:
                connection.close()
        with translated(partial):
            connection = apsw.Connection(partial)
            try:
                bring_up_to_date(connection, backup)
            finally:
                connection.close()
        if os.path.exists(path):
            # What the log holds belongs to the file: it is kept whole, or the two would not fit together.
            _take_in_log(path)
            os.replace(path, f"{path}.before-restore")
        for leftover in (f"{path}-wal", f"{path}-shm"):
            _remove(leftover)
        _settle(partial, path)
    finally:
        held.release()


def _take_in_log(path: str) -> None:
    with translated(path):
        connection = apsw.Connection(path)
        try:
            # In SQL, which opens the file first: a connection that has read nothing yet knows of no log.
            [(busy, *_)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
    if busy:
        raise UnavailableError(f"another process reads {path} just now", "end what reads it, and restore again")


def check(path: str) -> None:
    """Refuses a database that is damaged, in its pages or in its audit log."""
    if not os.path.isfile(path):
        raise UnusableError(f"there is no file {path}", "name a backup that `fleetform backup` wrote")
    with translated(path):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if check_schema(connection, path) == 0:
                raise UnusableError(f"{path} is empty", "name a backup that `fleetform backup` wrote")
            damage = quick_check(connection)
        finally:
            connection.close()
    if damage is not None:
        raise UnusableError(f"{path} is damaged: {damage}", "restore another backup")
    reader = SqliteReader(path)
    try:
        broken = first_broken(reader.audit())
    finally:
        reader.close()
    if broken is not None:
        raise UnusableError(f"the audit log of {path} was changed at entry {broken}", "restore another backup")


def _settle(partial: str, target: str) -> None:
    """Into place for good: the bytes first, then the name."""
    for name, flags in ((partial, os.O_RDONLY),):
        handle = os.open(name, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    os.chmod(partial, 0o600)
    os.replace(partial, target)
    folder = os.open(os.path.dirname(os.path.abspath(target)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
