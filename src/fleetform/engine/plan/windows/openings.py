"""Openings: when one window begins and ends, in UTC.

A schedule follows the clock of its zone. A start that a spring change skips takes place at the next instant; one that
an autumn change repeats takes place once, the first time (B13, S46). Steps and wildcards (`*/30`, `*`) mean intervals
and not times of day: they begin in both of the repeated hours, and in none of a skipped one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_EVER = datetime.min.replace(tzinfo=UTC)
_FAR = datetime.max.replace(tzinfo=UTC, microsecond=0)
# No clock is set back by more.
_REPEATED = timedelta(hours=3)
# Openings that touch are one; where they touch for ever, the window is open as far as anyone plans.
_MOST_JOINED = 400


class Opening(NamedTuple):
    """From begin on, and before end."""

    begin: datetime
    end: datetime


class Window(Struct, frozen=True):
    """A window on the clock of one zone: by a schedule and a duration, or from one instant to another.

    no_start_in_last keeps the end free of starts; jitter spreads starts over the beginning.
    """

    name: str
    schedule: str | None = None
    duration: timedelta = timedelta(0)
    begin: datetime | None = None
    end: datetime | None = None
    zone: str = "UTC"
    no_start_in_last: timedelta = timedelta(0)
    jitter: timedelta = timedelta(0)

    def current(self, now: datetime) -> Opening | None:
        """The opening that now lies in; overlapping ones are one."""
        latest = self.latest(now)
        return latest if latest is not None and now < latest.end else None

    def latest(self, now: datetime) -> Opening | None:
        """The last opening that has begun by now; overlapping ones are one."""
        if self.schedule is None:
            opening = Opening(self.begin or _EVER, self.end or _FAR)
            return opening if opening.begin <= now else None
        return _latest(self, now)

    def upcoming(self, now: datetime) -> Iterator[Opening]:
        """Openings that begin after now, in order; overlapping ones are one."""
        if self.schedule is None:
            if self.begin is not None and now < self.begin and (self.end is None or self.begin < self.end):
                yield Opening(self.begin, self.end or _FAR)
            return
        current = self.current(now)
        after = current.end - timedelta(seconds=1) if current is not None else now
        while after < _FAR:
            begin = next(self._starts(after), None)
            if begin is None:
                return
            opening = self._joined(begin)
            yield opening
            after = opening.end - timedelta(seconds=1)

    def last_start(self, opening: Opening) -> datetime:
        """The end of what can be used of an opening."""
        return opening.end if opening.end == _FAR else opening.end - self.no_start_in_last

    def _starts(self, after: datetime, backwards: bool = False) -> Iterator[datetime]:
        """Times at which the schedule fires, strictly after a time; or before it, going back."""
        local = after.astimezone(ZoneInfo(self.zone))
        if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
            # The library reads a repeated hour as its first time, so it is asked from outside of it.
            local = (after + (_REPEATED if backwards else -_REPEATED)).astimezone(ZoneInfo(self.zone))
        try:
            for fires in CronSim(cron_text(self.schedule or ""), local, reverse=backwards):
                found = fires.astimezone(UTC)
                if found < after if backwards else found > after:
                    yield found
        except OverflowError:
            return

    def _first_of(self, start: datetime) -> datetime:
        """The beginning of a run of openings that overlap."""
        for _, earlier in zip(range(_MOST_JOINED), self._starts(start, backwards=True), strict=False):
            if earlier + self.duration < start:
                break
            start = earlier
        return start

    def _joined(self, begin: datetime) -> Opening:
        end = begin + self.duration
        for count, start in enumerate(self._starts(begin)):
            if start > end:
                return Opening(begin, end)
            if count == _MOST_JOINED:
                return Opening(begin, _FAR)
            end = max(end, start + self.duration)
        return Opening(begin, end)


@lru_cache(maxsize=4096)
def _latest(window: Window, now: datetime) -> Opening | None:
    """Asked again and again: plans, and checks of a window at each edit, come to the same times."""
    # The search looks strictly before its start, and knows whole minutes.
    last = next(window._starts(now + timedelta(minutes=1), backwards=True), None)
    if last is not None and last > now:
        last = next(window._starts(now, backwards=True), None)
    return window._joined(window._first_of(last)) if last is not None else None


@lru_cache(maxsize=1024)
def cron_text(schedule: str) -> str:
    """A schedule as the cron library takes it. ValueError where it is none: five fields, or a macro such as @daily."""
    text = _MACROS.get(schedule.strip().lower(), schedule.strip().upper())
    if len(text.split()) != 5:
        raise ValueError(f"{schedule!r} does not have five fields")
    try:
        CronSim(text, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise ValueError(f"{schedule!r}: {str(error).lower()}") from error
    return text


def weekday_schedule(days: list[str], start: str) -> str:
    """Weekdays and a time of day, as a schedule."""
    hour, minute = start.split(":")
    return f"{int(minute)} {int(hour)} * * {','.join(day.upper() for day in days)}"
