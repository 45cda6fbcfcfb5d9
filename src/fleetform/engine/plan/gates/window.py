"""window: things start only inside a window, and spread over its beginning where it asks for that (R2-30)."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.windows.calendar import Calendar, Today


def window(today: Today, calendar: Calendar, starts: datetime, now: datetime) -> Reason | None:
    """starts is when the plugin may, once a window is open: a function of its cluster and its change."""
    names = ", ".join(each.name for each in calendar.allow)
    if not today.is_open:
        do = "wait" if today.opens_at is not None else "choose a window that opens again"
        return Reason("window", f"outside of {names}", do, until=today.opens_at)
    if starts <= now:
        return None
    return Reason("window", f"{names} is open; starts are spread over its beginning", "wait", until=starts)
