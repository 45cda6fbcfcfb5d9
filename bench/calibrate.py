"""A fixed loop whose time tells how fast this machine is right now; it stands beside every absolute figure.

Work in this process is measured in CPU time: on a quiet machine that is the time it takes, and on a busy one it leaves
out what others take.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 1_000_000


def _loop() -> int:
    total = 0
    for number in range(ROUNDS):
        total += number % 7
    return total


def calibrate() -> float:
    """The loop's time in seconds, the best of three."""
    return best_of(3, _loop)


def clock(work: Callable[[], T]) -> tuple[float, T]:
    """How much CPU time the work takes, and what it gives."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def best_of(times: int, work: Callable[[], object]) -> float:
    """For work that does the same every time: what is more than the least is other people's noise."""
    return min(clock(work)[0] for _ in range(times))


def median_wait(times: int, work: Callable[[], object]) -> float:
    """The wall time of work that happens elsewhere: how long a person waits."""
    waits = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        waits.append(time.perf_counter() - start)
    return median(waits)
