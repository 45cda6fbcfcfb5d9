"""Putting a database in place of another, which is kept beside it under a name of its own.

At every moment there is a database at the path, the old one or the new one: no process finds none there and begins an
empty one. And nothing that SQLite kept beside the old one is there when the new one comes: a log is taken for that of
the file whose name it bears, and would be played into it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count

import apsw

from fleetform.ports.store import UnavailableError, UnusableError
from fleetform.store.sqlite_errors import translated

# What holds content beside a file: the log of one in WAL mode, and the journal of another.
_LOGS = ("-wal", "-journal")
_INDEX_OF_LOG = "-shm"


def replace_database(new: str, path: str) -> str | None:
    """Puts a new database, whole and in the same folder, in place of one that the caller holds.

    Answers where the one that was there is kept; None if there was none.
    """
    with translated(path):
        sync(new)
        kept = None
        if os.path.exists(path):
            _take_in_log(path)
            kept = next(each for each in _names(path) if _is_free(each, path))
            _keep(path, kept)
        remove_beside(path)
        sync_folder(path)
        os.replace(new, path)
        sync_folder(path)
    return kept


def has_log(path: str) -> bool:
    return any(os.path.exists(f"{os.path.realpath(path)}{each}") for each in _LOGS)


def remove_database(path: str) -> None:
    """With what lies beside it."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    remove_beside(path)


def remove_beside(path: str) -> None:
    for each in (*_LOGS, _INDEX_OF_LOG):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{each}")


def sync(path: str) -> None:
    """What a file or folder holds is on the disk once this returns."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: str) -> None:
    """What names the folder of a path has is on the disk once this returns."""
    sync(os.path.dirname(os.path.abspath(path)))


def _take_in_log(path: str) -> None:
    """What the log holds belongs to the file: once it is in there, the file alone is the database."""
    busy = False
    # One that is too damaged for that is kept as it is, log and all.
    with suppress(UnusableError), translated(path), closing(apsw.Connection(path)) as connection:
        # In SQL, which opens the file first: a connection that has read nothing yet knows of no log.
        [(busy, *_)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if busy:
        raise UnavailableError(f"another process reads {path} just now", "end what reads it, and restore again")


def _names(path: str) -> Iterator[str]:
    yield f"{path}.before-restore"
    for number in count(2):
        yield f"{path}.before-restore-{number}"


def _is_free(name: str, path: str) -> bool:
    """Also if it is the very database: a replacement ended before it was done, and had got as far as that."""
    return all(
        not os.path.lexists(f"{name}{each}")
        or (os.path.exists(f"{path}{each}") and os.path.samefile(f"{name}{each}", f"{path}{each}"))
        for each in ("", *_LOGS, _INDEX_OF_LOG)
    )


def _keep(path: str, name: str) -> None:
    """Gives a database a second name. Its log goes first: where the file is, the log that belongs to it is, too."""
    for each in _LOGS:
        if os.path.exists(f"{path}{each}") and os.path.getsize(f"{path}{each}"):
            _give_name(f"{path}{each}", f"{name}{each}")
    _give_name(path, name)
    sync_folder(path)


def _give_name(path: str, name: str) -> None:
    if os.path.lexists(name):
        return
    try:
        os.link(path, name)
    except OSError:
        # Not on every file system, nor for everybody's files.
        _copy_file(path, name)


def _copy_file(path: str, name: str) -> None:
    """For its user alone, and under its name only once it is whole."""
    partial = f"{name}.part"
    with suppress(FileNotFoundError):
        os.unlink(partial)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        shutil.copyfile(path, partial)
        sync(partial)
        os.rename(partial, name)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise
