"""The time. Whatever runs by the clock is given one, so that tests can turn it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, in UTC."""
