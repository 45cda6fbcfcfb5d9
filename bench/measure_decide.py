"""Deciding a whole fleet with full provenance: time, memory, growth, and the ratio to the simple resolver.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

from bench.calibrate import best_of, calibrate, clock
from bench.fleets import Size, make_fleet
from bench.fresh import resident_mb, run_fresh
from bench.simple import resolve_simply
from bench.table import Row, at_least, at_most, plainly
from fleetform.engine.pipeline import decide
from fleetform.model.results.decisions import Decisions
from fleetform.model.snapshot import Snapshot

SIZES = (100, 1_000, 10_000)
SAMPLE = 50
TITLE = "Decide: 10 plugins × 40 options on every cluster, 500 overrides, full provenance"


def rows() -> list[Row]:
    measured = {clusters: run_fresh("bench.measure_decide", clusters) for clusters in SIZES}
    largest = measured[SIZES[-1]]
    found = [
        at_most("10,000 clusters, 100,000 plugins", largest["seconds"], 3, "s", largest["loop"]),
        at_least("the simple resolver, per plugin", largest["simple"] / largest["per_plugin"], 20),
        plainly("  simple resolver", largest["simple"] * 1e6, "µs a plugin", largest["loop"]),
        Row("  options on which the two differ", f"{largest['differing']:,} of {largest['compared']:,}"),
        at_most("memory of the decisions per 10,000 plugins", largest["decisions_mb"], 24, "MB"),
        plainly("  the fleet's own objects per 10,000 plugins", largest["fleet_mb"], "MB"),
    ]
    return found + [row for clusters in SIZES for row in _growth(clusters, measured[clusters])]


def _growth(clusters: int, measured: dict[str, Any]) -> list[Row]:
    plugins = clusters * 10
    return [
        plainly(f"growth: {plugins:,} plugins", measured["per_plugin"] * 1e6, "µs a plugin", measured["loop"]),
        plainly("  in memory", measured["decisions_mb"], "MB per 10,000"),
    ]


def measure(clusters: int) -> dict[str, float]:
    base = resident_mb()
    snapshot = make_fleet(Size(clusters))
    gc.collect()
    with_fleet = resident_mb()
    loop = calibrate()
    first, decisions = clock(lambda: decide(snapshot))
    gc.collect()
    with_decisions = resident_mb()
    plugins = len(decisions.plugins)
    seconds = min(first, best_of(2, lambda: decide(snapshot)))
    return {
        "loop": loop,
        "seconds": seconds,
        "per_plugin": seconds / plugins,
        "fleet_mb": (with_fleet - base) / plugins * 10_000,
        "decisions_mb": (with_decisions - with_fleet) / plugins * 10_000,
        **_compare(snapshot, decisions),
    }


def _compare(snapshot: Snapshot, decisions: Decisions) -> dict[str, float]:
    """The simple resolver on some of the same fleet's clusters: its time per plugin, and where it disagrees."""
    clusters = list(snapshot.clusters.values())
    sample = clusters[:: max(1, len(clusters) // SAMPLE)]
    answers = resolve_simply(snapshot, sample)
    seconds = best_of(2, lambda: resolve_simply(snapshot, sample))
    pairs = [
        (decisions.plugins[key].options[name], option)
        for key, answer in answers.items()
        for name, option in answer.options.items()
    ]
    differing = sum(
        engine.value != simple.value or len(engine.hidden) != len(simple.hidden) for engine, simple in pairs
    )
    return {"simple": seconds / len(answers), "compared": len(pairs), "differing": differing}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
