"""Choosing versions and gating upgrades, beyond a decision that has neither; and publishing one more revision.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

from bench.calibrate import best_of, calibrate, clock
from bench.fleets import Size
from bench.fresh import run_fresh
from bench.table import Row, at_most, plainly
from bench.versions import DEFINITIONS, VERSIONS, admitting, plain_fleet, versioned_fleet, with_revision
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.snapshot import Snapshot

SIZES = (1_000, 10_000)
PUBLISHED = {
    "2.3.2": "a newest revision",
    "1.4.2": "a patch of an older line",
    "1.0.2": "a patch nobody's range admits",
}
DEFINITION = "d1"
TIMES = 5
TITLE = f"Versions: {DEFINITIONS} definitions × {len(VERSIONS)} revisions, ranges, a policy, a state, gates"


def rows() -> list[Row]:
    fewer, most = (run_fresh("bench.measure_versions", clusters) for clusters in SIZES)
    loop, plugins = most["loop"], most["plugins"]
    found = [
        plainly(f"{plugins:,} plugins, one revision of each definition", most["plain"], "s", loop),
        plainly("  and ranges over twenty revisions", most["ranged"], "s", loop),
        plainly("  and a version that runs, with gates", most["gated"], "s", loop),
        at_most("  versions and gates, beyond one revision", _beyond(most), 2, "s", loop),
        plainly("  beyond one revision, a plugin", _beyond(most) / plugins * 1e6, "µs", loop),
        *(Row(f"  kept back: {gate}", f"{count:,} plugins") for gate, count in most["gates"].items()),
        *_growth(fewer, most),
    ]
    for version, what in PUBLISHED.items():
        found += _published(f"publishing {what}, {version}", most["published"][version], loop)
    return found


def _beyond(measured: dict[str, Any]) -> float:
    return float(measured["gated"] - measured["plain"])


def _growth(fewer: dict[str, Any], most: dict[str, Any]) -> list[Row]:
    times = most["plugins"] / fewer["plugins"]
    what = f"growth: {most['plugins']:,} plugins against {fewer['plugins']:,}"
    return [
        at_most(f"{what}, time", most["gated"] / fewer["gated"], times, "×"),
        at_most(f"{what}, beyond one revision", _beyond(most) / _beyond(fewer), times, "×"),
    ]


def _published(what: str, measured: dict[str, Any], loop: float) -> list[Row]:
    return [
        plainly(what, measured["milliseconds"], "ms", loop),
        at_most(
            "  plugins decided again, of those that may take it", measured["again"], measured["admitting"], "plugins"
        ),
        Row("  plugins on which a fresh decision differs", f"{measured['differing']:,}"),
    ]


def measure(clusters: int) -> dict[str, Any]:
    size = Size(clusters, plugins=DEFINITIONS)
    plain, gated = plain_fleet(size), versioned_fleet(size)
    ranged = replace(gated, states={})
    loop = calibrate()
    decisions = decide(gated)
    return {
        "loop": loop,
        "plugins": len(decisions.plugins),
        "plain": best_of(TIMES, lambda: decide(plain)),
        "ranged": best_of(TIMES, lambda: decide(ranged)),
        "gated": best_of(TIMES, lambda: decide(gated)),
        "gates": Counter(gate for each in decisions.plugins.values() for gate in sorted(_gates(each))),
        "published": {version: _publish(gated, decisions, version) for version in PUBLISHED},
    }


def _publish(snapshot: Snapshot, before: Decisions, version: str) -> dict[str, float]:
    times = []
    for _ in range(TIMES):
        seconds, after = clock(partial(decide, with_revision(snapshot, DEFINITION, version), before))
        times.append(seconds * 1000)
    fresh = decide(with_revision(snapshot, DEFINITION, version)).plugins
    return {
        "milliseconds": median(times),
        "again": sum(after.plugins[key] is not plugin for key, plugin in before.plugins.items()),
        "admitting": admitting(before, DEFINITION, version),
        "differing": sum(_answer(after.plugins[key]) != _answer(plugin) for key, plugin in fresh.items()),
    }


def _gates(plugin: PluginDecision) -> set[str]:
    return {each.gate for each in plugin.blocked_by}


def _answer(plugin: PluginDecision) -> tuple[Any, ...]:
    return plugin.version, plugin.wanted_version, plugin.running, _gates(plugin)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
