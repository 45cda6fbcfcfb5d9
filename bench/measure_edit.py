"""An edit of one override on a large fleet: only what it can reach is decided again."""

from __future__ import annotations

from functools import partial
from statistics import median

from bench.calibrate import calibrate, clock
from bench.fleets import Size, make_fleet, with_edited_override
from bench.table import Row, at_most, plainly
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Object
from fleetform.model.snapshot import Snapshot

CLUSTERS = 10_000
EDITS = 9
TITLE = "Edit: one override of 500 on 100,000 plugins, decided from the pass before"


def rows() -> list[Row]:
    snapshot = make_fleet(Size(CLUSTERS))
    before = decide(snapshot)
    narrow, by_label, everywhere = (_first(snapshot, kind) for kind in ("names", "labels", "everything"))
    milliseconds, again, loop = _measure(snapshot, before, narrow)
    found = [
        at_most("narrow: three clusters by name", milliseconds, 50, "ms", loop),
        Row("  plugins decided again", f"{again:,}"),
    ]
    for what, override in (("by label: a region of an environment", by_label), ("fleet-wide", everywhere)):
        milliseconds, again, loop = _measure(snapshot, before, override)
        found += [plainly(what, milliseconds, "ms", loop), Row("  plugins decided again", f"{again:,}")]
    return found


def _first(snapshot: Snapshot, kind: str) -> Object[object]:
    """The first override that reaches clusters in some way, whatever definition it names."""
    for override in snapshot.overrides.values():
        selector = override.spec.cluster_selector
        found = "everything" if selector is None else "names" if getattr(selector, "cluster_names", None) else "labels"
        if found == kind:
            return override
    raise LookupError(kind)


def _measure(snapshot: Snapshot, before: Decisions, override: Object[object]) -> tuple[float, int, float]:
    """The median time of some edits in ms, how many plugins each decided again, and the loop's time."""
    loop = calibrate()
    times = []
    for value in range(EDITS):
        edited = with_edited_override(snapshot, override.ref, 1_000_000 + value)
        seconds, after = clock(partial(decide, edited, before))
        times.append(seconds * 1000)
    again = sum(after.plugins[key] is not plugin for key, plugin in before.plugins.items())
    return median(times), again, loop
