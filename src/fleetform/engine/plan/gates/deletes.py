"""deletes: one change removes more plugins than it may unapproved, or not all was loaded (B22)."""

from __future__ import annotations

from fleetform.engine.plan.records import Limits, Reason
from fleetform.engine.plan.stages import share
from fleetform.model.objects import Ref

AT_LEAST = 3
STAGE = "deletes"


def most_deletes(limits: Limits, installed: int) -> int:
    """A share of what is installed, rounded down, and 3 at least."""
    return max(share(limits.max_deletes, installed, up=False), AT_LEAST)


def deletes(owner: Ref, rollout: str, count: int, most: int, approved: bool) -> Reason | None:
    if count <= most or approved:
        return None
    message = f"{count} plugins of {owner.organization} would be deleted, {most} may be without approval"
    return Reason("deletes", message, f"fleetform rollout approve {rollout} --stage {STAGE}", ref=owner)


def incomplete(owner: Ref) -> Reason:
    return Reason(
        "deletes", "not everything could be loaded and rendered, so absence means nothing", "mend the input", ref=owner
    )
