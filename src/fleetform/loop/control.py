"""Control: one pass, top to bottom. Accept, observe, plan, admit, deliver; each step begins from what is stored."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from operator import is_
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.app.reading.kept_objects import kept_from, needed
from fleetform.engine.decisions import Decisions
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.records import Plan
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.engine.world.changes import OwnerChanges
from fleetform.engine.world.contents import ContentHashes
from fleetform.loop.accepting import OpenFleet, Refusal, accept, accepted_by, next_reading
from fleetform.loop.admitting import admit, places_of_joiners, render_targets
from fleetform.loop.asking import Reply, RolloutRequest, answered_before, carry_out, deed_of, to_remember
from fleetform.loop.caring import KEPT_VERSIONS, Care, blobs_of, decided_anew, render_again, without_unneeded
from fleetform.loop.deciding import decided, with_placements
from fleetform.loop.delivering import Deliveries, gone, let_go
from fleetform.loop.destinations import Destinations, drift_of
from fleetform.loop.drifting import corrected, delivered_keys, find_drift
from fleetform.loop.image import Extras, Image, commit_image, read_image
from fleetform.loop.observing import Seen, observe
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.loop.telling import Telling, in_order
from fleetform.loop.unsettled import Unsettled
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.ports.clock import Clock
from fleetform.ports.delivery import Deliverer
from fleetform.ports.observing import Observer
from fleetform.ports.rendering import Renders
from fleetform.ports.sources import Source, SourceFiles
from fleetform.ports.store import Event, Store, UnavailableError

# After catalogs brought what cannot be taken.
_CATALOG_PAUSE = timedelta(minutes=1)
# Until what could not be rendered for want of a tool or a source is tried again.
_RENDER_PAUSE = timedelta(seconds=30)
# Of a large fleet it takes seconds.
_BETWEEN_DECISIONS = timedelta(hours=24)
_BETWEEN_FETCHES = timedelta(minutes=10)
_FIRST_KEY: PluginKey = ("", "", "")
_NO_DESTINATION = "its delivery needs a management cluster; this control plane delivers into directories and git"


@dataclass(frozen=True)
class Surroundings:
    """What a control plane stands in. destination_of says where a plugin of a fleet is delivered, folder_of which
    folder paths in a file are relative to.

    sends: whether people are told by messages; in a trial, what is told stands in the feed alone.
    """

    store: Store
    clock: Clock
    source: Source
    open_fleet: OpenFleet
    renders: Renders
    deliverer: Callable[[Destination], Deliverer]
    observer: Observer
    destination_of: Callable[[Fleet, PluginDecision], Destination | None]
    name: str = "the store"
    folder_of: Callable[[str], str] = os.path.dirname
    sends: bool = True


class PassReport(NamedTuple):
    """What a pass did. wrote: something was stored, so that more may follow at once. next_look: when something is due.

    refusal is why the files as they are now were not accepted; unavailable are starts that could not be rendered here;
    events are what happened on clusters. watched: clusters are judged whose health may change at any time. deliveries
    are what was brought where; took is how many seconds the pass took.
    """

    at: datetime
    wrote: bool
    next_look: datetime | None
    plan: Plan | None = None
    accepted: bool = False
    refusal: Refusal | None = None
    unavailable: Mapping[PluginKey, str] = {}
    events: Sequence[Event] = ()
    watched: bool = False
    deliveries: Mapping[PluginKey, DeliveryRecord] = {}
    took: float = 0.0


class Control:
    """Runs passes. Everything that it keeps between them only saves work: what counts is stored."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._deliveries = Deliveries(around.deliverer, around.store.blob)
        self._telling = Telling(around.store, around.sends)
        self._almanac = Almanac()
        self._image: Image | None = None
        self._unsettled = Unsettled()
        self._destined_by: tuple[object, ...] = ()
        self._fleet: Fleet | None = None
        self._decisions: Decisions | None = None
        self._changes: OwnerChanges | None = None
        self._plan: Plan | None = None
        self._refusal: Refusal | None = None
        self._reading: SourceFiles | None = None
        self._catalogs_due: datetime | None = None
        self._rendered_to = ""
        self._anew_at: datetime | None = None
        self._drift_to = _FIRST_KEY
        self._fetched_at: datetime | None = None
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
        self._image = self._fleet = self._reading = None
        self._unsettled, self._destined_by = Unsettled(), ()
        self._events = []
        self._telling.forget()

    def look(self) -> bool:
        """Whether the source has something else than what was accepted or refused; the next pass takes it from here."""
        reading = self._around.source.read()
        if self._is_known(reading):
            return False
        self._reading = reading
        return True

    def run_pass(self, look_at_source: bool = True) -> PassReport:
        """look_at_source: whether files may be others than at the last pass."""
        begun = time.perf_counter()
        try:
            report = self._run_pass(look_at_source)
            return report._replace(deliveries=self.image.deliveries, took=time.perf_counter() - begun)
        except BaseException:
            self.forget()
            raise

    def find_drift(self, everything: bool = False) -> bool:
        """Looks at some of what was delivered, or at all of it; whether something is another than was known."""
        try:
            return self._find_drift(everything)
        except BaseException:
            self.forget()
            raise

    def care(self) -> Care:
        """What is done from time to time while nothing is due."""
        try:
            return self._care()
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
        done = carry_out(fleet, request)
        deed = deed_of(request, done, now)
        if request.dry_run:
            # What would be done is nobody's business; what somebody may not do is.
            self._commit(self.image, Extras(deeds=[deed] if deed.outcome == "denied" else []), now)
        else:
            image = replace(self.image, known=done.known) if done.known is not None else self.image
            remember = to_remember(self._around.store, request, done.reply, now)
            self._commit(image, Extras(deeds=[deed], writes=remember), now)
        return done.reply

    def _find_drift(self, everything: bool) -> bool:
        now, version = self._around.clock.now(), self._around.store.version()
        fleet = self._decide(now)
        if fleet is None:
            return False
        # A branch elsewhere has to be fetched to be looked at.
        far = everything or self._fetched_at is None or not timedelta(0) <= now - self._fetched_at < _BETWEEN_FETCHES
        kinds = frozenset({"directory", "git"} if far else {"directory"})
        self._fetched_at = now if far else self._fetched_at
        while True:
            keys = delivered_keys(self.image, kinds, self._drift_to)
            extras = Extras()
            mode_of = partial(drift_of, fleet)
            self._commit(find_drift(self.image, keys, self._around.deliverer, mode_of, now, extras), extras, now)
            self._drift_to = keys[-1] if keys else _FIRST_KEY
            if not everything or not keys:
                return self._around.store.version() != version

    def _care(self) -> Care:
        now, store = self._around.clock.now(), self._around.store
        fleet = self._decide(now)
        if fleet is None:
            return Care(now)
        differing: list[PluginKey] = []
        if self._anew_at is None or not timedelta(0) <= now - self._anew_at < _BETWEEN_DECISIONS:
            self._anew_at = now
            fresh, differing = decided_anew(fleet)
            if differing:
                # What was decided anew is right: the next pass goes on from there.
                self._decisions, self._fleet = fresh, None
        extras = Extras()
        image, changed, self._rendered_to = render_again(
            fleet, self.image, self._around.renders, self._rendered_to, now, extras
        )
        before = len(image.states)
        image = without_unneeded(image)
        self._commit(image, extras, now)
        store.sweep(blobs_of(self.image))
        store.compact(KEPT_VERSIONS)
        return Care(now, differing, changed, before - len(image.states))

    def _run_pass(self, look_at_source: bool) -> PassReport:
        now = self._around.clock.now()
        version = self._around.store.version()
        catalogs = self._catalogs_due is not None and self._catalogs_due <= now
        accepted = self._accept(now) if look_at_source or catalogs or self._reading is not None else False
        fleet = self._decide(now)
        if fleet is None:
            wrote = self._around.store.version() != version
            return PassReport(now, wrote, None, accepted=accepted, refusal=self._refusal)
        seen = self._observe(fleet, now)
        fleet = self._decide(now) or fleet
        found, changes = self._make_plan(fleet, now)
        unavailable = self._admit(fleet, found, changes, now)
        self._deliver(fleet, found, now)
        again = now + _RENDER_PAUSE if unavailable else None
        looks = [
            again,
            seen.look_at,
            found.next_look,
            self._unsettled.look(self.image).next_delivery,
            fleet.decisions.next_due,
            self._catalogs_due,
            self._telling.look_at,
        ]
        later = [each for each in looks if each is not None and each > now]
        wrote = self._around.store.version() != version
        next_look = min(later, default=None)
        # With what happened since the last pass: drift is found between them.
        events, self._events = self._events, []
        return PassReport(now, wrote, next_look, found, accepted, self._refusal, unavailable, events, seen.watched)

    # ---- The steps

    def _accept(self, now: datetime) -> bool:
        """Whether the files are others than before."""
        reading, self._reading = self._reading or self._around.source.read(), None
        due = self._catalogs_due is not None and self._catalogs_due <= now
        if self._is_known(reading) and not due:
            return False
        if not due and not reading.problems and reading.files and reading.files == self.image.files:
            # What was refused was taken back.
            self._refusal = None
            return False
        found = accept(reading, self.image, self._around.open_fleet, now, self._fleet)
        if isinstance(found, Refusal):
            self._refusal = found
            self._catalogs_due = now + _CATALOG_PAUSE if due else self._catalogs_due
            return False
        other = found.image.files != self.image.files
        extras = Extras(deeds=accepted_by(reading, now))
        image = self._with_targets_of_open_rollouts(found.image, now, extras)
        image = self._with_kept_objects(image, found.fleet, now)
        self._commit(image, extras, now)
        self._refusal, self._fleet = None, found.fleet
        self._decisions = found.fleet.decisions
        self._catalogs_due = next_reading(found.fleet)
        return other

    def _is_known(self, reading: SourceFiles) -> bool:
        """Whether it is what was accepted, or what was refused."""
        if self._refusal is not None:
            return self._refusal.reading == reading
        return not reading.problems and bool(reading.files) and reading.files == self.image.files

    def _with_targets_of_open_rollouts(self, image: Image, now: datetime, extras: Extras) -> Image:
        """Before other files take the place of these: what rollouts that run will still start is rendered from these.

        A rollout finishes on what it started with (B8).
        """
        members = self._unsettled.look(self.image).enrolled(self.image.open_rollouts)
        places = ((key, self.image.plugin(key).enrolment) for key in sorted(members))
        targets = [
            (key, place.target)
            for key, place in places
            if place is not None and place.target.input_hash not in self.image.states
        ]
        before = self._decide(now) if targets else None
        if before is None:
            return image
        rendering = render_targets(before, targets, self.image, self._around.renders, extras)
        return replace(image, states={**image.states, **rendering.states})

    def _with_kept_objects(self, image: Image, fleet: Fleet, now: datetime) -> Image:
        """With the objects that rollouts still need as they are in these files, for clusters that join (B21)."""
        earlier = self._changes.hashes if self._changes is not None else None
        wanted = needed(image.known.rollouts, ContentHashes(fleet.snapshot, earlier))
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
        fleet = self._fleet
        if fleet is None:
            fleet = self._around.open_fleet(self.image.files, now, known)
            self._catalogs_due = next_reading(fleet)
        if self._decisions is not None and self._fleet is fleet and fleet.state is known and fleet.snapshot.at == now:
            return fleet
        self._fleet = decided(fleet, known, now, self._decisions)
        self._decisions = self._fleet.decisions
        return self._fleet

    def _observe(self, fleet: Fleet, now: datetime) -> Seen:
        extras = Extras()
        keys = self._unsettled.look(self.image).judged(self.image.open_rollouts)
        seen = observe(self.image, keys, fleet.snapshot.clusters, self._around.observer, self._base_of, now, extras)
        self._commit(seen.image, extras, now)
        return seen

    def _base_of(self, cluster: Object[ClusterSpec]) -> str:
        return self._around.folder_of(cluster.origin.file) or "."

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
        targets += places_of_joiners(found)
        destinations = Destinations(fleet, self._around.destination_of)
        reachable = [(key, target) for key, target in targets if key in destinations]
        rendering = render_targets(fleet, reachable, self.image, self._around.renders, extras, changes)
        for key, target in targets:
            if key not in destinations and target.input_hash is not None:
                rendering.failed[target.input_hash] = _NO_DESTINATION
        image = admit(with_placements(self.image, fleet), found, changes, rendering, now, extras)
        image = image.with_plugins(dict.fromkeys(changes.forgotten))
        extras.messages += self._telling.of_plan(fleet, found, now)
        self._commit(image, extras, now)
        return rendering.unavailable

    def _deliver(self, fleet: Fleet, found: Plan, now: datetime) -> None:
        extras = Extras()
        destinations = Destinations(fleet, self._around.destination_of)
        unwanted = found.world.removals
        removals = gone(self.image, unwanted, found.removals)
        image = let_go(self.image, unwanted, now, extras)
        before = image.deliveries
        keys = self._misplaced(fleet, image)
        image = self._deliveries.deliver(image, keys, destinations, removals, now, extras)
        image = corrected(image, before, now, extras)
        self._commit(image, extras, now)

    def _misplaced(self, fleet: Fleet, image: Image) -> Iterable[PluginKey]:
        """Plugins that may not be where they should be: any of them, if somebody may have said so anew."""
        snapshot = fleet.snapshot
        destined_by = (snapshot.presets, snapshot.plugins, snapshot.organizations)
        before, self._destined_by = self._destined_by, destined_by
        if len(before) == len(destined_by) and all(map(is_, before, destined_by)):
            return self._unsettled.look(image).undelivered
        states = image.known.plugins.items()
        return [(cluster.organization, cluster.name, name) for cluster, here in states for name in here]

    def _commit(self, image: Image, extras: Extras, now: datetime) -> None:
        told = self._telling.of_rollouts(self.image, image, self._fleet, now)
        extras.messages = in_order([*extras.messages, *told])
        if commit_image(self._around.store, self.image, image, extras, now):
            self._image = image
            self._events += extras.events
