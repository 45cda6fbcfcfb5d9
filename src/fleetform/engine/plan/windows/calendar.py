"""Calendars: the windows that count for a plugin on a cluster, combined.

Open is what some window allows, less what any freeze forbids; without a window that counts, every time is allowed
(B13). Most plugins share a handful of calendars, so each is looked at once a pass (Almanac).
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from fleetform.engine.plan.windows.openings import Opening, Window

SLOT = timedelta(minutes=5)
_PAST = datetime.min.replace(tzinfo=UTC)


class Calendar(Struct, frozen=True):
    """Windows that allow, and freezes; an emergency passes soft ones."""

    allow: tuple[Window, ...] = ()
    soft: tuple[Window, ...] = ()
    hard: tuple[Window, ...] = ()


ALWAYS = Calendar()


class Freeze(NamedTuple):
    """A freeze in force, and when it ends (None: nobody said)."""

    name: str
    until: datetime | None


class OpenWindow(NamedTuple):
    """A window that is open now, and what can be used of it."""

    window: Window
    usable: Opening


class Today(NamedTuple):
    """A calendar at one instant. edge is when it will next look different.

    open is empty where windows count and none is open; opens_at is then when the next one does. spread_until is when
    the last start that an open window spreads is due.
    """

    is_open: bool
    open: tuple[OpenWindow, ...]
    opens_at: datetime | None
    soft: Freeze | None
    hard: Freeze | None
    edge: datetime | None
    spread_until: datetime

    def starts_at(self, seed: str) -> datetime:
        """When something may start that is spread by a seed of its own: in whole slots, never past what is usable.

        Of several windows that are open the one that lets it start first counts; without a window, at any time.
        """
        number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "big")
        times = []
        for each in self.open:
            spread = min(each.window.jitter, each.usable.end - each.usable.begin - timedelta(microseconds=1))
            times.append(each.usable.begin + SLOT * (number % (spread // SLOT + 1)))
        return min(times, default=_PAST)


class Almanac:
    """Calendars at one instant, each looked at once. It may be kept: what it knows stays true until the edge."""

    def __init__(self) -> None:
        self._known: dict[Calendar, tuple[datetime, Today]] = {}
        self._by_identity: dict[int, tuple[Calendar, datetime, Today]] = {}
        self._starts: dict[str, tuple[Today, datetime]] = {}

    def today(self, calendar: Calendar, now: datetime) -> Today:
        # Hashing a calendar costs more than all else that a plugin takes, and plugins share them.
        found = self._by_identity.get(id(calendar))
        if found is not None and found[0] is calendar and _holds(found[1], found[2], now):
            return found[2]
        known = self._known.get(calendar)
        if known is None or not _holds(*known, now):
            known = (now, today(calendar, now))
            self._known[calendar] = known
        self._by_identity[id(calendar)] = (calendar, *known)
        return known[1]

    def starts_at(self, today: Today, seed: str, now: datetime) -> datetime:
        """When something may start by its seed, cluster and change: always the same, whenever it is asked."""
        known = self._starts.get(seed)
        if known is None or known[0] is not today:
            known = self._starts[seed] = (today, today.starts_at(seed))
        return max(now, known[1])

    def edge(self, now: datetime) -> datetime | None:
        """When any of the calendars that were looked at will next look different."""
        edges = [view.edge for _, view in self._known.values() if view.edge is not None and view.edge > now]
        return min(edges, default=None)


def _holds(seen: datetime, view: Today, now: datetime) -> bool:
    return seen <= now and (view.edge is None or now < view.edge)


def today(calendar: Calendar, now: datetime) -> Today:
    edges: list[datetime] = []
    open_ = []
    opens_at: list[datetime] = []
    for window in calendar.allow:
        current = window.current(now)
        if current is not None and now < window.last_start(current):
            usable = Opening(current.begin, window.last_start(current))
            open_.append(OpenWindow(window, usable))
            edges.append(usable.end)
        upcoming = next_usable(window, now)
        if upcoming is not None:
            opens_at.append(upcoming.begin)
    soft, hard = (_freeze(each, now, edges) for each in (calendar.soft, calendar.hard))
    next_opening = min(opens_at, default=None)
    if next_opening is not None:
        edges.append(next_opening)
    is_open = bool(open_) or not calendar.allow
    spread_until = max([each.usable.begin + each.window.jitter for each in open_], default=_PAST)
    return Today(is_open, tuple(open_), next_opening, soft, hard, min(edges, default=None), spread_until)


def next_usable(window: Window, now: datetime) -> Opening | None:
    """The next opening in which something can start; none within a few tries is none at all."""
    for _, opening in zip(range(3), window.upcoming(now), strict=False):
        if window.last_start(opening) > opening.begin:
            return opening
    return None


def _freeze(windows: tuple[Window, ...], now: datetime, edges: list[datetime]) -> Freeze | None:
    """Of several freezes the one that lasts longest; an edge is where one begins or ends."""
    found: Freeze | None = None
    for window in windows:
        current = window.current(now)
        if current is not None:
            until = current.end if current.end.year < 9999 else None
            if until is not None:
                edges.append(until)
            if found is None or (found.until is not None and (until is None or until > found.until)):
                found = Freeze(window.name, until)
        following = next(window.upcoming(now), None)
        if following is not None:
            edges.append(following.begin)
    return found
