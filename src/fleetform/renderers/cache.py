"""What was rendered, on disk by its render key; and what was found out about sources and tools."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import msgspec

from fleetform.catalogs.cache import key_of
from fleetform.outside.files import write_private

# Another shape of what is kept, or another way to read what tools print, is another place.
_FORMAT = "1"

Objects = tuple[dict[str, Any], ...]


class _Kept(msgspec.Struct, frozen=True):
    """The key stands inside as well: a file under a wrong name is no answer."""

    key: str
    objects: Objects


class RenderCache:
    """All of it can be made anew: what is damaged counts as not there, and what cannot be written is not kept."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, f"renders-{_FORMAT}")

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

    def _read(self, room: str, name: str) -> bytes | None:
        try:
            with open(self._path(room, name), "rb") as file:
                return file.read()
        except OSError:
            return None

    def _write(self, room: str, name: str, content: bytes) -> None:
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            write_private(self._path(room, name), content)

    def _path(self, room: str, name: str) -> str:
        hashed = key_of(name)
        # Folders of many thousands of files are slow.
        return os.path.join(self._folder, room, hashed[:2], hashed)
