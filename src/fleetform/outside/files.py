"""Files, read and written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence

# A file in a folder of rendered objects, so that they are not read as a fleet.
OUTPUT_MARK = ".fleetform-output"


class LocalFiles:
    """The files of this machine."""

    def read(self, name: str) -> str:
        if not os.path.isfile(name):
            raise FileNotFoundError(f"{name} is not a file of this machine")
        with open(name, encoding="utf-8", newline="") as file:
            return file.read()


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
            with open(place, "rb") as file:
                yield file.read()


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
