"""Waiting for what happens by itself in other processes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    """Looks again and again; a test that waits longer than any machine needs has failed."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)
