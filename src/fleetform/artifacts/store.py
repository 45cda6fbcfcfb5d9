"""The artifacts on disk: digests of charts as they were seen, archives by digest, copies of git repositories."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from fleetform.outside.files import write_file, write_private
from fleetform.outside.oci import digest_of

# A new format goes to a new folder: files of the old one are fetched anew, never misread. Catalogs share the folder.
_FORMAT = "catalogs-1"


def cache_folder() -> str:
    """The folder of all caches: FLEETFORM_CACHE_DIR, or one in the user's cache folder."""
    chosen = os.environ.get("FLEETFORM_CACHE_DIR")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "fleetform")


def cache_key(*parts: object) -> str:
    """A file name for something that the parts identify."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


class ChartDigests(Struct, frozen=True):
    """The digest of a chart's archive when it was first seen, and when it was last seen."""

    first: str
    last: str


class ArtifactStore:
    """What is kept between runs. All of it can be fetched again, except the digests that were seen first."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, _FORMAT)

    def charts(self, key: str) -> dict[str, ChartDigests]:
        """The digests of a repository's charts, by chart and version."""
        try:
            with open(self.path("charts", key), "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, ChartDigests])
        except (OSError, msgspec.MsgspecError, ValueError):
            return {}

    def keep_charts(self, key: str, charts: dict[str, ChartDigests]) -> None:
        write_file(self.path("charts", key), msgspec.json.encode(charts).decode())

    def archive(self, digest: str) -> str | None:
        """The path of a chart's archive, if it is kept and its bytes still have the digest."""
        path = self.path("archives", digest)
        try:
            with open(path, "rb") as file:
                return path if digest_of(file.read()) == digest else None
        except OSError:
            return None

    def keep_archive(self, digest: str, content: bytes) -> str:
        path = self.path("archives", digest)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        write_private(path, content)
        return path

    def mirror(self, key: str) -> str:
        """The folder for the bare copy of a git repository."""
        return self.path("git", key)

    @contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """One process at a time fetches a source."""
        path = self.path("locks", key)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def path(self, subfolder: str, key: str) -> str:
        return os.path.join(self._folder, subfolder, key.removeprefix("sha256:"))
