"""Time axis: from times to positions, and the times that are written at it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from fleetform.pictures.words import Clock

_MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)
_DAYS = (1, 2, 3, 7, 14, 28)
_MONTHS = (1, 2, 3, 6, 12, 24, 60)


class Tick(NamedTuple):
    """A time at the axis; major ones begin a day, a month or a year. short is a label for little room."""

    at: datetime
    label: str
    major: bool
    short: str = ""


class TimeAxis(NamedTuple):
    """Times from begin to end, drawn from left to right on a clock."""

    begin: datetime
    end: datetime
    left: float
    right: float
    clock: Clock

    def x(self, at: datetime) -> float:
        """Where a time is drawn; one that is out of sight, at the edge."""
        share = (min(max(at, self.begin), self.end) - self.begin) / (self.end - self.begin)
        return self.left + share * (self.right - self.left)

    def ticks(self, room: float = 105) -> list[Tick]:
        """As many times as have room, round ones on the clock. The first one says the day, and so does midnight."""
        most = max(int((self.right - self.left) // room), 2)
        for minutes in _MINUTES:
            if (self.end - self.begin) / timedelta(minutes=minutes) <= most:
                return self._of_times(minutes)
        for days in _DAYS:
            if (self.end - self.begin) / timedelta(days=days) <= most:
                return self._of_days(days)
        for months in _MONTHS:
            if (self.end - self.begin) / timedelta(days=30 * months) <= most:
                return self._of_months(months)
        return self._of_months(120)

    def _of_times(self, minutes: int) -> list[Tick]:
        found: list[Tick] = []
        for at in self._times(minutes):
            local = self.clock.local(at)
            midnight = local.hour == local.minute == 0
            label = short = self.clock.time(at)
            if midnight:
                label = self.clock.day(at)
            elif not found:
                label = f"{self.clock.day(at)} {label}"
            found.append(Tick(at, label, midnight, short))
        return found

    def _times(self, minutes: int) -> Iterator[datetime]:
        """Times of day, each once: an hour that the clock repeats is drawn, and labelled the first time."""
        day = self.clock.local(self.begin).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        last = self.begin - timedelta(seconds=1)
        while day.astimezone(UTC) < self.end:
            for step in range(0, 24 * 60, minutes):
                at = day.replace(hour=step // 60, minute=step % 60).astimezone(UTC)
                if last < at < self.end:
                    yield at
                    last = at
            day = _next_day(day)

    def _of_days(self, days: int) -> list[Tick]:
        found: list[Tick] = []
        day = self.clock.local(self.begin).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        month = None
        while day.astimezone(UTC) < self.end:
            at = day.astimezone(UTC)
            # The day on which it begins stands at the edge.
            short = self.clock.day(at, month=False)
            label = self.clock.day(at, month=day.month != month)
            found.append(Tick(max(at, self.begin), label, at >= self.begin, short))
            month = day.month
            for _ in range(days):
                day = _next_day(day)
        return found

    def _of_months(self, months: int) -> list[Tick]:
        found: list[Tick] = []
        first = self.clock.local(self.begin).replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0)
        number = first.year * 12 + first.month - 1
        year = None
        while True:
            day = first.replace(year=number // 12, month=number % 12 + 1)
            at = day.astimezone(UTC)
            if at >= self.end:
                return found
            if at >= self.begin:
                found.append(Tick(at, self.clock.month(at, year=day.year != year), day.month == 1))
                year = day.year
            number += months - (number % months if number % months else 0)


def _next_day(day: datetime) -> datetime:
    """The same time on the next day of the calendar."""
    return (day.replace(tzinfo=None, fold=0) + timedelta(days=1)).replace(tzinfo=day.tzinfo)
