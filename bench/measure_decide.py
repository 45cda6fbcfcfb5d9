"""Deciding a whole fleet with full provenance: time, memory, growth, and the ratio to the simple resolver.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import gc
import json
import sys
from itertools import pairwise
from typing import Any

from bench.calibrate import best_of, calibrate, clock
from bench.fleets import Size, make_fleet
from bench.fresh import resident_mb, run_fresh
from bench.simple import resolve_simply
from bench.table import Row, at_least, at_most, plainly
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.snapshot import Snapshot

SIZES = (100, 1_000, 10_000)
SAMPLE = 50
TITLE = "Decide: 10 plugins × 40 options on every cluster, 500 overrides, full provenance"


def rows() -> list[Row]:
    measured = {clusters: run_fresh("bench.measure_decide", clusters) for clusters in SIZES}
    largest = measured[SIZES[-1]]
    per_plugin = largest["seconds"] / largest["plugins"]
    found = [
        at_most("10,000 clusters, 100,000 plugins", largest["seconds"], 3, "s", largest["loop"]),
        plainly("  a plugin", per_plugin * 1e6, "µs", largest["loop"]),
        plainly("  a plugin, by the simple resolver", largest["simple"] * 1e6, "µs", largest["loop"]),
        at_least("  less than the simple resolver", largest["simple"] / per_plugin, 20),
        Row("  options on which the two differ", f"{largest['differing']:,} of {largest['compared']:,}"),
        at_most("memory of the decisions, per 10,000 plugins", _per_10k(largest, "decisions_mb"), 24, "MB"),
        plainly("  of the fleet's own objects, per 10,000 plugins", _per_10k(largest, "fleet_mb"), "MB"),
    ]
    for fewer, more in pairwise(SIZES):
        found += _growth(measured[fewer], measured[more])
    return found


def _per_10k(measured: dict[str, Any], what: str) -> float:
    return float(measured[what] / measured["plugins"] * 10_000)


def _growth(fewer: dict[str, Any], more: dict[str, Any]) -> list[Row]:
    """Linear or better: ten times the plugins cost at most ten times as much."""
    what = f"growth: {more['plugins']:,} plugins against {fewer['plugins']:,}"
    time, memory = more["seconds"] / fewer["seconds"], more["decisions_mb"] / fewer["decisions_mb"]
    return [
        at_most(f"{what}, time", time, more["plugins"] / fewer["plugins"], "×"),
        at_most(f"{what}, memory", memory, more["plugins"] / fewer["plugins"], "×"),
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
    seconds = min(first, best_of(2, lambda: decide(snapshot)))
    return {
        "loop": loop,
        "seconds": seconds,
        "plugins": len(decisions.plugins),
        "fleet_mb": with_fleet - base,
        "decisions_mb": with_decisions - with_fleet,
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
