"""What is known, kept in a database: for verbs that read or change it while no control plane runs on it."""

from __future__ import annotations

from fleetform.app.errors import StateError
from fleetform.ports.clock import Clock
from fleetform.ports.state import KnownState
from fleetform.ports.store import Commit, StoreError, UnavailableError
from fleetform.store.known_state import read_known_state, read_with_troubles, writes_between
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader


class HeldStateError(StateError):
    """A control plane holds the database: exit 4."""

    exit_code = 4


class SqliteState:
    """The state in a database. Reading disturbs nobody; writing needs that nobody holds it."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path, self._clock = path, clock

    def read(self) -> KnownState:
        try:
            reader = SqliteReader(self._path)
            try:
                return read_with_troubles(reader, self._path)
            finally:
                reader.close()
        except StoreError as error:
            raise StateError(error.message, error.hint) from error

    def write(self, known: KnownState) -> None:
        try:
            store = SqliteStore(self._path)
            try:
                store.commit(Commit(writes_between(read_known_state(store, self._path), known)), self._clock.now())
            finally:
                store.close()
        except UnavailableError as error:
            raise HeldStateError(error.message, error.hint) from error
        except StoreError as error:
            raise StateError(error.message, error.hint) from error
