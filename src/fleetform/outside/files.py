"""Files, read and written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile


class LocalFiles:
    """The files of this machine."""

    def read(self, name: str) -> str:
        if not os.path.isfile(name):
            raise FileNotFoundError(f"{name} is not a file of this machine")
        with open(name, encoding="utf-8", newline="") as file:
            return file.read()


def write_file(path: str, text: str) -> None:
    """Write beside the target, then move into place: a reader sees the old file or the new one.

    A file that exists keeps its permissions, and a link goes on leading to it.
    """
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
