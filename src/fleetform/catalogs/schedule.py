"""When a source is read again: every interval, give or take, so that not all are read at once."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from fleetform.syntax.times import parse_duration, parse_time

INTERVAL = timedelta(hours=1)
LONGEST = timedelta(days=3650)
SPREAD = 0.1


def next_look(key: str, tried: str | None, interval: str | None) -> datetime | None:
    """The time of the next reading of a source; None if it was never tried, and is due now.

    The interval is stretched or shortened by up to a tenth: differently for every source and every reading, and the
    same whoever asks.
    """
    if tried is None:
        return None
    try:
        pause = min(parse_duration(interval), LONGEST) if interval is not None else INTERVAL
    except ValueError:
        # Reported as a finding of the catalog.
        pause = INTERVAL
    number = int.from_bytes(hashlib.sha256(f"{key} {tried}".encode()).digest()[:8], "big")
    share = number / 2**64 * 2 - 1
    return (parse_time(tried) + pause * (1 + SPREAD * share)).replace(microsecond=0)
