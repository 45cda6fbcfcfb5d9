"""Waiting: for what happens by itself in other processes, and for work that waits in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from fleetform.clusters.work import Waiting

T = TypeVar("T")


def until(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    """Looks again and again; a test that waits longer than any machine needs has failed."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


def finished(waiting: Waiting[T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Carries a piece of work out at once, waiting where it wants to wait."""
    while True:
        try:
            sleep(next(waiting))
        except StopIteration as done:
            answer: T = done.value
            return answer
