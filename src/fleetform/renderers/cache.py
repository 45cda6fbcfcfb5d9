"""What was rendered, on disk by its render key; and what was found out about sources and tools."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import msgspec

from fleetform.catalogs.cache import key_of
from fleetform.outside.files import write_private

# Another shape of what is kept, or another way to read what tools print, is another place.
_FORMAT = "1"
_DAY = 24 * 60 * 60.0
_UNUSED = 30 * _DAY
_STAMP = "tidied"

Objects = tuple[dict[str, Any], ...]


class _Kept(msgspec.Struct, frozen=True):
    """The key stands inside as well: a file under a wrong name is no answer."""

    key: str
    objects: Objects


class RenderCache:
    """All of it can be made anew: what is damaged counts as not there, and what cannot be written is not kept."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, f"renders-{_FORMAT}")
        self._is_tidy = False

    def objects(self, key: str) -> Objects | None:
        """What a key rendered to."""
        content = self._read("objects", key)
        if content is None:
            return None
        try:
            kept = msgspec.json.decode(content, type=_Kept)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return kept.objects if kept.key == key else None

    def keep_objects(self, key: str, objects: Objects) -> None:
        self._write("objects", key, msgspec.json.encode(_Kept(key, objects)))

    def is_steady(self, renderer: str, digest: str) -> bool | None:
        """Whether a source renders to the same twice (B28); None where nobody tried."""
        return {b"steady": True, b"unsteady": False}.get(self._read("steady", f"{renderer}:{digest}") or b"")

    def keep_steady(self, renderer: str, digest: str, steady: bool) -> None:
        self._write("steady", f"{renderer}:{digest}", b"steady" if steady else b"unsteady")

    def version(self, identity: str) -> str | None:
        """The version of a tool that has not changed since."""
        content = self._read("tools", identity)
        return content.decode("ascii", "replace") if content else None

    def keep_version(self, identity: str, version: str) -> None:
        self._write("tools", identity, version.encode())

    def tidy(self) -> None:
        """Remove what nobody used for a month, once a day.

        Others may do the same at the same time, or read and write: at worst something is made anew.
        """
        stamp = os.path.join(self._folder, _STAMP)
        if self._is_tidy or not os.path.isdir(self._folder) or not _is_older(stamp, _DAY):
            return
        self._is_tidy = True
        with suppress(OSError):
            # Before the work, so that few begin it at once.
            write_private(stamp, b"")
            for folder, _, names in os.walk(self._folder):
                for name in names:
                    _remove_unused(os.path.join(folder, name))

    def _read(self, room: str, name: str) -> bytes | None:
        path = self._path(room, name)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            return None
        if _is_older(path, _DAY):
            with suppress(OSError):
                os.utime(path)
        return content

    def _write(self, room: str, name: str, content: bytes) -> None:
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            write_private(self._path(room, name), content)

    def _path(self, room: str, name: str) -> str:
        hashed = key_of(name)
        # Folders of many thousands of files are slow.
        return os.path.join(self._folder, room, hashed[:2], hashed)


def _is_older(path: str, seconds: float) -> bool:
    """Whether a file was last used longer ago than that; one that is not there was, and one of the far future."""
    try:
        return not -_DAY <= time.time() - os.stat(path).st_mtime < seconds
    except OSError:
        return True


def _remove_unused(path: str) -> None:
    with suppress(OSError):
        if time.time() - os.stat(path).st_mtime > _UNUSED:
            os.unlink(path)
