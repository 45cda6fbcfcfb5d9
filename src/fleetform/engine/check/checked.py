"""What is wrong with objects, and what was gathered to find it, once for many questions: a server answers all day."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from fleetform.engine.check.gathered import Gathered
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic

# All of a snapshot that checks of objects look at beside the object itself; the time is another matter. No check of one
# object looks at overrides.
_PARTS = (
    "organizations",
    "clusters",
    "definitions",
    "presets",
    "plugins",
    "others",
    "retired",
    "announced",
    "ends",
    "recorded",
    "found",
    "unreadable",
)
Found = tuple[Diagnostic, ...]
_MANY = 1000


class _Kept(NamedTuple):
    """Findings, the parts of the snapshot that they were found in, and the time in which they hold."""

    parts: tuple[Any, ...]
    since: datetime
    until: datetime | None
    found: dict[Hashable, Found]

    def holds(self, parts: tuple[Any, ...], at: datetime) -> bool:
        in_time = self.since <= at and (self.until is None or at < self.until)
        return in_time and all(one is other for one, other in zip(self.parts, parts, strict=True))


class CheckedObjects:
    """Keeps findings while nothing is another that they depend on. Several threads may ask."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._gathered: Gathered | None = None

    def of(self, decisions: Decisions, what: Hashable, check: Callable[[], Iterable[Diagnostic]]) -> Found:
        """The findings about something, which check makes if they are not known yet."""
        known = self._still_holding(decisions).found
        if what not in known:
            known[what] = tuple(check())
        return known[what]

    def gathered(self, decisions: Decisions) -> Gathered:
        """What checks of decisions look for, from what was gathered of the last ones that were asked about."""
        found = self._gathered
        if found is None or found.clusters is not decisions.clusters:
            found = self._gathered = Gathered(decisions, found)
        return found

    def _still_holding(self, decisions: Decisions) -> _Kept:
        snapshot, kept = decisions.index.snapshot, self._kept
        parts = tuple(getattr(snapshot, part) for part in _PARTS)
        if kept is None or not kept.holds(parts, snapshot.at):
            kept = self._kept = _Kept(parts, snapshot.at, decisions.next_due, {})
        elif len(kept.found) > _MANY + 2 * len(snapshot.overrides):
            # Overrides that were edited a thousand times are known in each of their forms.
            there = set(snapshot.overrides.values())
            for what in [each for each in kept.found if isinstance(each, Object) and each not in there]:
                del kept.found[what]
        return kept
