"""Times, durations and zones that cannot be read."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fleetform.engine.check.report import Report
from fleetform.syntax.times import parse_duration, parse_time


def lint_time(report: Report, text: str | None, *path: str | int) -> None:
    if text is not None and readable_time(text) is None:
        report.error("bad-stamp", f"{text} is not a time", "write 2026-12-31 or an RFC 3339 time", *path)


def lint_duration(report: Report, text: str | None, *path: str | int) -> None:
    try:
        if text is not None:
            parse_duration(text)
    except ValueError as error:
        report.error("bad-value", str(error), "write a duration such as 30m, 24h or 14d", *path)


def lint_zone(report: Report, name: str | None, *path: str | int) -> None:
    if name is None:
        return
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        report.error("bad-value", f"{name} is not a time zone", "write a name such as Europe/Berlin", *path)


def readable_time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text is not None else None
    except ValueError:
        return None
