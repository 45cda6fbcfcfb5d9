"""Rendered objects on disk, by render key; and what is known of sources and tools."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import msgspec

from fleetform.artifacts.store import cache_key
from fleetform.outside.files import write_private
from fleetform.syntax.trees import YamlMap

# A new format, or a new way to read the output of tools, goes to a new folder.
_FORMAT = "1"
_DAY = 24 * 60 * 60.0
_UNUSED = 30 * _DAY
_STAMP = "tidied"

RenderedObjects = tuple[YamlMap, ...]


class _CachedRender(msgspec.Struct, frozen=True):
    """The key is part of it: a file under a wrong name is not taken for an answer."""

    key: str
    objects: RenderedObjects


class RenderCache:
    """All of it can be rendered again: damaged files are ignored, and what cannot be written is not kept."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, f"renders-{_FORMAT}")
        self._is_tidy = False

    def objects(self, key: str) -> RenderedObjects | None:
        """The objects of a render key."""
        content = self._read("objects", key)
        if content is None:
            return None
        try:
            kept = msgspec.json.decode(content, type=_CachedRender)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return kept.objects if kept.key == key else None

    def keep_objects(self, key: str, objects: RenderedObjects) -> None:
        self._write("objects", key, msgspec.json.encode(_CachedRender(key, objects)))

    def is_steady(self, renderer: str, digest: str) -> bool | None:
        """Whether a source renders to the same twice (B28); None if that was never tried."""
        return {b"steady": True, b"unsteady": False}.get(self._read("steady", f"{renderer}:{digest}") or b"")

    def keep_steady(self, renderer: str, digest: str, steady: bool) -> None:
        self._write("steady", f"{renderer}:{digest}", b"steady" if steady else b"unsteady")

    def version(self, identity: str) -> str | None:
        """The version of a tool that has not changed since it was asked."""
        content = self._read("tools", identity)
        return content.decode("ascii", "replace") if content else None

    def keep_version(self, identity: str, version: str) -> None:
        self._write("tools", identity, version.encode())

    def tidy(self) -> None:
        """Remove what was not used for a month, once a day.

        Other processes may do the same at the same time, or read and write: at worst something is rendered again.
        """
        stamp = os.path.join(self._folder, _STAMP)
        if self._is_tidy or not os.path.isdir(self._folder) or not _is_older(stamp, _DAY):
            return
        self._is_tidy = True
        with suppress(OSError):
            # Written first, so that few processes begin at once.
            write_private(stamp, b"")
            for folder, _, names in os.walk(self._folder):
                for path in (os.path.join(folder, name) for name in names):
                    with suppress(OSError):
                        if time.time() - os.stat(path).st_mtime > _UNUSED:
                            os.unlink(path)

    def _read(self, subfolder: str, name: str) -> bytes | None:
        path = self._path(subfolder, name)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            return None
        if _is_older(path, _DAY):
            with suppress(OSError):
                os.utime(path)
        return content

    def _write(self, subfolder: str, name: str, content: bytes) -> None:
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            write_private(self._path(subfolder, name), content)

    def _path(self, subfolder: str, name: str) -> str:
        hashed = cache_key(name)
        # Folders of many thousands of files are slow.
        return os.path.join(self._folder, subfolder, hashed[:2], hashed)


def _is_older(path: str, seconds: float) -> bool:
    """Whether a file was last used longer ago than that; also if it is missing, or dated in the far future."""
    try:
        return not -_DAY <= time.time() - os.stat(path).st_mtime < seconds
    except OSError:
        return True
