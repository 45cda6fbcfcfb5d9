"""Control: one pass, top to bottom. Accept, observe, plan, admit, deliver; each step begins from what is stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.app.reading.kept_objects import kept_from, needed
from fleetform.engine.decisions import Decisions
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.records import Plan
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.engine.world.changes import OwnerChanges
from fleetform.loop.accepting import OpenFleet, Refusal, accept, digest_of
from fleetform.loop.admitting import admit, render_targets
from fleetform.loop.asking import Reply, RolloutRequest, answered_before, carry_out, deed_of, to_remember
from fleetform.loop.deciding import decided
from fleetform.loop.delivering import Deliveries, let_go, next_delivery
from fleetform.loop.image import Extras, Image, commit_image, read_image
from fleetform.loop.observing import observe
from fleetform.loop.records import Destination
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.state import UNKNOWN, Enrolment
from fleetform.ports.clock import Clock
from fleetform.ports.delivery import Deliverer
from fleetform.ports.observing import Observer
from fleetform.ports.rendering import Renders
from fleetform.ports.sources import Source
from fleetform.ports.store import Event, Store, UnavailableError

_NO_DESTINATION = "its delivery needs a management cluster; this control plane delivers into directories and git"


@dataclass(frozen=True)
class Surroundings:
    """What a control plane stands in. destination_of says where a plugin of a fleet is delivered."""

    store: Store
    clock: Clock
    source: Source
    open_fleet: OpenFleet
    renders: Renders
    deliverer: Callable[[Destination], Deliverer]
    observer: Observer
    destination_of: Callable[[Fleet, PluginDecision], Destination | None]
    name: str = "the store"


class PassReport(NamedTuple):
    """What a pass did. wrote: something was stored, so that more may follow at once. next_look: when something is due.

    refusal is why the files as they are now were not accepted; unavailable are starts that could not be rendered here;
    events are what happened on clusters.
    """

    at: datetime
    wrote: bool
    next_look: datetime | None
    plan: Plan | None = None
    accepted: bool = False
    refusal: Refusal | None = None
    unavailable: Mapping[PluginKey, str] = {}
    events: Sequence[Event] = ()


class Control:
    """Runs passes. Everything that it keeps between them only saves work: what counts is stored."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._deliveries = Deliveries(around.deliverer, around.store.blob)
        self._almanac = Almanac()
        self._image: Image | None = None
        self._fleet: Fleet | None = None
        self._decisions: Decisions | None = None
        self._changes: OwnerChanges | None = None
        self._plan: Plan | None = None
        self._refusal: Refusal | None = None
        self._events: list[Event] = []

    @property
    def image(self) -> Image:
        if self._image is None:
            self._image = read_image(self._around.store, self._around.name)
        return self._image

    @property
    def fleet(self) -> Fleet | None:
        """The fleet as it was last decided; None before anything was accepted."""
        return self._fleet

    def forget(self) -> None:
        """Begin again from what is stored: after a failure nobody knows what of it took place."""
        self._image = self._fleet = None

    def run_pass(self, look_at_source: bool = True) -> PassReport:
        """look_at_source: whether files may be others than at the last pass."""
        try:
            return self._run_pass(look_at_source)
        except BaseException:
            self.forget()
            raise

    def ask(self, request: RolloutRequest) -> Reply:
        """Carries out a request on what is stored; UnavailableError before anything was accepted."""
        try:
            return self._ask(request)
        except BaseException:
            self.forget()
            raise

    def _ask(self, request: RolloutRequest) -> Reply:
        before = answered_before(self._around.store, request)
        if before is not None:
            return before
        now = self._around.clock.now()
        fleet = self._decide(now)
        if fleet is None:
            raise UnavailableError("no files were accepted yet", "wait for the first pass")
        reply, known = carry_out(fleet, request)
        if not request.dry_run:
            image = replace(self.image, known=known) if known is not None else self.image
            remember = to_remember(self._around.store, request, reply, now)
            self._commit(image, Extras(deeds=[deed_of(request, reply, now)], writes=remember), now)
        return reply

    def _run_pass(self, look_at_source: bool) -> PassReport:
        now = self._around.clock.now()
        version = self._around.store.version()
        self._events = []
        accepted = self._accept(now) if look_at_source else False
        fleet = self._decide(now)
        if fleet is None:
            wrote = self._around.store.version() != version
            return PassReport(now, wrote, None, accepted=accepted, refusal=self._refusal)
        look_at = self._observe(fleet, now)
        fleet = self._decide(now) or fleet
        found, changes = self._make_plan(fleet, now)
        unavailable = self._admit(fleet, found, changes, now)
        self._deliver(fleet, found, now)
        looks = [look_at, found.next_look, next_delivery(self.image), fleet.decisions.next_due]
        later = [each for each in looks if each is not None and each > now]
        wrote = self._around.store.version() != version
        next_look = min(later, default=None)
        return PassReport(now, wrote, next_look, found, accepted, self._refusal, unavailable, self._events)

    # ---- The steps

    def _accept(self, now: datetime) -> bool:
        """Whether the files are others than before."""
        reading = self._around.source.read()
        if not reading.problems and reading.files == self.image.files:
            self._refusal = None
            return False
        if self._refusal is not None and not reading.problems and self._refusal.digest == digest_of(reading.files):
            return False
        found = accept(reading, self.image, self._around.open_fleet, now)
        if isinstance(found, Refusal):
            self._refusal = found
            return False
        extras = Extras()
        image = self._with_targets_of_open_rollouts(found.image, now, extras)
        image = self._with_kept_objects(image, found.fleet, now)
        self._commit(image, extras, now)
        self._refusal, self._fleet = None, found.fleet
        return True

    def _with_targets_of_open_rollouts(self, image: Image, now: datetime, extras: Extras) -> Image:
        """Before other files take the place of these: what rollouts that run will still start is rendered from these.

        A rollout finishes on what it started with (B8).
        """
        targets = [
            (key, place.target)
            for key, place in _places_in_open_rollouts(self.image)
            if place.target.input_hash not in self.image.states
        ]
        before = self._decide(now) if targets else None
        if before is None:
            return image
        rendering = render_targets(before, targets, self.image, self._around.renders, extras)
        return replace(image, states={**image.states, **rendering.states})

    def _with_kept_objects(self, image: Image, fleet: Fleet, now: datetime) -> Image:
        """With the objects that rollouts still need as they are in these files, for clusters that join (B21)."""
        wanted = needed(image.known.rollouts, fleet.snapshot)
        kept = {key: each for key, each in image.known.kept.items() if key in wanted}
        missing = wanted - kept.keys()
        before = self._decide(now) if missing else None
        if before is not None:
            kept |= kept_from(before.snapshot, before.input.documents, missing)
        if kept == image.known.kept:
            return image
        return replace(image, known=replace(image.known, kept=kept))

    def _decide(self, now: datetime) -> Fleet | None:
        """The accepted fleet with everything that is known now; decided again only where something is another."""
        if not self.image.files:
            return None
        known = self.image.known
        fleet = self._fleet or self._around.open_fleet(self.image.files, now, known)
        if self._decisions is not None and self._fleet is fleet and fleet.state is known and fleet.snapshot.at == now:
            return fleet
        self._fleet = decided(fleet, known, now, self._decisions)
        self._decisions = self._fleet.decisions
        return self._fleet

    def _observe(self, fleet: Fleet, now: datetime) -> datetime | None:
        extras = Extras()
        clusters = fleet.snapshot.clusters
        bases = {ref: os.path.dirname(cluster.origin.file) or "." for ref, cluster in clusters.items()}
        seen = observe(self.image, clusters, self._around.observer, bases, now, extras)
        self._commit(seen.image, extras, now)
        return seen.look_at

    def _make_plan(self, fleet: Fleet, now: datetime) -> tuple[Plan, OwnerChanges]:
        self._changes = fleet.owner_changes_after(self._changes)
        # What was accepted was read whole: absence means gone.
        self._plan = plan(self._changes.world(complete=True), now, self._plan, self._almanac)
        return self._plan, self._changes

    def _admit(self, fleet: Fleet, found: Plan, changes: OwnerChanges, now: datetime) -> Mapping[PluginKey, str]:
        extras = Extras()
        targets = [
            (step.key, step.progress.admitted)
            for step in found.starts
            if step.action != "delete" and step.progress.admitted is not None
        ]
        targets += [(key, place.target) for key, place in _places_of_joiners(found)]
        destinations = _Destinations(fleet, self._around.destination_of)
        reachable = [(key, target) for key, target in targets if key in destinations]
        rendering = render_targets(fleet, reachable, self.image, self._around.renders, extras, changes)
        for key, target in targets:
            if key not in destinations and target.input_hash is not None:
                rendering.failed[target.input_hash] = _NO_DESTINATION
        image = admit(_with_placements(self.image, fleet), found, changes, rendering, now, extras)
        image = image.with_plugins(dict.fromkeys(changes.forgotten))
        self._commit(image, extras, now)
        return rendering.unavailable

    def _deliver(self, fleet: Fleet, found: Plan, now: datetime) -> None:
        extras = Extras()
        destinations = _Destinations(fleet, self._around.destination_of)
        removals = [step.key for step in found.removals if step.action == "delete"]
        kept = [step.key for step in found.removals if step.action == "nothing"]
        image = let_go(self.image, kept, now, extras)
        image = self._deliveries.deliver(image, destinations, removals, now, extras)
        self._commit(image, extras, now)

    def _commit(self, image: Image, extras: Extras, now: datetime) -> None:
        if commit_image(self._around.store, self.image, image, extras, now):
            self._image = image
            self._events += extras.events


def _with_placements(image: Image, fleet: Fleet) -> Image:
    """With what placements chose: a cluster that was chosen comes first the next time (B32)."""
    placements = fleet.decisions.index.placements
    chosen = {ref: placed.names for ref in placements.objects if (placed := placements.placed(ref)) is not None}
    if chosen == {ref: tuple(names) for ref, names in image.known.placements.items()}:
        return image
    return replace(image, known=replace(image.known, placements=chosen))


def _places_in_open_rollouts(image: Image) -> Iterator[tuple[PluginKey, Enrolment]]:
    """Members of rollouts that run, which have not been started on them yet."""
    for cluster, on_cluster in image.known.plugins.items():
        for name, state in on_cluster.items():
            place = state.enrolment
            if place is not None and place.rollout in image.open_rollouts:
                yield (cluster.organization, cluster.name, name), place


def _places_of_joiners(found: Plan) -> Iterator[tuple[PluginKey, Enrolment]]:
    """Places that clusters get which join: what a rollout will bring them is rendered while it can still be decided."""
    states = found.world.states
    for owner in found.owners:
        for step in owner.steps:
            place = step.progress.enrolment
            if place is not None and place.joined and place != states.get(step.key, UNKNOWN).enrolment:
                yield step.key, place


class _Destinations(Mapping[PluginKey, Destination]):
    """Where plugins are delivered, worked out for those that are asked about."""

    def __init__(self, fleet: Fleet, of: Callable[[Fleet, PluginDecision], Destination | None]) -> None:
        self._fleet, self._of = fleet, of

    def __getitem__(self, key: PluginKey) -> Destination:
        found = self._of(self._fleet, self._fleet.decisions.plugins[key])
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[PluginKey]:
        return iter(self._fleet.decisions.plugins)

    def __len__(self) -> int:
        return len(self._fleet.decisions.plugins)
