"""Sides of a comparison: a folder, a commit, or what a control plane has accepted."""

from __future__ import annotations

import os
from collections.abc import Sequence

SERVER = "server"


def in_same_folder(side: str, paths: Sequence[str]) -> str:
    """A commit without a folder means the one that it is compared with: `git:main fleet/` is `git:main:fleet`."""
    path = os.path.normpath(paths[0]) if len(paths) == 1 else "."
    named = not side.startswith("git:") or ":" in side.removeprefix("git:")
    return side if named or path == "." or os.path.isabs(path) else f"{side}:{path}"
