"""Control: one pass, top to bottom. Accept, observe, plan, admit, deliver; each step begins from what is stored."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from operator import is_
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.app.support_ends import Ending
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.records import Plan
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.engine.world.changes import OwnerChanges
from fleetform.loop.accepting import AcceptedChange, Refusal
from fleetform.loop.admitting import admit, places_of_joiners, render_targets, with_unrendered
from fleetform.loop.asking import Reply, RolloutRequest, answered_before, carry_out, deed_of, to_remember
from fleetform.loop.caring import Care, Caretaker
from fleetform.loop.deciding import with_placements
from fleetform.loop.delivering import Deliveries
from fleetform.loop.delivery_attempts import announced
from fleetform.loop.destinations import Destinations, Logins
from fleetform.loop.drifting import DriftSearch, corrected
from fleetform.loop.holding import held_back
from fleetform.loop.image import Extras, Image
from fleetform.loop.intake import Intake
from fleetform.loop.leaving import gone, handed_over, let_go, retained
from fleetform.loop.observing import Seen, observe
from fleetform.loop.reading_clusters import ClusterReadings
from fleetform.loop.records import DeliveryRecord
from fleetform.loop.render_tries import RenderTries, waiting_unrendered
from fleetform.loop.sealing import Unsealing
from fleetform.loop.standing import Standing
from fleetform.loop.surroundings import Surroundings
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.ports.store import Deed, Event, UnavailableError

_NO_DESTINATION = "it cannot be delivered so from here: Flux needs a management cluster, a directory needs `serve`"


class PassReport(NamedTuple):
    """What a pass did. wrote: something was stored, so that more may follow at once. next_look: when something is due.

    accepted is what other files brought, refusal why the files as they are now were not accepted; unavailable are
    starts that could not be rendered here; events are what happened on clusters. watched: clusters are judged whose
    health may change at any time. deliveries are what was brought where; under_way: clusters are being worked on beside
    passes. took is how many seconds the pass took; endings are versions that run and whose support ends. silent are
    clusters that do not answer, with what comes instead.
    """

    at: datetime
    wrote: bool
    next_look: datetime | None
    plan: Plan | None = None
    accepted: AcceptedChange | None = None
    refusal: Refusal | None = None
    unavailable: Mapping[PluginKey, str] = {}
    events: Sequence[Event] = ()
    watched: bool = False
    deliveries: Mapping[PluginKey, DeliveryRecord] = {}
    took: float = 0.0
    under_way: bool = False
    endings: Sequence[Ending] = ()
    silent: Mapping[Ref, str] = {}


class Control:
    """Runs passes, and what is done between them. What it keeps only saves work: what counts is stored."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._standing = Standing(around)
        self._intake = Intake(self._standing)
        self._drift_search = DriftSearch(self._standing)
        self._caretaker = Caretaker(self._standing)
        unsealing = None
        if around.rerenders is not None:
            unsealing = Unsealing(around.rerenders, around.store.blob, lambda: self._standing.fleet)
        self._deliveries = Deliveries(around.deliverer, around.store.blob, around.beside, unsealing)
        self._readings = ClusterReadings(around)
        self._almanac = Almanac()
        self._render_tries = RenderTries()
        self._plan: Plan | None = None
        self._destined_by: tuple[object, ...] = ()

    @property
    def image(self) -> Image:
        return self._standing.image

    @property
    def fleet(self) -> Fleet | None:
        """The fleet as it was last decided; None before anything was accepted."""
        return self._standing.fleet

    def forget(self) -> None:
        """Begin again from what is stored: after a failure nobody knows what of it took place."""
        self._standing.forget()
        self._intake.forget()
        self._destined_by = ()

    def look(self) -> bool:
        """Whether the source has something else than what was accepted or refused; the next pass takes it from here."""
        return self._intake.look()

    def run_pass(self, look_at_source: bool = True) -> PassReport:
        """look_at_source: whether files may be others than at the last pass."""
        begun = time.perf_counter()
        with self._whole_or_forgotten():
            report = self._run_pass(look_at_source)
            took, under_way = time.perf_counter() - begun, self._around.beside.is_busy()
            deliveries, endings = self.image.deliveries, self._standing.telling.endings
            stored = self.image.known.rollouts
            silent = {ref: stored.silent_because.get(ref, "") for ref in stored.silent_since}
            return report._replace(
                deliveries=deliveries, took=took, under_way=under_way, endings=endings, silent=silent
            )

    def find_drift(self, everything: bool = False) -> bool:
        """Looks at some of what was delivered, or at all of it; whether something is another than was known."""
        with self._whole_or_forgotten():
            return self._drift_search.run(everything)

    def is_busy(self) -> bool:
        """Whether clusters are being worked on beside the passes."""
        return self._around.beside.is_busy()

    def care(self) -> Care:
        """What is done from time to time while nothing is due."""
        with self._whole_or_forgotten():
            return self._caretaker.run()

    def ask(self, request: RolloutRequest) -> Reply:
        """Carries out a request on what is stored; UnavailableError before anything was accepted."""
        with self._whole_or_forgotten():
            return self._ask(request)

    def note_refused(self, told: str) -> None:
        """That people were not let in stands in the audit log."""
        with self._whole_or_forgotten():
            now = self._around.clock.now()
            deed = Deed(now, "unknown", "sign-in", "api", "denied", detail=told)
            self._standing.commit(self.image, Extras(deeds=[deed]), now)

    @contextmanager
    def _whole_or_forgotten(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def _ask(self, request: RolloutRequest) -> Reply:
        before = answered_before(self._around.store, request)
        if before is not None:
            return before
        now = self._around.clock.now()
        fleet = self._standing.decide(now)
        if fleet is None:
            raise UnavailableError("no files were accepted yet", "wait for the first pass")
        done = carry_out(fleet, request)
        deed = deed_of(request, done, now)
        if request.dry_run:
            # What would be done is nobody's business; what somebody may not do is.
            self._standing.commit(self.image, Extras(deeds=[deed] if deed.outcome == "denied" else []), now)
        else:
            image = replace(self.image, known=done.known) if done.known is not None else self.image
            remember = to_remember(self._around.store, request, done.reply, now)
            self._standing.commit(image, Extras(deeds=[deed], writes=remember), now)
        return done.reply

    def _run_pass(self, look_at_source: bool) -> PassReport:
        now = self._around.clock.now()
        version = self._around.store.version()
        accepted = self._intake.accept(now) if look_at_source or self._intake.is_due(now) else None
        fleet = self._standing.decide(now)
        if fleet is None:
            wrote = self._around.store.version() != version
            return PassReport(now, wrote, None, accepted=accepted, refusal=self._intake.refusal)
        seen = self._observe(fleet, now)
        read_again = self._read_clusters(fleet, now)
        fleet = self._standing.decide(now) or fleet
        found, changes = self._make_plan(fleet, now)
        unavailable = self._admit(fleet, found, changes, now)
        self._deliver(fleet, found, now)
        looks = [
            self._render_tries.look_at,
            seen.look_at,
            read_again,
            found.next_look,
            self._standing.unsettled.next_delivery,
            fleet.decisions.next_due,
            self._standing.catalogs_due,
            self._standing.telling.look_at,
        ]
        later = [each for each in looks if each is not None and each > now]
        wrote = self._around.store.version() != version
        next_look = min(later, default=None)
        # What the next edit is checked from; what follows of this pass is stored.
        fleet.checked.gathered(fleet.decisions)
        # With what happened since the last pass: drift is found between them.
        events, self._standing.events = self._standing.events, []
        refusal = self._intake.refusal
        return PassReport(now, wrote, next_look, found, accepted, refusal, unavailable, events, seen.watched)

    # ---- The steps

    def _observe(self, fleet: Fleet, now: datetime) -> Seen:
        extras = Extras()
        keys = self._standing.unsettled.judged(self.image.open_rollouts)
        # Those of clusters that do not answer, too: else nobody would find out that they do again.
        silent = [(ref, self.image.known.plugins.get(ref, {})) for ref in self.image.known.rollouts.silent_since]
        keys = sorted({*keys, *((ref.organization, ref.name, name) for ref, here in silent for name in here)})
        seen = observe(self.image, keys, fleet.snapshot.clusters, self._around.observer, self._base_of, now, extras)
        self._standing.commit(seen.image, extras, now)
        return seen

    def _read_clusters(self, fleet: Fleet, now: datetime) -> datetime | None:
        read = self._readings.run(fleet, self.image, now)
        self._standing.commit(read.image, Extras(), now)
        return read.look_at

    def _base_of(self, cluster: Object[ClusterSpec]) -> str:
        return self._around.folder_of(cluster.origin.file) or "."

    def _make_plan(self, fleet: Fleet, now: datetime) -> tuple[Plan, OwnerChanges]:
        changes = self._standing.changes = fleet.owner_changes_after(self._standing.changes)
        # What was accepted was read whole, but not by this version, perhaps: then absence does not mean gone.
        self._plan = plan(changes.world(complete=not fleet.unread), now, self._plan, self._almanac)
        return self._plan, changes

    def _admit(self, fleet: Fleet, found: Plan, changes: OwnerChanges, now: datetime) -> Mapping[PluginKey, str]:
        extras = Extras()
        targets = [
            (step.key, step.progress.admitted)
            for step in found.starts
            if step.action != "delete" and step.progress.admitted is not None
        ]
        resting, unrendered = self._render_tries.resting(found, now), self.image.known.unrendered
        again = [step for step in found.renders if step.key not in resting]
        targets += [(step.key, step.target) for step in again if step.target is not None]
        targets += places_of_joiners(found)
        destinations = Destinations(fleet, self._around.destination_of)
        nowhere = {key for key, _ in targets if key not in destinations}
        reachable = [each for each in targets if each[0] not in nowhere]
        around = self._around
        rendering = render_targets(fleet, reachable, self.image, around.renders, extras, changes, around.is_straight)
        waiting = waiting_unrendered(found, unrendered)
        self._render_tries.note(rendering.unavailable, resting, waiting, found, now)
        rendering.unavailable |= held_back(fleet, found) | {key: unrendered[key].message for key in resting}
        for key, target in targets:
            if key in nowhere and target.input_hash is not None:
                rendering.failed[target.input_hash] = _NO_DESTINATION
        image = admit(with_placements(self.image, fleet), found, changes, rendering, now, extras)
        image = image.with_plugins(dict.fromkeys(changes.forgotten if found.world.complete else ()))
        image = with_unrendered(image, found, rendering.unavailable, waiting, now, extras)
        going = gone(image, found.world.removals, found.removals)
        image = announced(image, [key for key, _ in reachable], destinations, going)
        extras.messages += self._standing.telling.of_plan(fleet, found, now)
        self._standing.commit(image, extras, now)
        return rendering.unavailable

    def _deliver(self, fleet: Fleet, found: Plan, now: datetime) -> None:
        extras = Extras()
        destinations = Destinations(fleet, self._around.destination_of)
        unwanted = found.world.removals
        removals = gone(self.image, unwanted, found.removals)
        image, stays = self.image, frozenset[PluginKey]()
        if found.world.complete:
            image = let_go(image, unwanted, fleet.snapshot.clusters, now, extras)
            stays = retained(image, unwanted)
        removals = {**removals, **dict.fromkeys(stays, "")}
        before = image.deliveries
        keys = self._misplaced(fleet, image)
        predecessors = handed_over(unwanted)
        left = {each.key for each in unwanted if each.cluster_left}
        logins, limits = Logins(fleet), found.world.limits_of
        image = self._deliveries.deliver(
            image,
            keys,
            destinations,
            removals,
            logins,
            now,
            extras,
            predecessors,
            stays,
            left,
            lambda organization: limits(organization).patience,
        )
        image = corrected(image, before, now, extras)
        self._standing.commit(image, extras, now)

    def _misplaced(self, fleet: Fleet, image: Image) -> Iterable[PluginKey]:
        """Plugins that may not be where they should be: any of them, if somebody may have said so anew."""
        snapshot = fleet.snapshot
        destined_by = (snapshot.presets, snapshot.plugins, snapshot.organizations)
        before, self._destined_by = self._destined_by, destined_by
        if len(before) == len(destined_by) and all(map(is_, before, destined_by)):
            return self._standing.unsettled_in(image).undelivered
        states = image.known.plugins.items()
        return [(cluster.organization, cluster.name, name) for cluster, here in states for name in here]
