"""Compile: UpdateWindows as people write them, on the clock of a cluster; and which count for a plugin (B13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window, cron_text, weekday_schedule
from fleetform.model.kinds.lifecycle import UpdateWindowSpec
from fleetform.syntax.selectors import Matchers, any_matches, safe_matchers
from fleetform.syntax.times import parse_duration, parse_time


class ScopedWindow(NamedTuple):
    """A window with its scope: which clusters and definitions (None: all), and whether it has a zone of its own."""

    window: Window
    type: str
    matchers: Matchers
    definitions: frozenset[str] | None
    own_zone: bool

    def reaches(self, definition: str, cluster: str, labels: Mapping[str, str]) -> bool:
        if self.definitions is not None and definition not in self.definitions:
            return False
        return any_matches(self.matchers, cluster, labels)


def compile_window(name: str, spec: UpdateWindowSpec) -> ScopedWindow:
    """ValueError where its schedule, times or durations cannot be read."""
    schedule = spec.schedule
    if spec.days is not None and spec.start is not None:
        schedule = weekday_schedule(list(spec.days), spec.start)
    if schedule is not None:
        cron_text(schedule)
    window = Window(
        name,
        schedule,
        parse_duration(spec.duration) if spec.duration is not None else timedelta(0),
        parse_time(spec.from_) if spec.from_ is not None else None,
        parse_time(spec.to) if spec.to is not None else None,
        spec.time_zone or "UTC",
        parse_duration(spec.no_start_in_last) if spec.no_start_in_last is not None else timedelta(0),
        parse_duration(spec.jitter) if spec.jitter is not None else timedelta(0),
    )
    definitions = frozenset(spec.plugin_definition_names) if spec.plugin_definition_names else None
    return ScopedWindow(
        window, spec.type, safe_matchers(spec.cluster_selector), definitions, spec.time_zone is not None
    )


class Calendars:
    """The calendars of an organization: made once for each set of windows and zone, so that plugins share them."""

    def __init__(self, windows: Iterable[ScopedWindow]) -> None:
        self._windows = tuple(windows)
        self._made: dict[tuple[frozenset[str], str, tuple[int, ...]], Calendar] = {}

    def of(
        self, named: frozenset[str], definition: str, cluster: str, labels: Mapping[str, str], zone: str | None
    ) -> Calendar:
        """The calendar of a plugin: windows that are named count if they reach it, freezes wherever they do."""
        reached = tuple(i for i, each in enumerate(self._windows) if each.reaches(definition, cluster, labels))
        key = (named, zone or "UTC", reached)
        if key not in self._made:
            self._made[key] = self._calendar(named, zone or "UTC", reached)
        return self._made[key]

    def _calendar(self, named: frozenset[str], zone: str, reached: tuple[int, ...]) -> Calendar:
        found: dict[str, list[Window]] = {"Allow": [], "SoftFreeze": [], "HardFreeze": []}
        for each in (self._windows[index] for index in reached):
            if each.type == "Allow" and each.window.name not in named:
                continue
            found[each.type].append(each.window if each.own_zone else structs.replace(each.window, zone=zone))
        return Calendar(tuple(found["Allow"]), tuple(found["SoftFreeze"]), tuple(found["HardFreeze"]))

    def reaches(self, named: frozenset[str], definition: str, cluster: str, labels: Mapping[str, str]) -> bool:
        """Whether any window that is named counts there: what a policy that requires windows asks."""
        scoped = [each for each in self._windows if each.type == "Allow" and each.window.name in named]
        return any(each.reaches(definition, cluster, labels) for each in scoped)
