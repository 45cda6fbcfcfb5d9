"""SQLite's errors as a store's, with what a person can do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from fleetform.ports.store import UnavailableError, UnusableError


@contextmanager
def translated(path: str) -> Iterator[None]:
    """SQLite's errors as ours, with what a person can do."""
    try:
        yield
    except apsw.FullError as error:
        raise UnavailableError(f"the disk of {path} is full", "make room; work goes on by itself") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise UnavailableError(f"{path} is held by another process", "stop that one, or wait for it") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise UnusableError(f"{path} is damaged: {error}", "restore a backup") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise UnavailableError(f"{path} cannot be written: {error}", "check the folder's permissions") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnavailableError(f"{path} cannot be written: {reason}", "check the folder's permissions") from error
    except apsw.IOError as error:
        raise UnavailableError(f"{path} cannot be read or written: {error}", "check the disk") from error
