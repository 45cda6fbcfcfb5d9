"""The time, and one that stands still until it is turned."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


class SystemClock:
    """The time, or one at which it stands still until it is turned."""

    def __init__(self, stopped: datetime | None) -> None:
        self._stopped = stopped

    def now(self) -> datetime:
        return self._stopped or now()

    def turn(self, to: datetime) -> None:
        self._stopped = to
