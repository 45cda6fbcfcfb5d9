"""Collects findings about one object."""

from __future__ import annotations

from fleetform.model.objects import At, Object
from fleetform.model.results.diagnostics import Diagnostic


class Report:
    """Findings about one object; paths are those of its native shape."""

    def __init__(self, object_: Object[object]) -> None:
        self.object = object_
        self.found: list[Diagnostic] = []

    def error(self, code: str, message: str, hint: str, *path: str | int, related: tuple[At, ...] = ()) -> None:
        at = self.object.at(*path)
        self.found.append(Diagnostic(code, message, hint, "error", self.object.ref, at, related))

    def warn(self, code: str, message: str, hint: str, *path: str | int, related: tuple[At, ...] = ()) -> None:
        at = self.object.at(*path)
        self.found.append(Diagnostic(code, message, hint, "warning", self.object.ref, at, related))

    def note(self, code: str, message: str, hint: str, *path: str | int, related: tuple[At, ...] = ()) -> None:
        at = self.object.at(*path)
        self.found.append(Diagnostic(code, message, hint, "info", self.object.ref, at, related))


def exactly_one(report: Report, record: object, fields: dict[str, str], *path: str | int, at_least: int = 1) -> None:
    """Of the record's fields (attribute to written name) exactly one must be set (or at most one)."""
    given = [written for attribute, written in fields.items() if getattr(record, attribute) is not None]
    names = ", ".join(fields.values())
    if len(given) > 1:
        report.error("exactly-one", f"{' and '.join(given)} exclude each other", "keep one of them", *path, given[1])
    elif len(given) < at_least:
        report.error("exactly-one", f"one of {names} is needed", "add one of them", *path)


def listed(names: list[str]) -> str:
    """The first few of some names, and how many more there are."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
