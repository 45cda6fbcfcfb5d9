"""validate --against: the check that a definition repository runs on every change."""

from __future__ import annotations

from fleetform.app.fleet import Fleet
from fleetform.engine.against import compare_definitions
from fleetform.model.results.diagnostics import Diagnostic


def against(fleet: Fleet, base: Fleet) -> list[Diagnostic]:
    """What the definitions of a fleet owe those of the fleet before."""
    return list(compare_definitions(base.decisions.revisions, fleet.decisions.revisions))
