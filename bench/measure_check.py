"""Checking a large fleet, beside deciding it: what `validate` adds."""

from __future__ import annotations

from bench.calibrate import best_of, calibrate
from bench.fleets import Size, make_fleet
from bench.table import Row, plainly
from fleetform.engine.check import lint_objects
from fleetform.engine.check.decided import lint_decisions, lint_effects
from fleetform.engine.decide import decide
from fleetform.engine.report.effects import Effects

CLUSTERS = 1_000
TITLE = "Check: 10,000 plugins × 40 options on 1,000 clusters, 500 overrides"


def rows() -> list[Row]:
    snapshot = make_fleet(Size(CLUSTERS))
    loop = calibrate()
    decisions = decide(snapshot)
    deciding = best_of(3, lambda: decide(snapshot))
    objects = best_of(2, lambda: list(lint_objects(decisions.index)))
    effects = best_of(2, lambda: [*lint_decisions(decisions), *lint_effects(decisions, Effects(decisions))])
    return [
        plainly("deciding", deciding, "s", loop),
        plainly("checking the objects", objects, "s", loop),
        plainly("checking their effects", effects, "s", loop),
        plainly("  checks, of the time of deciding", (objects + effects) / deciding, "×"),
    ]
