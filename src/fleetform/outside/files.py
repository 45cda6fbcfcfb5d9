"""Files, read and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence

# A file in a folder of rendered objects, so that they are not read as a fleet.
OUTPUT_MARK = ".fleetform-output"

# Far above any manifest; an export of 10,000 clusters has a tenth of it.
MAX_FILE = 256 * 1024 * 1024
_PIECE = 1024 * 1024
# Longer than the coarsest clock of a file system.
_SETTLED = 2_000_000_000
_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)


def read_file(path: str, limit: int = MAX_FILE) -> bytes:
    """The bytes of a regular file; OSError for anything else, and for a file that is too large.

    Links are followed: what they lead to may be a device that never ends, or a pipe that nobody writes to.
    """
    _refuse_irregular(os.stat(path), path)
    # It may have been replaced in between: never wait for a writer, and look again.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        _refuse_irregular(status, path)
        # Without a file object, whose buffer costs more than the many small files of a fleet: one byte more than there
        # should be tells that all was read.
        content = os.read(handle, min(status.st_size, limit) + 1)
        while len(content) <= limit and (more := os.read(handle, min(limit + 1 - len(content), _PIECE))):
            content += more
    finally:
        os.close(handle)
    if len(content) > limit:
        raise OSError(errno.EFBIG, too_large(limit), path)
    return content


class KnownFiles:
    """Files that are read again and again: one whose size, times and inode are as they were is not read anew.

    What was changed just now may be changed once more without looking different, and is not trusted.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._last: dict[str, tuple[tuple[int, ...], bytes]] = {}
        self._now: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def read(self, path: str) -> bytes:
        status = os.stat(path)
        mark = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._last.get(path)
        content = known[1] if known is not None and known[0] == mark else read_file(path)
        if self._clock() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED:
            self._now[path] = mark, content
        return content

    def finish(self) -> None:
        """The end of a reading: what was not read in it is forgotten."""
        self._last, self._now = self._now, {}


def too_large(limit: int) -> str:
    """Why something is not read that has more bytes than this."""
    return f"it is larger than {limit >> 20:,} MB" if limit >> 20 else f"it is larger than {limit:,} bytes"


def reason(error: OSError) -> str:
    """Why a file cannot be read or written, as a part of a sentence."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def _refuse_irregular(status: os.stat_result, path: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    for is_kind, why in _KINDS:
        if is_kind(status.st_mode):
            raise OSError(errno.EINVAL, why, path)


class LocalFiles:
    """The files of this machine."""

    def read(self, name: str) -> str:
        if not os.path.isfile(name):
            raise FileNotFoundError(f"{name} is not a file of this machine")
        return read_file(name).decode()


class LocalTree:
    """The files of this machine, by absolute paths; ignored ones count as missing."""

    def __init__(self, ignored: Collection[str] = ()) -> None:
        self._ignored = ignored

    def real(self, place: str) -> str | None:
        """The path with all links followed; None if it does not exist."""
        try:
            found = os.path.realpath(place, strict=True)
        except OSError:
            return None
        return None if found in self._ignored else found

    def link(self, place: str) -> str | None:
        """The target of a link as it is written; None if the path is not a link."""
        return os.readlink(place) if os.path.islink(place) else None

    def is_file(self, place: str) -> bool:
        return os.path.isfile(place)

    def is_submodule(self, place: str) -> bool:
        """A checked-out submodule is a folder like any other."""
        return False

    def names(self, place: str) -> list[str]:
        """The names in a folder; none if it is not a folder."""
        if not os.path.isdir(place):
            return []
        return sorted(name for name in os.listdir(place) if os.path.join(place, name) not in self._ignored)

    def read(self, places: Sequence[str]) -> Iterator[bytes]:
        for place in places:
            yield read_file(place)


def write_file(path: str, text: str) -> None:
    """Write a text; an existing file keeps its permissions, and a link to it stays a link."""
    path = os.path.realpath(path)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _replace(path, text.encode(), mode)


def write_private(path: str, content: bytes) -> None:
    """Write bytes that only this user may read."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    _replace(path, content, 0o600)


def is_private_folder(path: str) -> bool:
    """Whether a folder is this user's, and nobody else may write to it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_private(status)


def read_private(path: str, limit: int) -> bytes | None:
    """The bytes of a regular file that is this user's, and that nobody else may write to; None for any other."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            is_ours = stat.S_ISREG(status.st_mode) and _is_private(status) and status.st_size <= limit
            return file.read(limit) if is_ours else None
    except OSError:
        return None


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _replace(path: str, content: bytes, mode: int) -> None:
    """Write beside the target, then move into place: a reader sees the old file or the new one."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            # The reader of the message knows the target, and not the temporary file.
            error.filename, error.filename2 = path, None
        raise
