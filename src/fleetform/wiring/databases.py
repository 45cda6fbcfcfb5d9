"""Databases of control planes, and states: read, copied, put in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetform.app.errors import StateError
from fleetform.load.state import StateFile
from fleetform.ports.state import StateStore
from fleetform.wiring.clock import SystemClock

if TYPE_CHECKING:
    from fleetform.store.sqlite_reader import SqliteReader


DATABASE = "sqlite:.fleetform/fleet.db"


def database_path(state: str | None) -> str:
    """The file of a database that --state names, or the usual one."""
    if state is not None and not state.startswith("sqlite:"):
        raise StateError(f"{state} is a state export, no database", "give --state sqlite:PATH")
    path = (state or DATABASE).removeprefix("sqlite:")
    if not path:
        # SQLite would take it for a database of the moment, and forget it.
        raise StateError("--state sqlite: names no file", "give --state sqlite:PATH")
    return path


def open_state(name: str) -> StateStore:
    """Where `--state` keeps what is known."""
    if not name.startswith("sqlite:"):
        return StateFile(name)
    from fleetform.store.sqlite_state import SqliteState

    return SqliteState(database_path(name), SystemClock(None))


def open_store_reader(state: str | None) -> SqliteReader:
    """A control plane's database, to be read; it may be in use."""
    from fleetform.store.sqlite_reader import SqliteReader

    return SqliteReader(database_path(state))


def export_state(state: str | None, file: str) -> None:
    """Writes what a database says as a state export."""
    from fleetform.store.sqlite_state import SqliteState

    StateFile(file).write(SqliteState(database_path(state), SystemClock(None)).read())


def back_up_database(state: str | None, file: str) -> None:
    from fleetform.store.backups import back_up

    back_up(database_path(state), file)


def check_backup(file: str) -> None:
    from fleetform.store.backups import check

    check(file)


def restore_database(file: str, state: str | None) -> str | None:
    """Answers where what was there is kept."""
    from fleetform.store.backups import restore

    return restore(file, database_path(state))


def sqlite_version() -> str:
    """The version of SQLite that databases are read and written with."""
    import apsw

    return str(apsw.sqlite_lib_version())
