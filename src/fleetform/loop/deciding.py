"""Deciding: the accepted fleet with everything that is known by now."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from fleetform.app.fleet import Fleet
from fleetform.app.reading.snapshots import rejected_versions
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.loop.image import Image
from fleetform.ports.state import KnownState


def decided(fleet: Fleet, known: KnownState, now: datetime, previous: Decisions | None) -> Fleet:
    """The same files at another time and with what is known then; decided again only where something is another."""
    snapshot = replace(
        fleet.snapshot,
        at=now,
        states=known.plugins,
        rejected=rejected_versions({**fleet.snapshot.presets, **fleet.snapshot.plugins}, known),
        selected={**fleet.snapshot.selected, **{ref: frozenset(names) for ref, names in known.placements.items()}},
    )
    decisions = decide(snapshot, previous)
    return replace(fleet, snapshot=decisions.index.snapshot, state=known, previous=decisions)


def with_placements(image: Image, fleet: Fleet) -> Image:
    """With what placements chose: a cluster that was chosen comes first the next time (B32)."""
    placements = fleet.decisions.index.placements
    chosen = {ref: placed.names for ref in placements.objects if (placed := placements.placed(ref)) is not None}
    if chosen == {ref: tuple(names) for ref, names in image.known.placements.items()}:
        return image
    return replace(image, known=replace(image.known, placements=chosen))
