"""Opening: which windows and freezes count for a plugin on a cluster, compiled once for each organization."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fleetform.engine.index.clusters import Cluster
from fleetform.engine.plan.windows.calendar import ALWAYS, Calendar
from fleetform.engine.plan.windows.compile import Calendars, ScopedWindow, compile_window
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.kinds.lifecycle import UpdateWindowSpec
from fleetform.model.kinds.preset import OwnerSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.selectors import safe_matchers

_NEVER = datetime.max.replace(tzinfo=UTC, microsecond=0)


class OpeningOf:
    """The calendars of one owner's plugins, by cluster."""

    def __init__(self, calendars: Calendars | None, named: frozenset[str], definition: str) -> None:
        self._calendars, self._named, self._definition = calendars, named, definition
        self._known: dict[Cluster, Calendar] = {}

    def on(self, cluster: Cluster) -> Calendar:
        if self._calendars is None:
            return ALWAYS
        found = self._known.get(cluster)
        if found is None:
            zone = cluster.spec.time_zone if is_zone(cluster.spec.time_zone) else None
            found = self._calendars.of(self._named, self._definition, cluster.ref.name, cluster.labels, zone)
            self._known[cluster] = found
        return found


class Openings:
    """The windows of an organization."""

    def __init__(self, snapshot: Snapshot, organization: str) -> None:
        windows = [
            scoped_window(object_.ref.name, object_.spec)
            for ref, object_ in sorted(snapshot.others.items())
            if ref.kind == "UpdateWindow" and ref.organization == organization
            if isinstance(object_.spec, UpdateWindowSpec)
        ]
        self.calendars = Calendars(windows) if windows else None
        self._by_definition = any(each.definitions is not None for each in windows)
        home = snapshot.organizations.get(Ref("Organization", organization, organization))
        self._home = home.spec if home is not None else OrganizationSpec()
        self._of: dict[tuple[frozenset[str], str], OpeningOf] = {}

    def named(self, owner: Object[OwnerSpec]) -> frozenset[str]:
        """The windows that count for an owner: its own replace the organization's (B13)."""
        own = owner.spec.update_windows
        return frozenset(own if own is not None else self._home.default_update_windows or ())

    def of(self, owner: Object[OwnerSpec], definition: str) -> OpeningOf:
        return self._named(self.named(owner), definition)

    def of_nobody(self, definition: str) -> OpeningOf:
        """For plugins whose owner is gone."""
        return self._named(frozenset(self._home.default_update_windows or ()), definition)

    def _named(self, named: frozenset[str], definition: str) -> OpeningOf:
        # Where no window is about some definitions, all of them share what is found.
        key = (named, definition if self._by_definition else "")
        found = self._of.get(key)
        if found is None:
            found = self._of[key] = OpeningOf(self.calendars, *key)
        return found


def scoped_window(name: str, spec: UpdateWindowSpec) -> ScopedWindow:
    """A window; one that cannot be read lets nothing start, as validation says: it never opens, or always freezes."""
    try:
        if not is_zone(spec.time_zone):
            raise ValueError(f"{spec.time_zone} is not a time zone")
        return compile_window(name, spec)
    except ValueError:
        begin = _NEVER if spec.type == "Allow" else None
        window = Window(name, begin=begin, end=begin)
        definitions = frozenset(spec.plugin_definition_names) if spec.plugin_definition_names else None
        return ScopedWindow(window, spec.type, safe_matchers(spec.cluster_selector), definitions, True)


@cache
def is_zone(name: str | None) -> bool:
    try:
        return name is None or bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
