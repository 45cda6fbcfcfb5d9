"""A process that answers in milliseconds over a large fleet."""

from __future__ import annotations

import gc
import sys


def answer_promptly() -> None:
    """For a process as a whole: a thread that decides gives way often, and garbage is looked for rarely.

    There are millions of objects that form no cycles, and a collection walks through all of them.
    """
    sys.setswitchinterval(0.001)
    gc.set_threshold(100_000, 50, 100)
