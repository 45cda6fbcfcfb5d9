"""From decisions to what a plan takes: the first time, again after nothing, and after one event.

Run as a module with a number of clusters it measures one size in this process and prints JSON.
"""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import replace
from typing import Any

from bench.calibrate import best_of, calibrate, clock
from bench.fleets import NOW, Size, made, make_fleet
from bench.fresh import run_fresh
from bench.measure_loop import with_states
from bench.table import Row, at_most, plainly
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import started
from fleetform.engine.world.changes import OwnerChanges
from fleetform.model.kinds.base import ClusterSelector, LabelSelector
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.kinds.lifecycle import RolloutPolicySpec, Stage, UpdateWindowSpec
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import Deployed

SIZES = (1_000, 10_000)
PLUGINS = 10
TITLE = f"World: {PLUGINS} plugins a cluster in 4 stages, a window and a freeze, with what is stored of each"


def rows() -> list[Row]:
    small, large = (run_fresh("bench.measure_world", clusters) for clusters in SIZES)
    found = []
    for measured in (small, large):
        loop = measured["loop"]
        found += [
            plainly(
                f"{measured['plugins']:,} plugins: what is wanted of each, from decisions",
                measured["first"],
                "ms",
                loop,
            ),
            plainly("  of that, hashes", measured["hashes"], "ms", loop),
            plainly("  where plugins share their options", measured["shared"], "ms", loop),
            plainly("  again, after nothing", measured["again"], "ms", loop),
            plainly("  again, after one plugin was started", measured["event"], "ms", loop),
            plainly("  the plan of all of them", measured["plan"], "ms", loop),
        ]
    found.append(at_most("growth: ten times the plugins, time", large["first"] / small["first"], 13, "×"))
    return found


def staged(snapshot: Snapshot) -> Snapshot:
    """The fleet with a policy in stages by tier, a window each night and a freeze that is to come."""
    tiers = [ClusterSelector(label_selector=LabelSelector(match_labels={"tier": str(number)})) for number in range(3)]
    stages = [Stage(f"tier{number}", each, max_concurrency="25%") for number, each in enumerate(tiers)]
    policy = RolloutPolicySpec([*stages, Stage("rest", remainder=True)])
    nights = UpdateWindowSpec("Allow", schedule="0 22 * * *", duration="6h")
    freeze = UpdateWindowSpec("HardFreeze", from_="2026-12-20", to="2027-01-02", cluster_selector=tiers[0])
    home = OrganizationSpec(default_rollout_policy="standard", default_update_windows=["nights"])
    organization = made("Organization", "acme", home)
    others = [
        made("RolloutPolicy", "standard", policy),
        made("UpdateWindow", "nights", nights),
        made("UpdateWindow", "holidays", freeze),
    ]
    return replace(snapshot, organizations={organization.ref: organization}, others={each.ref: each for each in others})


def measure(clusters: int) -> dict[str, Any]:
    loop = calibrate()
    gc.disable()
    decisions = decide(staged(with_states(make_fleet(Size(clusters, PLUGINS)))))
    snapshot = decisions.index.snapshot
    first, changes = clock(lambda: _built(decisions))
    hashes = clock(lambda: [Inputs(decisions).hash(each) for each in decisions.plugins.values()])[0]
    alike = decide(staged(with_states(make_fleet(Size(clusters, PLUGINS, differing=0)))))
    shared, _ = clock(lambda: _built(alike))
    ref = next(iter(snapshot.clusters))
    name, state = next(iter(snapshot.states[ref].items()))
    moved = started(state, Deployed("1.0.0", "plugin0", "h1:new"), None, "", NOW)
    event = replace(snapshot, states={**snapshot.states, ref: {**snapshot.states[ref], name: moved}})
    later = decide(event, decisions)
    inputs = changes.inputs
    return {
        "clusters": clusters,
        "plugins": len(decisions.plugins),
        "loop": loop,
        "first": first * 1000,
        "hashes": hashes * 1000,
        "shared": shared * 1000,
        "again": best_of(3, lambda: OwnerChanges(decisions, inputs, before=changes).world()) * 1000,
        "event": best_of(3, lambda: OwnerChanges(later, inputs, before=changes).world()) * 1000,
        "plan": best_of(3, lambda: plan(changes.world(), NOW)) * 1000,
    }


def _built(decisions: Decisions) -> OwnerChanges:
    changes = OwnerChanges(decisions, Inputs(decisions))
    changes.world()
    return changes


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
