"""The cache on disk: what is known of sources, the texts of what they held, copies of repositories."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from fleetform.catalogs.records import ChartBytes, SourceState
from fleetform.outside.files import write_file, write_private

# Another shape of what is kept is another place: an old one is read anew, never misread.
_FORMAT = "1"


def cache_folder() -> str:
    """Where the cache lies: FLEETFORM_CACHE_DIR, else the user's cache folder."""
    chosen = os.environ.get("FLEETFORM_CACHE_DIR")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "fleetform")


class Cache:
    """What is kept between runs: all of it can be read anew, but for the memory of what came first."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, f"catalogs-{_FORMAT}")

    def state(self, key: str, title: str) -> SourceState:
        """What is known of a source: nothing, where it was never read, or what is kept is damaged."""
        try:
            with open(self._path("sources", key), "rb") as file:
                return msgspec.json.decode(file.read(), type=SourceState)
        except (OSError, msgspec.MsgspecError, ValueError):
            return SourceState(title)

    def keep(self, key: str, state: SourceState, texts: dict[str, str]) -> None:
        """Remember a source; what it holds may be private, so the cache is its user's alone."""
        for digest, text in texts.items():
            write_file(self._path("texts", digest), text)
        write_file(self._path("sources", key), msgspec.json.encode(state).decode())

    def text(self, digest: str) -> str:
        """A text that was kept; places in one that was lost are not found, and nothing else is."""
        try:
            with open(self._path("texts", digest), encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
        except OSError:
            return ""

    def charts(self, key: str) -> dict[str, ChartBytes]:
        """What is known of the archives of a repository's charts, by chart and version."""
        try:
            with open(self._path("charts", key), "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, ChartBytes])
        except (OSError, msgspec.MsgspecError, ValueError):
            return {}

    def keep_charts(self, key: str, charts: dict[str, ChartBytes]) -> None:
        write_file(self._path("charts", key), msgspec.json.encode(charts).decode())

    def archive(self, digest: str) -> str | None:
        """The path of a chart's archive that was kept, if its bytes are still those of its digest."""
        path = self._path("archives", digest)
        try:
            with open(path, "rb") as file:
                found = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            return None
        return path if f"sha256:{found}" == digest else None

    def keep_archive(self, digest: str, content: bytes) -> str:
        path = self._path("archives", digest)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        write_private(path, content)
        return path

    def mirror(self, key: str) -> str:
        return self._path("git", key)

    @contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """One process at a time reads a source."""
        path = self._path("locks", key)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _path(self, room: str, key: str) -> str:
        return os.path.join(self._folder, room, key.removeprefix("sha256:"))


def key_of(*parts: object) -> str:
    """A name for what the parts say."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
