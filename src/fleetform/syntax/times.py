"""Times and durations as manifests write them: one parser each, everywhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?([Zz]|[-+][0-9]{2}:[0-9]{2}))?\Z"
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Longer than anybody waits, and short enough that no sum of a time and a few of them leaves the calendar.
_LONGEST = 100 * 366 * _UNITS["d"]


def parse_time(text: str) -> datetime:
    """An RFC 3339 time, or a date (its first instant, UTC). ValueError if it is neither."""
    if not isinstance(text, str) or not _TIME.match(text.strip()):
        raise ValueError(f"{text!r} is not a time")
    parsed = datetime.fromisoformat(text.strip().upper().replace("Z", "+00:00"))
    try:
        return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError(f"{text} is out of range") from error


def parse_duration(text: str) -> timedelta:
    """90s, 30m, 24h, 14d, or several in a row. ValueError if it cannot be read."""
    parts = re.findall(r"([0-9]+)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration")
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    if seconds > _LONGEST:
        raise ValueError(f"{text} is more than a hundred years")
    return timedelta(seconds=seconds)


def duration_text(duration: timedelta) -> str:
    """A duration as manifests write it: 14d, 1h30m, 45s; 0s if there is none."""
    left = int(duration.total_seconds())
    parts = []
    for unit, length in reversed(_UNITS.items()):
        count, left = divmod(left, length)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


@lru_cache(1024)
def time_text(time: datetime) -> str:
    """RFC 3339 in UTC."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def clock_text(time: datetime, now: datetime, zone: str = "UTC") -> str:
    """A time as people there read it, and how far away it is: `Mon 22:00 Europe/Berlin (in 6 h 12 min)`."""
    local = time.astimezone(ZoneInfo(zone))
    near = abs(time - now) < timedelta(days=6)
    return f"{local:%a %H:%M}" + ("" if near else f" {local:%d %b %Y}") + f" {zone} ({distance_text(time - now)})"


def distance_text(distance: timedelta) -> str:
    """`in 6 h 12 min`, `3 d 4 h ago`: the two largest units."""
    if abs(distance) < timedelta(seconds=1):
        return "now"
    text = span_text(abs(distance))
    return f"in {text}" if distance > timedelta(0) else f"{text} ago"


def span_text(duration: timedelta) -> str:
    """`6 h 12 min`, `3 d 4 h`, `40 s`: the two largest units that there are."""
    seconds = int(duration.total_seconds())
    parts = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number:,} {unit}")
        if parts and (len(parts) == 2 or not number):
            break
    return " ".join(parts) or "0 s"
