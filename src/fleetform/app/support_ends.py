"""When the support of versions ends, as policies say, and who still runs them: after that another is forced (B11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.results.decisions import PluginDecision
from fleetform.syntax.ranges import Range, RangeError, parse_range
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError


class Ending(NamedTuple):
    """A version whose support ends, in one organization, and the clusters that run it there."""

    organization: str
    definition: str
    version: str
    at: datetime
    clusters: Sequence[str]


class EndDates:
    """The ends of versions that plugins run, as they are written; past ones, too."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # No caches of methods: they would be cycles, and hold a fleet until somebody looks for such.
        self._rules: dict[tuple[str, str], list[tuple[Range, datetime]]] = {}
        self._ends: dict[tuple[str, str, str], datetime | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no support ends at all, which is usual, and saves looking at every plugin."""
        return next(iter(self._fleet.index.definitions.ends()), None) is None

    def of(self, plugin: PluginDecision) -> datetime | None:
        """When the version ends that a plugin runs."""
        if plugin.running is None:
            return None
        return self.end_of(plugin.organization, plugin.target.definition, plugin.running)

    def end_of(self, organization: str, definition: str, version: str) -> datetime | None:
        key = organization, definition, version
        if key not in self._ends:
            self._ends[key] = self._find_end(*key)
        return self._ends[key]

    def _find_end(self, organization: str, definition: str, version: str) -> datetime | None:
        found = []
        if (organization, definition) not in self._rules:
            self._rules[organization, definition] = self._rules_of(organization, definition)
        for range_, at in self._rules[organization, definition]:
            with suppress(VersionError):
                if range_.admits(version):
                    found.append(at)
        snapshot = self._fleet.snapshot
        found += [at for (ref, ended), at in snapshot.ends.items() if (ref.name, ended) == (definition, version)]
        return min(found, default=None)

    def _rules_of(self, organization: str, definition: str) -> list[tuple[Range, datetime]]:
        homes = (PLATFORM_NAMESPACE, organization)
        policies = [each for each in self._fleet.index.definitions.policies if each.ref.organization in homes]
        rules = [rule for each in policies for rule in each.spec.support or () if rule.definition == definition]
        found = []
        for end in (each for rule in rules for each in rule.ends or []):
            # What cannot be read ends nothing, and is reported by checks.
            with suppress(RangeError, VersionError, ValueError):
                found.append((parse_range(end.version), parse_time(end.at)))
        return found


def support_ends(fleet: Fleet) -> list[Ending]:
    """The versions that run somewhere and whose support ends after now, the soonest first."""
    dates = EndDates(fleet)
    if dates.is_empty:
        return []
    clusters: dict[tuple[datetime, str, str, str], list[str]] = defaultdict(list)
    for plugin in fleet.decisions.plugins.values():
        at = dates.of(plugin)
        if at is not None and at > fleet.snapshot.at and plugin.running is not None:
            clusters[at, plugin.organization, plugin.target.definition, plugin.running].append(plugin.cluster.ref.name)
    return [
        Ending(organization, definition, version, at, sorted(set(names)))
        for (at, organization, definition, version), names in sorted(clusters.items())
    ]
