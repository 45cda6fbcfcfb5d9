"""The whole fleet as the API server has it now, for admission: read again whenever something is another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from threading import Event

from fleetform.app.fleet import Fleet
from fleetform.loop.accepting import OpenFleet
from fleetform.model.authors import ADMITTED
from fleetform.operator.leases import boot_time
from fleetform.operator.objects import ApiObjects
from fleetform.operator.revisions import EarlierVersions
from fleetform.ports.inputs import Input
from fleetform.ports.sources import SourceFiles
from fleetform.ports.state import KnownState

# Fleets are read again at most so often: people apply many objects in a row.
_PAUSE = 0.02


class CurrentFleet:
    """Any thread may get it; one thread runs it."""

    def __init__(
        self, objects: ApiObjects, earlier: EarlierVersions, open_fleet: OpenFleet, now: Callable[[], datetime]
    ) -> None:
        self._objects, self._earlier, self._open, self._now = objects, earlier, open_fleet, now
        self._fleet: Fleet | None = None
        self._read: SourceFiles | None = None
        self._wake = Event()
        self.went_on_at = boot_time()

    def get(self) -> Fleet | None:
        """None before everything was listed."""
        return self._fleet

    def wake(self) -> None:
        self._wake.set()

    def run(self, stop: Event) -> None:
        while not stop.is_set():
            self.went_on_at = boot_time()
            self._wake.clear()
            self.look()
            self._wake.wait(1.0)
            stop.wait(_PAUSE)

    def look(self) -> None:
        """Takes what is there now. While something cannot be read, what was known stays."""
        found = self._objects.files()
        if found.problems or not self._earlier.are_known:
            return
        found = found._replace(files={**found.files, **self._earlier.beside(found.files)})
        if found == self._read:
            return
        before = self._fleet
        fleet = self._open(found.files, self._now(), KnownState())
        if before is not None:
            fleet = replace(fleet, previous=before.decisions, checked=before.checked)
        # Decided here, where nobody waits for it.
        fleet = replace(fleet, snapshot=fleet.decisions.index.snapshot, previous=fleet.decisions)
        self._fleet, self._read = fleet, found


def with_approvers(input_: Input) -> Input:
    """Who gave an Approval is whom it names: admission lets nobody name another (S47)."""
    return replace(input_, authors=ADMITTED)
