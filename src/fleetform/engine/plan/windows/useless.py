"""Windows that are of no use: those that never open again, and those that open so seldom that nothing gets through."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice

from fleetform.engine.plan.windows.calendar import next_usable
from fleetform.engine.plan.windows.openings import Window

RARE = timedelta(days=7)
_HORIZON = timedelta(days=400)


def never_opens(window: Window, now: datetime) -> bool:
    """Nothing can start in it now or later: it is over, no date fits it, or its end that is kept free is all of it."""
    current = window.current(now)
    if current is not None and now < window.last_start(current):
        return False
    return next_usable(window, now) is None


def longest_gap(window: Window, now: datetime) -> timedelta | None:
    """The longest time without an opening to come, within a year or so; None: it never closes.

    A window that ends for good leaves a gap without an end, which counts as all of that time.
    """
    current = window.current(now)
    closed_at = current.end if current is not None else now
    longest: timedelta | None = None
    for opening in islice(window.upcoming(now), 2_000):
        if opening.begin - now > _HORIZON:
            break
        longest = max(longest or timedelta(0), opening.begin - closed_at)
        closed_at = opening.end
    if closed_at - now < _HORIZON and next(window.upcoming(closed_at), None) is None:
        return _HORIZON
    return longest


def is_rare(window: Window, now: datetime) -> bool:
    """Whether it opens less than once in 7 days (R2-29): between two openings more than that passes."""
    gap = longest_gap(window, now)
    return gap is not None and gap > RARE
