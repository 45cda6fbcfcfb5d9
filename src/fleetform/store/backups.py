"""Backups of a database: a whole copy at one moment, taken while it is in use; checked before it is put in place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw

from fleetform.ports.store import UnusableError
from fleetform.store.audit_chain import first_broken
from fleetform.store.hold import hold
from fleetform.store.replacing import has_log, remove_database, replace_database, sync, sync_folder
from fleetform.store.schema import bring_up_to_date, check_schema, quick_check
from fleetform.store.sqlite_errors import translated
from fleetform.store.sqlite_reader import BUSY_MILLISECONDS, audit_entries

_NO_BACKUP = "name a backup that `fleetform backup` wrote"


def back_up(path: str, target: str) -> None:
    """Writes a checked copy; an existing file is replaced only once the copy is whole.

    The copy stays at the version that the database has, so that one can be taken before a new release changes it.
    """
    if not os.path.isfile(path):
        raise UnusableError(f"there is no database {path}", "`fleetform serve` makes one")
    if has_log(target):
        # What has it open would write on into a file without a name, and its log would be played into the copy.
        message = f"{target} is a database that is in use, or whose process was killed"
        raise UnusableError(message, "name another file for the backup")
    with _partial(target) as partial:
        with _opened(path, "`fleetform serve` fills it") as database:
            _copy(database, partial, target)
        with translated(path), closing(apsw.Connection(partial, flags=apsw.SQLITE_OPEN_READONLY)) as copy:
            _refuse_damaged(copy, path)
        sync(partial)
        os.replace(partial, target)
        sync_folder(target)


def restore(backup: str, path: str) -> str | None:
    """Puts a backup in place of a database that nobody holds; answers where what was there is kept."""
    check(backup)
    # A link stays one: what it leads to is replaced, beside which the lock and the log lie.
    path = os.path.realpath(path) if os.path.islink(path) else path
    held = hold(path)
    try:
        with _partial(path) as partial:
            with _opened(backup, _NO_BACKUP) as whole:
                _copy(whole, partial, path)
            with translated(path), closing(apsw.Connection(partial)) as copy:
                bring_up_to_date(copy, backup)
                _refuse_damaged(copy, backup)
            return replace_database(partial, path)
    finally:
        held.release()


def check(path: str) -> None:
    """Refuses what is damaged, in its pages or its audit log, and what no release up to this one wrote."""
    if not os.path.isfile(path):
        raise UnusableError(f"there is no file {path}", _NO_BACKUP)
    with _opened(path, _NO_BACKUP) as backup:
        _refuse_damaged(backup, path)


@contextmanager
def _partial(target: str) -> Iterator[str]:
    """Where a copy is made that is to become the target: nothing is there before, nor left afterwards."""
    partial = f"{target}.part"
    remove_database(partial)
    try:
        yield partial
    finally:
        remove_database(partial)


@contextmanager
def _opened(path: str, if_empty: str) -> Iterator[apsw.Connection]:
    """A database of this release or an earlier one, to be read, also while another process writes it."""
    with translated(path), closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        if check_schema(connection, path) == 0:
            raise UnusableError(f"{path} is empty", if_empty)
        yield connection


def _refuse_damaged(connection: apsw.Connection, path: str) -> None:
    """Says it of a path, as the connection may be to a copy that nobody knows of."""
    if (damage := quick_check(connection)) is not None:
        raise UnusableError(f"{path} is damaged: {damage}", "restore a backup that is intact")
    if (broken := first_broken(audit_entries(connection))) is not None:
        raise UnusableError(f"the audit log of {path} was changed at entry {broken}", "restore a backup that is intact")


def _copy(database: apsw.Connection, partial: str, target: str) -> None:
    """A database at one moment, in one file."""
    # Made first, for its user alone. What keeps it from being written is said of the target, and not of the database.
    with translated(target):
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    database.execute("VACUUM INTO ?", (partial,))
