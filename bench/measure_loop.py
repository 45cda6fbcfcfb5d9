"""What a running control plane does all day: small events on 100,000 plugins, each decided from the pass before."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from statistics import median

from msgspec import structs

from bench.calibrate import calibrate, clock
from bench.fleets import NOW, Size, made, make_fleet, with_edited_override
from bench.fresh import run_fresh
from bench.table import Row, at_most, plainly
from fleetform.engine.decide import decide, decide_some
from fleetform.engine.decisions import Decisions
from fleetform.model.kinds.base import ClusterSelector, NameRef
from fleetform.model.kinds.placement import PlacementSpec
from fleetform.model.objects import Ref
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import Deployed, PluginState
from fleetform.syntax.names import generated_name

CLUSTERS = 10_000
EVENTS = 9
EDITS = 1_000
TITLE = "Loop: events on 100,000 plugins, each decided from the pass before"


def rows() -> list[Row]:
    snapshot = with_states(make_fleet(Size(CLUSTERS)))
    loop = calibrate()
    fresh, before = clock(partial(decide, snapshot))
    found = [plainly("a fresh decision", fresh, "s", loop)]
    for what, goal, events in (
        ("one plugin's state: what runs", 10.0, _running),
        ("one plugin's state: last healthy", 10.0, _healthy),
        ("one plugin's state: observed", 10.0, _observed),
        ("one cluster edited", 20.0, _relabelled),
        ("one cluster added", 20.0, _added),
        ("one cluster removed", 20.0, _removed),
    ):
        found.append(_row(what, goal, snapshot, before, events))
    claimed = with_claims(snapshot)
    found.append(_row("a narrow override edit, two presets claim one release", 20.0, claimed, decide(claimed), _edited))
    placed = with_placements(snapshot)
    found.append(_row("the clock moves, nothing is due, 10 placements", 1.0, placed, decide(placed), _later))
    return [*found, *_read_again(before), *_many(before), *_one_plugin(before), *_edits_in_a_row()]


def _row(
    what: str, goal: float, snapshot: Snapshot, before: Decisions, events: Callable[[Snapshot], Iterator[Snapshot]]
) -> Row:
    loop = calibrate()
    times = [clock(partial(decide, each, before))[0] * 1000 for each in events(snapshot)]
    return at_most(what, median(times), goal, "ms", loop)


# ---- Fleets


def with_states(snapshot: Snapshot) -> Snapshot:
    """The fleet, with everything running and healthy."""
    healthy = Deployed("1.0.0")
    states = {
        ref: {generated_name(preset.name, ref.name): PluginState(healthy, healthy) for preset in snapshot.presets}
        for ref in snapshot.clusters
    }
    return replace(snapshot, states=states)


def with_claims(snapshot: Snapshot) -> Snapshot:
    """The fleet, and a second preset that wants the first one's release on one cluster."""
    first = next(iter(snapshot.presets.values()))
    spec = structs.replace(first.spec, cluster_selector=ClusterSelector(cluster_names=["c1"]))
    second = made("PluginPreset", "second", spec)
    return replace(snapshot, presets={**snapshot.presets, second.ref: second})


def with_placements(snapshot: Snapshot) -> Snapshot:
    """The fleet, each preset on the clusters that a placement chooses."""
    placements = [made("Placement", f"placement{number}", PlacementSpec()) for number in range(10)]
    presets = {
        ref: replace(
            each, spec=structs.replace(each.spec, cluster_selector=None, placement=NameRef(placement.ref.name))
        )
        for (ref, each), placement in zip(snapshot.presets.items(), placements, strict=True)
    }
    return replace(snapshot, presets=presets, others={each.ref: each for each in placements})


# ---- Events


def _clusters(snapshot: Snapshot) -> list[Ref]:
    return list(snapshot.clusters)[100 : 100 + EVENTS]


def _with_state(snapshot: Snapshot, cluster: Ref, **changed: object) -> Snapshot:
    here = dict(snapshot.states[cluster])
    name = next(iter(here))
    here[name] = structs.replace(here[name], **changed)
    return replace(snapshot, states={**snapshot.states, cluster: here})


def _running(snapshot: Snapshot) -> Iterator[Snapshot]:
    return (_with_state(snapshot, each, admitted=Deployed("0.9.0")) for each in _clusters(snapshot))


def _healthy(snapshot: Snapshot) -> Iterator[Snapshot]:
    return (_with_state(snapshot, each, last_healthy=Deployed("0.9.0")) for each in _clusters(snapshot))


def _observed(snapshot: Snapshot) -> Iterator[Snapshot]:
    return (_with_state(snapshot, each, observed={"HOST": "a"}) for each in _clusters(snapshot))


def _relabelled(snapshot: Snapshot) -> Iterator[Snapshot]:
    for ref in _clusters(snapshot):
        cluster = snapshot.clusters[ref]
        labels = {**cluster.labels, "env": "dev" if cluster.labels["env"] == "prod" else "prod"}
        edited = replace(cluster, metadata=structs.replace(cluster.metadata, labels=labels))
        yield replace(snapshot, clusters={**snapshot.clusters, ref: edited})


def _added(snapshot: Snapshot) -> Iterator[Snapshot]:
    like = next(iter(snapshot.clusters.values()))
    for number in range(EVENTS):
        new = made("Cluster", f"new{number}", like.spec, like.labels)
        yield replace(snapshot, clusters={**snapshot.clusters, new.ref: new})


def _removed(snapshot: Snapshot) -> Iterator[Snapshot]:
    for gone in _clusters(snapshot):
        yield replace(snapshot, clusters={ref: each for ref, each in snapshot.clusters.items() if ref != gone})


def _edited(snapshot: Snapshot) -> Iterator[Snapshot]:
    narrow = [
        ref
        for ref, each in snapshot.overrides.items()
        if isinstance(each.spec.cluster_selector, ClusterSelector) and each.spec.cluster_selector.cluster_names
    ]
    return (with_edited_override(snapshot, narrow[0], 1_000_000 + number) for number in range(EVENTS))


def _later(snapshot: Snapshot) -> Iterator[Snapshot]:
    return (replace(snapshot, at=NOW + timedelta(seconds=number)) for number in range(1, EVENTS))


# ---- More than one object


def _read_again(before: Decisions) -> list[Row]:
    """Every object as a new one that says the same."""
    anew = with_states(make_fleet(Size(CLUSTERS)))
    loop = calibrate()
    seconds, after = clock(partial(decide, anew, before))
    again = sum(after.clusters[ref] is not each for ref, each in before.clusters.items())
    return [
        plainly("every object read again, nothing changed", seconds * 1000, "ms", loop),
        Row("  clusters decided again", f"{again:,}", "0", again == 0),
    ]


def _many(before: Decisions) -> list[Row]:
    """Changes at many places, against deciding the same fleet from nothing."""
    snapshot, found = before.index.snapshot, []
    edited = snapshot
    for ref in snapshot.overrides:
        edited = with_edited_override(edited, ref, 1_000_000)
    clusters = {
        ref: replace(each, spec=structs.replace(each.spec, facts={"edited": True}))
        for ref, each in snapshot.clusters.items()
    }
    presets = {
        ref: replace(each, spec=structs.replace(each.spec, suspend=True)) for ref, each in snapshot.presets.items()
    }
    for what, changed in (
        ("every override edited", edited),
        ("every cluster edited", replace(snapshot, clusters=clusters)),
        ("every preset edited", replace(snapshot, presets=presets)),
        ("all of these edited", replace(edited, clusters=clusters, presets=presets)),
    ):
        loop = calibrate()
        anew = min(clock(partial(decide, changed))[0] for _ in range(2))
        again = min(clock(partial(decide, changed, before))[0] for _ in range(2))
        found.append(at_most(f"{what}, against a fresh decision", again / anew, 1.2, "×", loop))
    return found


def _one_plugin(before: Decisions) -> list[Row]:
    loop = calibrate()
    times = []
    for cluster in list(before.index.snapshot.clusters.values())[:50]:
        owner = next(iter(before.index.owners_on(cluster))).owner
        times.append(clock(partial(decide_some, before.index, {cluster: [owner]}))[0] * 1000)
    return [at_most("one plugin decided, with the index in hand", median(times), 2.0, "ms", loop)]


def _edits_in_a_row() -> list[Row]:
    fresh, edited = (run_fresh("bench.measure_loop", edits) for edits in (0, EDITS))
    return [
        at_most(f"memory of 10,000 plugins, {EDITS:,} edits against fresh", edited["live"] / fresh["live"], 1.05, "×"),
        plainly("  blocks of a fresh pass", fresh["live"], ""),
        plainly("  an edit", edited["seconds"] / EDITS * 1000, "ms", edited["loop"]),
    ]


def measure(edits: int) -> dict[str, float]:
    """The blocks of memory that a pass holds, decided from nothing or reached by edits one after the other.

    Blocks and not the resident size: that one holds on to what two passes needed while both were there.
    """
    snapshot = make_fleet(Size(CLUSTERS // 10))
    base, loop, seconds = _live_blocks(), calibrate(), 0.0
    decisions = decide(snapshot)
    refs = [ref for ref, each in snapshot.overrides.items() if each.spec.cluster_selector is not None]
    for number in range(edits):
        snapshot = with_edited_override(snapshot, refs[number * 7 % len(refs)], 2_000_000 + number)
        if number % 2:
            snapshot = next(_relabelled(snapshot))
        spent, decisions = clock(partial(decide, snapshot, decisions))
        seconds += spent
    return {"live": _live_blocks() - base, "loop": loop, "seconds": seconds}


def _live_blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
