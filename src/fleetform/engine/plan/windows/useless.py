"""Windows that are of no use: those that never open again, and those that open so seldom that nothing gets through."""

from __future__ import annotations

from datetime import datetime, timedelta

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


def is_rare(window: Window, now: datetime) -> bool:
    """Whether it opens less than once in 7 days (R2-29): between two openings more than that passes, within a year or
    so. A window that ends for good leaves such a time, too."""
    current = window.current(now)
    closed_at = current.end if current is not None else now
    while closed_at - now < _HORIZON:
        # From one opening to the last that begins within 7 days: those between leave no longer time.
        latest = window.latest(closed_at + RARE)
        if latest is None or latest.end <= closed_at:
            return True
        closed_at = latest.end
    return False
