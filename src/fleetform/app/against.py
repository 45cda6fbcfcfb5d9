"""validate --against: the check that a definition repository runs on every change."""

from __future__ import annotations

from fleetform.app.fleet import Fleet
from fleetform.engine.against import compare_definitions
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import VersionKey


def against(fleet: Fleet, base: Fleet) -> list[Diagnostic]:
    """What the definitions of a fleet owe those of the fleet before."""
    return list(compare_definitions(base.decisions.revisions, fleet.decisions.revisions, _rendering_anew(fleet, base)))


def _rendering_anew(fleet: Fleet, base: Fleet) -> set[VersionKey]:
    """The versions that both have, and whose folders hold other files."""
    both = fleet.snapshot.definitions.keys() & base.snapshot.definitions.keys()
    found = {key: (base.digests(key).found, fleet.digests(key).found) for key in both}
    return {key for key, (then, now) in found.items() if then is not None and now is not None and then != now}
