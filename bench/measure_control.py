"""The control plane's passes on a large fleet, with a real database: from objects in memory to what is durable.

Reading files is measured elsewhere (`bench folders`, `bench load`): here the source hands over objects. Renders and
clusters are played. An edit is durable in three commits: that it was accepted, once it was checked and decided; what of
it was admitted, once it was planned and rendered; and what was delivered. No policy stages it, so that all of it starts
at once: a stage would start fewer. Run as a module with a number of clusters it measures one size in this process and
prints JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from msgspec import structs

from bench.calibrate import calibrate
from bench.fleets import NOW, Size, made, make_fleet, option_name
from bench.fresh import resident_mb, run_fresh
from bench.table import Row, at_most, plainly
from fleetform.app.fleet import Fleet
from fleetform.load.locator import FileLocator
from fleetform.loop.control import Control, PassReport
from fleetform.loop.records import Destination
from fleetform.loop.surroundings import Surroundings
from fleetform.model.kinds.base import ClusterSelector, LabelSelector
from fleetform.model.kinds.definition import ManifestsSource, PluginDefinitionSpec, Source
from fleetform.model.kinds.preset import OverrideItem, PluginOverrideSpec, PluginPresetSpec
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.model.snapshot import Snapshot
from fleetform.ports.delivery import Drift, Failure, Note, Parcel
from fleetform.ports.inputs import Input
from fleetform.ports.observing import Delivered, Verdict
from fleetform.ports.sources import SourceFiles
from fleetform.ports.state import KnownState
from fleetform.ports.store import Commit, Put
from fleetform.store.sqlite import SqliteStore

CLUSTERS, PLUGINS, EVENTS = 10_000, 10, 20
TITLE = f"Control plane: {CLUSTERS * PLUGINS:,} plugins, every commit on disk"


def rows() -> list[Row]:
    found = run_fresh("bench.measure_control", CLUSTERS)
    loop = found["loop"]
    return [
        at_most("the first pass: decided, planned, admitted, stored", found["first"], 12, "s", loop),
        plainly("  the second: delivered, observed, stored", found["second"], "s", loop),
        at_most("one plugin's observation, from event to commit, p99", found["observed"], 30, "ms", loop),
        plainly("  until its pass has ended", found["observed_pass"], "ms", loop),
        at_most("one override edited, from objects to commit, p99", found["accepted"], 50, "ms", loop),
        plainly("  until the plugin that it reaches was admitted", found["admitted"], "ms", loop),
        plainly("  until it was delivered", found["delivered"], "ms", loop),
        plainly("  CPU of these three, median", found["narrow_cpu"], "ms", loop),
        at_most("an edit of 10,000 plugins, until all are admitted, durably", found["broad"], 0.8, "s", loop),
        plainly("  until all were delivered", found["broad_delivered"], "s", loop),
        plainly("  CPU until all are admitted", found["broad_cpu"], "s", loop),
        plainly("a pass with nothing to do", found["idle"], "ms", loop),
        at_most("what it writes", found["idle_writes"], 0, "commits"),
        plainly("  a commit of one record beside, with its fsync", found["fsync"], "ms", loop),
        plainly("memory of the process", found["memory"], "MB"),
    ]


class TimedStore(SqliteStore):
    """Remembers when each commit was durable, by the clock and by the processor time that was used until then."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.commits: list[float] = []
        self.used: list[float] = []

    def commit(self, commit: Commit, at: datetime) -> int:
        version = super().commit(commit, at)
        self.commits.append(time.perf_counter())
        self.used.append(time.process_time())
        return version


class World:
    """A fleet whose objects are handed over as they are, and clusters that take everything and are healthy."""

    def __init__(self, snapshot: Snapshot, path: str) -> None:
        self.snapshot, self.edits, self.at, self.used = snapshot, 0, NOW, 0.0
        self.store = TimedStore(path)
        self._there: dict[PluginKey, str] = {}
        where = Destination("directory", "out")

        def destination_of(fleet: Fleet, plugin: PluginDecision) -> Destination:
            return where

        self.control = Control(
            Surroundings(self.store, self, self, self.open, self, lambda destination: self, self, destination_of)
        )

    def now(self) -> datetime:
        return self.at

    def read(self) -> SourceFiles:
        return SourceFiles({"fleet": str(self.edits).encode()})

    def open(self, files: Mapping[str, bytes], at: datetime, known: KnownState) -> Fleet:
        snapshot = replace(self.snapshot, at=at, states=known.plugins)
        return Fleet(Input((), (), FileLocator()), snapshot, known, ())

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
        return [Rendered("r1:same", ({**tree, "data": {"count": str(len(each.values))}},)) for each in inputs]

    def source(self, input_: RenderInput) -> None:
        """Nothing here is made of anything."""

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        self._there.update((each.key, each.input_hash) for each in parcels)
        return {}

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        return ()

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        return {each.key: Verdict("Healthy") for each in delivered}

    def set(self, selector: ClusterSelector) -> None:
        """Another value of one override."""
        self.edits += 1
        items = [OverrideItem(option_name(3), value=self.edits)]
        override = made("PluginOverride", "edited", PluginOverrideSpec(items, ["d0"], selector), created=NOW)
        self.snapshot = replace(self.snapshot, overrides={**self.snapshot.overrides, override.ref: override})

    def timed(self) -> tuple[PassReport, float, float]:
        """A pass; when it was begun, and when it had ended."""
        self.at += timedelta(seconds=1)
        self.store.commits.clear()
        self.store.used.clear()
        self.used = time.process_time()
        begin = time.perf_counter()
        report = self.control.run_pass()
        assert report.refusal is None, report.refusal.findings
        return report, begin, time.perf_counter()

    def settle(self) -> None:
        while self.timed()[0].wrote:
            pass


def measure(clusters: int) -> dict[str, Any]:
    loop = calibrate()
    with tempfile.TemporaryDirectory() as folder:
        # What every cluster has of its own would be another render for each: they share most of it, as real fleets do.
        snapshot = make_fleet(Size(clusters, PLUGINS, differing=0.0))
        presets = {ref: replace(each, spec=_external(each.spec)) for ref, each in snapshot.presets.items()}
        definitions = {key: replace(each, spec=_with_source(each.spec)) for key, each in snapshot.definitions.items()}
        snapshot = replace(snapshot, presets=presets, definitions=definitions)
        world = World(snapshot, os.path.join(folder, "fleet.db"))
        one = ClusterSelector(cluster_names=["c5"])
        world.set(one)
        gc.collect()
        # As the command line sets it: what passes make forms no cycles.
        gc.set_threshold(1_000_000, 50, 50)
        _, begin, end = world.timed()
        first = end - begin
        _, begin, end = world.timed()
        second = end - begin
        world.settle()
        accepted, admitted, delivered = list[float](), list[float](), list[float]()
        narrow_cpu, observed, observed_pass = [], [], []
        for _ in range(EVENTS):
            world.set(one)
            _, begin, end = world.timed()
            for times, commit in zip((accepted, admitted, delivered), world.store.commits, strict=True):
                times.append(commit - begin)
            narrow_cpu.append(world.store.used[-1] - world.used)
            _, begin, end = world.timed()
            observed.append(world.store.commits[0] - begin)
            observed_pass.append(end - begin)
            world.settle()
        _, begin, end = world.timed()
        idle, idle_writes = end - begin, len(world.store.commits)
        fsync = _commit_of_one(world)
        memory = resident_mb()
        world.set(ClusterSelector(label_selector=LabelSelector(match_labels={"cloud": "x"})))
        _, begin, _ = world.timed()
        _, broad, broad_delivered = (each - begin for each in world.store.commits)
        broad_cpu = world.store.used[1] - world.used
    return {
        "loop": loop,
        "first": first,
        "second": second,
        "accepted": _late(accepted) * 1000,
        "admitted": _late(admitted) * 1000,
        "delivered": _late(delivered) * 1000,
        "narrow_cpu": median(narrow_cpu) * 1000,
        "observed": _late(observed) * 1000,
        "observed_pass": _late(observed_pass) * 1000,
        "broad": broad,
        "broad_delivered": broad_delivered,
        "broad_cpu": broad_cpu,
        "idle": idle * 1000,
        "idle_writes": idle_writes,
        "fsync": fsync * 1000,
        "memory": memory,
    }


def _external(spec: PluginPresetSpec) -> PluginPresetSpec:
    return structs.replace(spec, rollout="External")


def _with_source(spec: PluginDefinitionSpec) -> PluginDefinitionSpec:
    return structs.replace(spec, source=Source(manifests=ManifestsSource("./manifests")))


def _commit_of_one(world: World) -> float:
    times = []
    for number in range(EVENTS):
        begin = time.perf_counter()
        world.store.commit(Commit([Put(Ref("Bench", "", "one"), str(number).encode())]), world.at)
        times.append(time.perf_counter() - begin)
    return _late(times)


def _late(times: list[float]) -> float:
    """The 99th percentile: of few, the latest."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
