"""The peers' workload, beside what their own code takes for it.

Their figures were measured on 2 cores of a machine whose calibration loop is not known; the ratio is what counts.
"""

from __future__ import annotations

from bench.calibrate import best_of, calibrate
from bench.peers import make_peers_fleet
from bench.table import Row, at_least, plainly
from fleetform.engine.decide import decide

KARMADA_MS, KUBEFLEET_MS = 4.990, 2.839
TITLE = "Peers' workload: 10,000 objects of 4.7 kB × 500 overrides by label, 8.3 of which match"


def rows() -> list[Row]:
    found = [
        plainly("Karmada 1.17.1, its own code", KARMADA_MS, "ms an object"),
        plainly("KubeFleet 0.14.0, its own code", KUBEFLEET_MS, "ms an object"),
    ]
    for own_names in (False, True):
        found += _measure(own_names)
    return found


def _measure(own_names: bool) -> list[Row]:
    snapshot = make_peers_fleet(own_names)
    loop = calibrate()
    decisions = decide(snapshot)
    milliseconds = best_of(3, lambda: decide(snapshot)) / len(decisions.plugins) * 1000
    what = "each object with a name of its own" if own_names else "10 objects, the same on each cluster"
    matching = sum(len(each.shared.overrides) for each in decisions.plugins.values()) / len(decisions.plugins)
    return [
        plainly(f"Fleetform, {what}", milliseconds, "ms an object", loop),
        Row("  overrides applied to an object", f"{matching:.2f}"),
        at_least("  less than Karmada", KARMADA_MS / milliseconds, 50),
        at_least("  less than KubeFleet", KUBEFLEET_MS / milliseconds, 50),
    ]
