"""Two fleets side by side: the later one has the very objects of the earlier one where both say the same.

A change is small, and a fleet is large. What is shared is decided once, and whoever compares knows at a glance that it
is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fleetform.app.fleet import Fleet
from fleetform.engine.incremental.changes import say_the_same
from fleetform.model.objects import At, Object, Origin
from fleetform.model.results.diagnostics import Place
from fleetform.ports.inputs import Locator

_PARTS = ("organizations", "clusters", "definitions", "presets", "plugins", "overrides", "others")
Key = TypeVar("Key")


def beside(fleet: Fleet, before: Fleet) -> Fleet:
    """The same fleet, decided from the one before it. What it answers is the same, places included."""
    if fleet.previous is before.decisions:
        return fleet
    sharing = _Sharing(fleet, before)
    parts: dict[str, Any] = {
        part: sharing.objects(getattr(fleet.snapshot, part), getattr(before.snapshot, part)) for part in _PARTS
    }
    locator = _LocatorBeside(fleet.input.locator, sharing.origins)
    return replace(
        fleet,
        snapshot=replace(fleet.snapshot, **parts),
        input=replace(fleet.input, locator=locator),
        origins=sharing.origins,
        previous=before.decisions,
    )


class _Sharing:
    """Which objects two fleets share, and where those stand in the later one."""

    def __init__(self, fleet: Fleet, before: Fleet) -> None:
        self.origins: dict[Origin, Origin] = {}
        # What catalogs offer is known by its file, and findings are matched by the place that they name.
        self._catalogs = fleet.catalog_definitions.files | before.catalog_definitions.files
        self._noted = {each.at.origin for each in fleet.reading if isinstance(each.at, At)}

    def objects(
        self, now: Mapping[Key, Object[object]], then: Mapping[Key, Object[object]]
    ) -> Mapping[Key, Object[object]]:
        shared = {key: then[key] for key, each in now.items() if key in then and self._share(each, then[key])}
        return {**now, **shared} if shared else now

    def _share(self, now: Object[object], then: Object[object]) -> bool:
        here, there = now.origin, then.origin
        if here in self._noted or here.base != there.base or {here.file, there.file} & self._catalogs:
            return False
        # Several objects may come from one document, which stands at one place.
        return say_the_same(now, then) and self.origins.setdefault(there, here) is here


class _LocatorBeside:
    """Finds the places of shared objects where they stand in the later fleet."""

    def __init__(self, locator: Locator, origins: Mapping[Origin, Origin]) -> None:
        self._locator, self._origins = locator, origins

    def place(self, at: At | Place) -> Place:
        if isinstance(at, At) and at.origin in self._origins:
            at = At(self._origins[at.origin], at.path)
        return self._locator.place(at)

    def lines(self, file: str, first: int, last: int) -> Sequence[str]:
        return self._locator.lines(file, first, last)

    def add(self, file: str, text: str | Callable[[], str]) -> None:
        self._locator.add(file, text)
