"""deletes: one change removes more plugins than it may unapproved, or not all was loaded (B22)."""

from __future__ import annotations

from fleetform.engine.plan.gates.approval import left_out, people
from fleetform.engine.plan.records import Limits, Reason, Removal
from fleetform.engine.plan.stages import ApprovalRule, share
from fleetform.model.objects import Ref
from fleetform.model.results.advice import Advice

AT_LEAST = 3
STAGE = "deletes"


def most_deletes(limits: Limits, installed: int) -> int:
    """As many as is written; a share of what is installed is rounded down, and 3 at least."""
    most = share(limits.max_deletes, installed, up=False)
    return most if isinstance(limits.max_deletes, int) else max(most, AT_LEAST)


def deletes(removal: Removal, rule: ApprovalRule, count: int, most: int) -> Reason | None:
    """Few go by themselves; many wait until people agree who did not make the change."""
    if count <= most:
        return None
    bound = (removal.rollout, STAGE, removal.change_id, removal.policy)
    if len(people(removal.approvals, bound, rule, removal.authors)) >= rule.required:
        return None
    plugins = f"{count} plugin{'s' if count > 1 else ''} of {removal.owner.organization}"
    message = f"{plugins} would be deleted, {most or 'none'} may be without approval"
    message += left_out(removal.authors, removal.approvals, rule)
    owner = removal.owner
    do = Advice("approve", owner.organization, owner, removal.rollout, STAGE, removal.change_id)
    return Reason("deletes", message, do, ref=owner)


def incomplete(owner: Ref) -> Reason:
    return Reason(
        "deletes",
        "not everything could be loaded and rendered, so nothing counts as removed",
        "fix the input",
        ref=owner,
    )
