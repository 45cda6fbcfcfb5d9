"""Words: times and durations as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Clock:
    """Times on the clock of one zone, without the locale of the machine. Years are told apart from that of a start."""

    def __init__(self, zone: str, start: datetime | None = None) -> None:
        self.zone = zone
        self._zone = ZoneInfo(zone)
        self._year = self.local(start).year if start is not None else None

    def local(self, at: datetime) -> datetime:
        return at.astimezone(self._zone)

    def time(self, at: datetime) -> str:
        """`21:05`."""
        return f"{self.local(at):%H:%M}"

    def day(self, at: datetime, month: bool = True, year: bool = False) -> str:
        """`Thu 19 Nov`, or `Thu 19`."""
        local = self.local(at)
        text = f"{_DAYS[local.weekday()]} {local.day}"
        text += f" {_MONTHS[local.month - 1]}" if month or year else ""
        return f"{text} {local.year}" if year else text

    def month(self, at: datetime, year: bool = False) -> str:
        local = self.local(at)
        return f"{_MONTHS[local.month - 1]} {local.year}" if year else _MONTHS[local.month - 1]

    def when(self, at: datetime, since: datetime | None = None) -> str:
        """`Thu 19 Nov 21:05`; only the time if since lies on the same day."""
        local = self.local(at)
        if since is not None and self.local(since).date() == local.date():
            return self.time(at)
        return f"{self.day(at, year=self._year not in (None, local.year))} {self.time(at)}"

    def span(self, begin: datetime, end: datetime) -> str:
        """`Thu 19 Nov 21:05 → 22:10`."""
        return f"{self.when(begin)} → {self.when(end, begin)}"


def duration_words(length: timedelta) -> str:
    """`4 d 21 h`, `1 h 30 min`, `20 min`, `45 s`: the two largest units that matter."""
    seconds = int(length.total_seconds())
    units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
    for index, (name, size) in enumerate(units):
        if seconds >= size:
            count, rest = divmod(seconds, size)
            smaller = units[index + 1] if index + 1 < len(units) else None
            more = rest // smaller[1] if smaller is not None else 0
            return f"{count:,} {name}" + (f" {more} {smaller[0]}" if smaller is not None and more else "")
    return "0 min"


def count(number: int, noun: str) -> str:
    """`1 cluster`, `1,200 clusters`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: max(limit - 1, 1)]}…"
