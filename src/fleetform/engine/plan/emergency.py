"""Emergency: whether one is in force: not expired, and agreed to by enough people who did not make the change (B12)."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.records import Change, Limits


def in_force(change: Change, limits: Limits, now: datetime) -> bool:
    """One that lacks consent is none: the ordinary gates hold."""
    declared = change.emergency
    if declared is None or now >= declared.expires or not declared.reason:
        return False
    return len(declared.approved_by - change.authors) >= limits.emergency_approvals
