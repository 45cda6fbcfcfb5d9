"""Files, read and written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile

# Lies in a folder that rendered objects were written to, so that nobody reads them as a fleet.
OUTPUT_MARK = ".fleetform-output"


class LocalFiles:
    """The files of this machine."""

    def read(self, name: str) -> str:
        if not os.path.isfile(name):
            raise FileNotFoundError(f"{name} is not a file of this machine")
        with open(name, encoding="utf-8", newline="") as file:
            return file.read()


def write_file(path: str, text: str) -> None:
    """Write a text; a file that exists keeps its permissions, and a link goes on leading to it."""
    path = os.path.realpath(path)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _replace(path, text.encode(), mode)


def write_private(path: str, content: bytes) -> None:
    """Write bytes that are for this user's eyes alone."""
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
    except BaseException:
        os.unlink(temporary)
        raise
