"""What tests need from outside is made once a machine: in the user's cache folder, under a name made of its recipe."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def made_once(name: str, recipe: bytes, announcement: str, make: Callable[[Path], None]) -> Path:
    """The folder that make filled, which is done if it was not before; another recipe is another folder.

    announcement says on stderr what is made and how long it takes.
    """
    found = place_of(name, recipe)
    if found.exists():
        return found
    found.parent.mkdir(parents=True, exist_ok=True)
    # Several test workers ask at once, and one makes it.
    with open(f"{found}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            _make(found, announcement, make)
    return found


def place_of(name: str, recipe: bytes) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fleetform-tests" / f"{name}-{hashlib.sha256(recipe).hexdigest()[:16]}"


def _make(target: Path, announcement: str, make: Callable[[Path], None]) -> None:
    """Fills a folder beside the target, and moves it into place once it is whole."""
    began = time.monotonic()
    print(announcement, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="making-") as scratch:
        unfinished = Path(scratch) / "unfinished"
        unfinished.mkdir()
        make(unfinished)
        unfinished.rename(target)
    print(f"done after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
