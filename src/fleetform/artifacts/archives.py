"""Packed folders (.tar.gz), read in memory: limited in files and bytes, and nothing is ever written to disk."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Callable
from gzip import GzipFile

# The limits of Helm itself.
MAX_UNPACKED = 100 * 1024 * 1024
MAX_FILE = 5 * 1024 * 1024
MAX_MEMBERS = 20_000
_CHUNK = 1 << 16


class ArchiveError(ValueError):
    """Why an archive cannot be read."""


def read_archive(archive: bytes, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Path and bytes of the regular files that are wanted, in the archive's order; if a path is twice in it, the later.

    An archive that is too large is refused before it is unpacked whole.
    """
    try:
        with GzipFile(fileobj=io.BytesIO(archive)) as packed:
            content = _Limited(packed)
            with tarfile.open(fileobj=content, mode="r|") as members:
                found = _read_members(members, wanted)
            # To the very end: the checksum comes last.
            while content.read(_CHUNK):
                pass
            return found
    except ArchiveError:
        raise
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError) as error:
        raise ArchiveError("it is not a .tar.gz archive, or a broken one") from error


def safe_path(path: str) -> str | None:
    """A path below the archive's own folder, without `.` steps; None if it leads out of it."""
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith("/") or "\\" in path or "\0" in path or ".." in steps or not steps:
        return None
    return "/".join(steps)


def _read_members(members: tarfile.TarFile, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for number, member in enumerate(members):
        if number >= MAX_MEMBERS:
            raise ArchiveError(f"it has more than {MAX_MEMBERS:,} files")
        if not member.isreg():
            continue
        path = safe_path(member.name)
        if path is None:
            raise ArchiveError(f"it has a file that leads out of it, {member.name!r}")
        if not wanted(path):
            continue
        if member.size > MAX_FILE:
            raise ArchiveError(f"{member.name} is larger than {MAX_FILE:,} bytes")
        file = members.extractfile(member)
        found[path] = file.read() if file is not None else b""
    return found


class _Limited(io.RawIOBase):
    """Reads on until more came out than an archive may unpack to."""

    def __init__(self, packed: GzipFile) -> None:
        self._packed, self._left = packed, MAX_UNPACKED

    def read(self, size: int = -1) -> bytes:
        content = self._packed.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(content)
        if self._left < 0:
            raise ArchiveError(f"it unpacks to more than {MAX_UNPACKED:,} bytes")
        return content
