"""Placements and configs of add-ons on a large fleet, and the edit of one config.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from statistics import median
from typing import Any

from bench.addons import PLACEMENTS, addon_fleet, with_edited_config
from bench.calibrate import best_of, calibrate, clock
from bench.fresh import run_fresh
from bench.table import Row, at_most, plainly
from fleetform.engine.decide import decide

SIZES = (1_000, 10_000)
ADDONS = 20
EDITS = 7
# What Open Cluster Management's own code takes to build its graph, without provenance.
OCM_MICROSECONDS = 5.8
TITLE = f"Configs: {SIZES[-1]:,} clusters × {ADDONS} add-ons, 3 placements each, 3 configs a placement"


def rows() -> list[Row]:
    fewer, most = (run_fresh("bench.measure_configs", clusters) for clusters in SIZES)
    loop, plugins = most["loop"], most["plugins"]
    found = [
        at_most(f"{plugins:,} add-ons on their clusters, with provenance", most["seconds"], 1.2, "s", loop),
        plainly("  a cluster and add-on", most["seconds"] / (SIZES[-1] * ADDONS) * 1e6, "µs", loop),
        plainly("  the same in Open Cluster Management's own code, without provenance", OCM_MICROSECONDS, "µs"),
        at_most("growth: ten times the clusters, time", most["seconds"] / fewer["seconds"], 10, "×"),
    ]
    for what, edit in most["edits"].items():
        found += [
            at_most(f"one config's edit, of the placement of {what}", edit["ms"], 50, "ms", loop),
            Row("  add-ons decided again, of its users", f"{edit['again']:,}", f"≤ {edit['users']:,}"),
        ]
    return found


def measure(clusters: int) -> dict[str, Any]:
    snapshot = addon_fleet(clusters, ADDONS)
    loop = calibrate()
    seconds, decisions = best_of(3, partial(decide, snapshot)), decide(snapshot)
    edits = {}
    for share, what in enumerate(("all clusters", "half of them", "a tenth")):
        times = []
        for number in range(EDITS):
            edited = with_edited_config(snapshot, 3, share, f"edit {number}")
            spent, after = clock(partial(decide, edited, decisions))
            times.append(spent * 1000)
        again = [key for key, plugin in decisions.plugins.items() if after.plugins[key] is not plugin]
        users = sum(_uses(plugin, share) for plugin in decisions.plugins.values())
        edits[what] = {"ms": median(times), "again": len(again), "users": users}
    return {"loop": loop, "plugins": len(decisions.plugins), "seconds": seconds, "edits": edits}


def _uses(plugin: Any, share: int) -> bool:
    return any(each.identity[3] == f"config-3-{share}-0" for each in plugin.configs.effective)


if __name__ == "__main__":
    assert PLACEMENTS == 3
    print(json.dumps(measure(int(sys.argv[1]))))
