"""A simulated world: one control plane on one thread, with everything that it can reach in the test's hands.

What happens in it is a script of what people and clusters do, and a schedule of faults. The same two give the same
world, to the byte.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import DocumentCache, read_file
from fleetform.loop.asking import RolloutRequest, Verb
from fleetform.loop.image import Image, read_image
from fleetform.model.identity import Identity
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.delivery import Parcel
from fleetform.ports.inputs import Document
from fleetform.ports.store import Store, StoreError
from fleetform.store.memory import MemoryStore
from simulation import situations
from simulation.faults import (
    CrashError,
    Fault,
    FaultyHealth,
    FaultyRenders,
    FaultySource,
    FaultyStore,
    FaultyTargets,
    Moments,
)
from simulation.fleet import FleetText
from simulation.laws import Witness, law
from support.fleets import NOW
from support.plane import Plane, TurnedClock

# Passes without a fault, at one time and with nothing new, after which everything must be at rest.
MOST_PASSES = 15
_CLOCK_STEPS = {"clock-back": timedelta(hours=-1), "clock-forward": timedelta(hours=3)}
FLEET = FleetText()
ANN = Identity("ann", owner=True)


class World:
    """step() is one pass, or the next thing that somebody does; play() is all of them."""

    def __init__(self, script: Sequence[Action], faults: Iterable[Fault] = (), fleet: FleetText = FLEET) -> None:
        self.script = script
        self.index = 0
        self.until: datetime | None = None
        self.busy = 0
        self.crashes = 0
        self.situations: set[str] = set()
        self.fleet = fleet
        self.clock = TurnedClock(NOW)
        self.store: Any = self.new_store()
        self._image: tuple[int, Image] | None = None
        self.witness = Witness(fleet.guarded)
        self.source = FaultySource(self.fleet.files)
        self.health_says: dict[tuple[str, str | None] | str, str] = {}
        self.silent: set[str] = set()
        self._assemble(Moments({(each.where, each.number): each.kind for each in faults}), {}, {})

    def new_store(self) -> Store:
        return MemoryStore()

    def _assemble(self, moments: Moments, there: dict[PluginKey, Parcel], before: dict[PluginKey, Parcel]) -> None:
        self.moments = moments
        self._people_want(self.fleet)
        self.targets = FaultyTargets(moments, self._judge_delivery)
        self.targets.there, self.targets.before, self.targets.silent = there, before, self.silent
        self.witness.mute = self.silent
        faulty = FaultyStore(self.store, moments, lambda commit: self.witness.committed(commit, lambda: self.image))
        self.renders = FaultyRenders()
        self.plane = Plane(self.source, faulty, self.clock, self.renders, self.targets, _shared_parses)
        self.plane.health = FaultyHealth(self.targets)
        self.plane.health.says = self.health_says  # type: ignore[assignment]
        self.plane.restart()

    def copy(self, faults: Iterable[Fault] = ()) -> World:
        """The same world in another process, with moments counted anew and faults of its own."""
        other: World = copy.copy(self)
        other.clock, other.store, other.witness = TurnedClock(self.clock.at), copy.copy(self.store), self.witness.copy()
        for name, held in vars(self.store).items():
            setattr(other.store, name, copy.copy(held))
        other.source, other.health_says, other.situations = copy.copy(self.source), dict(self.health_says), set()
        other.silent = {*self.silent}
        moments = Moments({(each.where, each.number): each.kind for each in faults})
        moments.down, moments.unreachable = self.moments.down, self.moments.unreachable
        other._assemble(moments, dict(self.targets.there), dict(self.targets.before))
        return other

    @property
    def digest(self) -> bytes:
        """Everything that what happens next depends on, for a process that begins here."""
        store, moments = self.store, self.moments
        state = (
            (self.index, self.until, self.clock.at, self.busy, moments.down, moments.unreachable),
            sorted((each.ref, each.body) for each in store._records.values()),
            self.witness.facts,
            sorted(self.silent),
            sorted(self.source.seen.items()),
            sorted(self.source.before.items()),
            sorted(each.message.key for each in store._messages),
            sorted(store._blobs),
            sorted((key, each.input_hash) for key, each in self.targets.there.items()),
            sorted((key, each.input_hash) for key, each in self.targets.before.items()),
        )
        return hashlib.sha256(repr(state).encode()).digest()

    # ---- What goes on

    def play(self) -> World:
        while self.step():
            pass
        self.must_rest()
        self.situations |= situations.of_history(self.witness.events, self.witness.approved, self.image)
        return self

    def step(self) -> bool:
        """False: the script is over, and everything at rest."""
        if self.until is not None:
            self._pass()
            return True
        if self.index == len(self.script):
            return False
        try:
            self.script[self.index](self)
        except CrashError:
            self._crashed()
        except StoreError:
            pass
        else:
            self.index += 1
            self.busy = 0
        return True

    def _pass(self) -> None:
        moments, happened = self.moments, self.moments.happened
        kind = moments.at("pass")
        commits = moments.counts["commit"]
        if kind in _CLOCK_STEPS:
            self.clock.at += _CLOCK_STEPS[kind]
        elif kind == "restart":
            self.plane.restart()
        self._read_as(kind)
        self.busy += 1
        try:
            report = self.plane.control.run_pass(look_at_source=kind != "unseen")
        except CrashError:
            self._crashed()
            return
        except StoreError:
            return
        finally:
            self._read_as(None)
            image = self.image
            self.witness.judge_state(image, self.clock.at)
            self.situations |= situations.of_pass(image, kind, moments.down > 0)
            self.busy = 0 if moments.happened > happened else self.busy
            law("rest", self.busy <= MOST_PASSES, f"still at it after {self.busy} passes without a fault")
        if moments.counts["commit"] > commits or moments.happened > happened:
            return
        law("rest", not report.wrote, "a pass says that it wrote, and committed nothing")
        assert self.until is not None
        self.busy = 0
        if report.next_look is None or report.next_look > self.until:
            self.clock.at, self.until = max(self.until, self.clock.at), None
        else:
            self.clock.at = report.next_look

    def _read_as(self, kind: str | None) -> None:
        """What reading files, asking clusters and rendering comes to from now on."""
        self.source.reading = self.plane.health.answering = kind  # type: ignore[attr-defined]
        self.renders.there = kind != "no-renders"

    def _crashed(self) -> None:
        self.crashes += 1
        self.situations |= situations.of_crash(self.image)
        self.plane.restart()

    def must_rest(self) -> None:
        """Nothing more is written: by this process, nor by the next."""
        commits = self.moments.counts["commit"]
        for _ in range(2):
            self.plane.control.run_pass()
            self.plane.restart()
        law("rest", self.moments.counts["commit"] == commits, "it was at rest, and wrote again")

    def _judge_delivery(self, parcels: Sequence[Parcel], removals: Sequence[PluginKey]) -> None:
        self.witness.judge_delivery(self.store, self.image, parcels, removals)

    # ---- What can be seen

    @property
    def image(self) -> Image:
        """What is stored, whatever the process believes."""
        version = self.store.version()
        if self._image is None or self._image[0] != version:
            self._image = version, read_image(self.store, "the store")
        return self._image[1]

    def must_end_as(self, other: World, told: str = "") -> None:
        law("end", self.end == other.end, f"{told}it ends with {self.end}, and not with {other.end}")

    @property
    def end(self) -> object:
        """What it came to: what is on the clusters, what is stored of plugins and rollouts, what was told; without
        times."""
        image = self.image
        stored = {
            (cluster.name, name): (state.admitted, state.last_healthy, state.attempt and state.attempt.phase)
            for cluster, here in image.known.plugins.items()
            for name, state in here.items()
        }
        rollouts = [
            (each.name, each.phase, each.rejected)
            for of_owner in image.known.rollouts.rollouts.values()
            for each in of_owner
        ]
        there = {key: parcel.input_hash for key, parcel in self.targets.there.items()}
        told = sorted(each.message.key for each in self.store.feed())
        return there, stored, rollouts, set(image.deliveries), told

    @property
    def versions(self) -> dict[str, str | None]:
        return self.targets.versions()

    # ---- What people do

    def edit(self, fleet: FleetText) -> None:
        before, self.fleet = self.fleet, fleet
        joined, left = fleet.wanted - before.wanted, before.wanted - fleet.wanted
        changed = (fleet.versions, fleet.replicas) != (before.versions, before.replicas)
        self.situations |= situations.of_edit(self.image, bool(joined), bool(left), changed)
        self._people_want(fleet)
        self.source.edit(fleet.files)

    def _people_want(self, fleet: FleetText) -> None:
        self.witness.wanted[fleet.fingerprint] = fleet.wanted

    def falls_silent(self, cluster: str) -> None:
        """It does not answer, and takes nothing, until it answers again."""
        self.silent.add(cluster)
        self.witness.silent.add(cluster)
        self.witness.unheard.add(cluster)

    def wait(self, hours: float) -> None:
        self.until = self.clock.at + timedelta(hours=hours)

    def approve(self) -> None:
        """Ann agrees to the last stage of every rollout that runs. Who gets no answer asks again, with the same key."""
        for of_owner in self.image.known.rollouts.rollouts.values():
            for rollout in of_owner:
                if rollout.is_open and (rollout.name, "gold") not in self.witness.approved:
                    self.ask("approve", rollout.name, stage="gold")

    def ask(self, verb: Verb, name: str, stage: str = "", may_be_refused: bool = False) -> None:
        """Of a rollout, or of a preset what waits for the one that runs: that replaces it."""
        key = f"{verb}-{name}-{self.index}"
        request = RolloutRequest(verb=verb, name=name, who=ANN, stage=stage, supersede=verb == "start", key=key)
        reply = self.plane.control.ask(request)
        assert may_be_refused or reply.problem is None, reply.problem


# What somebody does in a world; done again if the process ends under it.
Action = Callable[[World], None]


class _Parses(DocumentCache):
    """Parses each distinct file once for all worlds."""

    _every: ClassVar[dict[tuple[str, bytes], tuple[Document | Diagnostic, ...]]] = {}

    def read(self, source: InputFile, locator: FileLocator) -> Iterable[Document | Diagnostic]:
        found = self._every.get((source.name, source.content))
        if found is None:
            found = self._every[source.name, source.content] = tuple(read_file(source, locator))
        return found


class _Readings(KeptReadings):
    """Reads each document once for all worlds."""

    def read(self, documents: Iterable[Document], organization: str) -> list[tuple[Document, object]]:  # type: ignore[override]
        every = dict(self._readings)
        found = super().read(documents, organization)
        self._readings = {**every, **self._readings}
        return found  # type: ignore[return-value]


_READINGS = _Readings()


def _shared_parses() -> tuple[DocumentCache, KeptReadings]:
    return _Parses(), _READINGS
