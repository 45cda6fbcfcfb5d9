"""Binding names on a large fleet, and deciding with them; and hashing what plugins are made of.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

from bench.bound import NAMES, bound_fleet
from bench.calibrate import best_of, calibrate, clock
from bench.fresh import run_fresh
from bench.table import Row, at_most, plainly
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders

SIZES = (1_000, 10_000)
PLUGINS = 10
TITLE = f"Bindings: {SIZES[-1]:,} clusters × {PLUGINS} plugins × {NAMES} names"


def rows() -> list[Row]:
    fewer, most = (run_fresh("bench.measure_bindings", clusters) for clusters in SIZES)
    loop, plugins = most["loop"], most["plugins"]
    beyond = most["bound"] - most["plain"]
    return [
        at_most(f"binding {plugins:,} plugins × {NAMES} names", most["frames"], 2, "s", loop),
        plainly("  a name", most["frames"] / plugins / NAMES * 1e6, "µs", loop),
        at_most("  growth: ten times the clusters", most["frames"] / fewer["frames"], 10, "×"),
        plainly("deciding the fleet with names", most["bound"], "s", loop),
        plainly("  with the same values written by cluster", most["plain"], "s", loop),
        plainly("  so names take, with their options", beyond, "s", loop),
        at_most(f"hashes of {most['distinct']:,} distinct inputs", most["hashes"], 4, "s", loop),
        plainly("  a plugin", most["hashes"] / plugins * 1e6, "µs", loop),
        at_most("  growth: ten times the plugins", most["hashes"] / fewer["hashes"], 10, "×"),
    ]


def measure(clusters: int) -> dict[str, Any]:
    bound, plain = bound_fleet(clusters, PLUGINS)
    # A plugin that holds a secret has no hash.
    open_, _ = bound_fleet(clusters, PLUGINS, secrets=False)
    loop = calibrate()
    measured: dict[str, Any] = {
        "loop": loop,
        "plain": best_of(3, partial(decide, plain)),
        "bound": best_of(3, partial(decide, bound)),
        "frames": best_of(3, partial(_frames, Index(bound))),
    }
    decisions = decide(open_)
    assert not any(plugin.gates or plugin.unresolved for plugin in decisions.plugins.values())
    seconds, hashes = clock(partial(_hashes, decisions))
    return {**measured, "plugins": len(decisions.plugins), "hashes": seconds, "distinct": len(hashes)}


def _frames(index: Index) -> None:
    """The value of every variable on every cluster, and nothing else."""
    binders = Binders(index)
    for cluster in index.snapshot.clusters.values():
        for selected in index.owners_on(cluster):
            binder = binders.of(selected.owner)
            assert binder is not None
            binder.variables(cluster, selected.plugin_on(cluster))


def _hashes(decisions: Decisions) -> set[str | None]:
    inputs = Inputs(decisions)
    return {inputs.hash(plugin) for plugin in decisions.plugins.values()}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
