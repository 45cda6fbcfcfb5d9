"""Standing: what is stored, in memory, and the fleet as it was last decided from that. Each step begins from here."""

from __future__ import annotations

from datetime import datetime

from fleetform.app.fleet import Fleet
from fleetform.engine.decisions import Decisions
from fleetform.engine.world.changes import OwnerChanges
from fleetform.loop.accepting import next_reading
from fleetform.loop.deciding import decided
from fleetform.loop.image import Extras, Image, commit_image, read_image
from fleetform.loop.surroundings import Surroundings
from fleetform.loop.telling import Telling, in_order
from fleetform.loop.unsettled import Unsettled
from fleetform.ports.store import Event


class Standing:
    """What steps have in common. Everything that it keeps only saves work: what counts is stored.

    fleet is the accepted one as it was last decided; None before anything was. changes are what its owners wanted at
    the last plan. catalogs_due is when a source of a catalog is to be read again. events are those that no pass has
    reported yet.
    """

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.telling = Telling(around.store, around.sends, around.words)
        self.fleet: Fleet | None = None
        self.changes: OwnerChanges | None = None
        self.catalogs_due: datetime | None = None
        self.events: list[Event] = []
        self._image: Image | None = None
        self._unsettled = Unsettled()
        self._decisions: Decisions | None = None

    @property
    def image(self) -> Image:
        if self._image is None:
            self._image = read_image(self.around.store, self.around.name)
        return self._image

    @property
    def unsettled(self) -> Unsettled:
        """What of the image as it is now may have to be done something about."""
        return self._unsettled.look(self.image)

    def unsettled_in(self, image: Image) -> Unsettled:
        """The same of an image that is not stored yet."""
        return self._unsettled.look(image)

    def forget(self) -> None:
        """Begin again from what is stored: after a failure nobody knows what of it took place."""
        self._image = self.fleet = None
        self._unsettled = Unsettled()
        self.events = []
        self.telling.forget()

    def decide(self, now: datetime) -> Fleet | None:
        """The accepted fleet with everything that is known now; decided again only where something is another."""
        if not self.image.files:
            return None
        known = self.image.known
        fleet = self.fleet
        if fleet is None:
            fleet = self.around.open_fleet(self.image.files, now, known)
            self.catalogs_due = next_reading(fleet)
        if self._decisions is not None and self.fleet is fleet and fleet.state is known and fleet.snapshot.at == now:
            return fleet
        self.take(decided(fleet, known, now, self._decisions))
        return self.fleet

    def take(self, fleet: Fleet) -> None:
        """Go on from a fleet and what was decided of it."""
        self.fleet, self._decisions = fleet, fleet.decisions

    def decide_from(self, decisions: Decisions) -> None:
        """Have the fleet opened and decided again, from other decisions than those at hand."""
        self.fleet, self._decisions = None, decisions

    def commit(self, image: Image, extras: Extras, now: datetime) -> None:
        """Stores what differs from the image at hand, which is then that one."""
        told = self.telling.of_rollouts(self.image, image, self.fleet, now)
        extras.messages = in_order([*extras.messages, *told])
        if commit_image(self.around.store, self.image, image, extras, now):
            self._image = image
            self.events += extras.events
