"""A control plane in a world of its own: files, clock, clusters and store are all held by the test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fleetform.app.answering.advice import Words, in_commands
from fleetform.app.fleet import Fleet, read_fleet
from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.load.inputs import InputFile
from fleetform.load.reader import DocumentCache, load_files
from fleetform.loop.control import Control, PassReport
from fleetform.loop.records import Destination
from fleetform.loop.surroundings import Surroundings
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.ports.delivery import Drift, Failure, Note, Parcel
from fleetform.ports.observing import Delivered, Health, Verdict
from fleetform.ports.rendering import RenderSource
from fleetform.ports.sources import SourceFiles
from fleetform.ports.state import KnownState
from fleetform.ports.store import Store
from fleetform.store.memory import MemoryStore
from support.fleets import NOW

FOLDER = Destination("directory", "out")


class TurnedClock:
    """A clock that the test turns."""

    def __init__(self, at: datetime = NOW) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


class PlainRenders:
    """Renders a ConfigMap with the values: what comes out is a function of what goes in. Some definitions fail."""

    def __init__(self) -> None:
        self.failing: dict[str, RenderFailure] = {}
        self.count = 0

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        return [self._render(each) for each in inputs]

    def source(self, input_: RenderInput) -> RenderSource | None:
        version = input_.definition.spec.version
        content = f"the source of {version}".encode()
        return RenderSource(f"sha256:{version}", lambda: {"source.txt": content})

    def _render(self, input_: RenderInput) -> Rendered | RenderFailure:
        self.count += 1
        version = input_.definition.spec.version
        if version in self.failing:
            return self.failing[version]
        data = {"version": version, "values": str(sorted({**input_.values, **input_.variables}.items()))}
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": input_.release_name}, "data": data}
        return Rendered(f"r1:{version}", (tree,))


class Targets:
    """Clusters that take what is delivered: `there` is what each has by now."""

    def __init__(self) -> None:
        self.there: dict[PluginKey, Parcel] = {}
        self.delivered: list[tuple[PluginKey, str]] = []
        self.broken: dict[str, Failure] = {}

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        failed: dict[PluginKey, Failure] = {}
        for parcel in parcels:
            if parcel.key[1] in self.broken:
                failed[parcel.key] = self.broken[parcel.key[1]]
                continue
            self.there[parcel.key] = parcel
            self.delivered.append((parcel.key, parcel.input_hash))
        for key in removals:
            self.there.pop(key, None)
        return failed

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        return ()

    def versions(self) -> dict[str, str | None]:
        """The version on each cluster."""
        return {key[1]: parcel.version for key, parcel in sorted(self.there.items())}


class ScriptedHealth:
    """What clusters say of themselves: by cluster, or by cluster and version; healthy unless told otherwise."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self.says: dict[tuple[str, str | None] | str, Health] = {}
        self.silent: set[tuple[str, str | None] | str] = set()
        self.messages: dict[str, str] = {}

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        return {each.key: self._verdict(each, now) for each in delivered}

    def _verdict(self, each: Delivered, now: datetime) -> Verdict:
        cluster = each.key[1]
        there = self._targets.there.get(each.key)
        if not self.silent.isdisjoint({cluster, (cluster, there.version if there is not None else None)}):
            return Verdict("Unknown", "no answer", now + timedelta(minutes=1), reachable=False)
        if there is None or there.input_hash != each.input_hash:
            return Verdict("Unknown", "not there yet", now + timedelta(minutes=1))
        health = self.says.get((cluster, there.version), self.says.get(cluster, "Healthy"))
        return Verdict(
            health, self.messages.get(cluster, ""), now + timedelta(minutes=1) if health == "Unknown" else None
        )


class Files:
    """The files of a fleet, as a source."""

    def __init__(self, files: Mapping[str, str], separate: bool = False) -> None:
        self.files, self.separate = dict(files), separate
        self.problems: list[object] = []

    def read(self) -> SourceFiles:
        files = {name: text.encode() for name, text in self.files.items()}
        return SourceFiles(files, self.problems, separate=self.separate)  # type: ignore[arg-type]


@dataclass
class Plane:
    """The world, and the control plane in it; restart() is what a crash and a new process come to."""

    files: Files
    store: Store = field(default_factory=MemoryStore)
    clock: TurnedClock = field(default_factory=TurnedClock)
    renders: PlainRenders = field(default_factory=PlainRenders)
    targets: Targets = field(default_factory=Targets)
    # What a new process has read so far.
    parses: Callable[[], tuple[DocumentCache, KeptReadings]] = lambda: (DocumentCache(), KeptReadings())
    # What people are told to do where it runs.
    words: Words = in_commands
    destination: Callable[[PluginDecision], Destination] = lambda plugin: FOLDER

    def __post_init__(self) -> None:
        self.health = ScriptedHealth(self.targets)
        self.restart()

    def restart(self) -> None:
        cache, readings = self.parses()

        def open_fleet(files: Mapping[str, bytes], at: datetime, known: KnownState) -> Fleet:
            read = [InputFile(name, content) for name, content in sorted(files.items())]
            return read_fleet(load_files(read, "the files", cache), at, state=known, kept_readings=readings)

        def destination_of(fleet: Fleet, plugin: PluginDecision) -> Destination:
            return self.destination(plugin)

        self.control = Control(
            Surroundings(
                self.store,
                self.clock,
                self.files,
                open_fleet,
                self.renders,
                lambda destination: self.targets,
                self.health,
                destination_of,
                words=self.words,
            )
        )

    def settle(self, most: int = 40) -> PassReport:
        """Passes until nothing more is written at this time."""
        for _ in range(most):
            report = self.control.run_pass()
            if not report.wrote:
                return report
        raise AssertionError(f"still writing after {most} passes")

    def wait(self, **span: float) -> PassReport:
        """Lets time go by, from one next look to the next."""
        until = self.clock.at + timedelta(**span)
        report = self.settle()
        while report.next_look is not None and report.next_look <= until:
            self.clock.at = report.next_look
            report = self.settle()
        self.clock.at = until
        return self.settle()

    @property
    def versions(self) -> dict[str, str | None]:
        return self.targets.versions()
