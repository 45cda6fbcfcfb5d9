"""Spans: when windows are open and freezes in force between two times, over several calendars at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Opening, Window

# More than anybody can tell apart; a window that opens more often is as good as open.
_MOST = 1_000


class FrozenSpan(NamedTuple):
    """A freeze in force."""

    begin: datetime
    end: datetime
    name: str
    hard: bool


def openings_between(calendars: Iterable[Calendar], begin: datetime, end: datetime) -> tuple[Opening, ...]:
    """When something may start by any of the calendars, freezes aside. Empty also where no window counts."""
    windows = sorted({window for calendar in calendars for window in calendar.allow}, key=lambda each: each.name)
    found = [
        Opening(max(each.begin, begin), min(window.last_start(each), end))
        for window in windows
        for each in _openings(window, begin, end)
        if max(each.begin, begin) < min(window.last_start(each), end)
    ]
    return tuple(joined(found))


def freezes_between(calendars: Iterable[Calendar], begin: datetime, end: datetime) -> tuple[FrozenSpan, ...]:
    """When something must not start by any of the calendars, each freeze by its name."""
    soft: dict[str, list[Opening]] = {}
    hard: dict[str, list[Opening]] = {}
    for calendar in calendars:
        for windows, spans in ((calendar.soft, soft), (calendar.hard, hard)):
            for window in windows:
                spans.setdefault(window.name, []).extend(
                    Opening(max(each.begin, begin), min(each.end, end)) for each in _openings(window, begin, end)
                )
    kinds = ((soft, False), (hard, True))
    return tuple(
        sorted(
            FrozenSpan(*each, name, is_hard)
            for spans, is_hard in kinds
            for name, found in spans.items()
            for each in joined(found)
        )
    )


def joined(spans: Iterable[Opening]) -> list[Opening]:
    """Spans in order, those that overlap or touch as one."""
    found: list[Opening] = []
    for each in sorted(spans):
        if found and each.begin <= found[-1].end:
            found[-1] = Opening(found[-1].begin, max(found[-1].end, each.end))
        else:
            found.append(each)
    return found


def _openings(window: Window, begin: datetime, end: datetime) -> Iterator[Opening]:
    current = window.current(begin)
    if current is not None:
        yield current
    for each in islice(window.upcoming(begin), _MOST):
        if each.begin >= end:
            return
        yield each
