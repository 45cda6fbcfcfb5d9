"""approval: people must agree to a stage before it starts (R2-32, B26)."""

from __future__ import annotations

from fleetform.engine.plan.records import Approval, Reason
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.view import StageView, View


def approval(view: View, here: StageView) -> Reason | None:
    rule = here.rule.approvals
    if rule is None or view.rollout is None:
        return None
    have = len(approvers(view, here.rule.name, rule))
    if have >= rule.required:
        return None
    stage, name = here.rule.name, view.rollout.name
    missing = f"{have} of {rule.required} people have approved stage {stage}"
    author = (
        f"; {view.change.author} made the change and does not count" if rule.not_author and view.change.author else ""
    )
    return Reason("approval", missing + author, f"fleetform rollout approve {name} --stage {stage}")


def approvers(view: View, stage: str, rule: ApprovalRule) -> frozenset[str]:
    """The distinct people whose approval counts: of this rollout, change, stage and policy, and allowed to give it."""
    rollout = view.rollout
    if rollout is None:
        return frozenset()
    bound = (rollout.name, stage, rollout.change_id, rollout.policy.digest)
    return people(view.change.approvals, bound, rule, view.change.author)


def people(
    approvals: tuple[Approval, ...], bound: tuple[str, str, str, str], rule: ApprovalRule, author: str | None
) -> frozenset[str]:
    """Those who approved exactly this: rollout, stage, change and policy (B26)."""
    found = [each for each in approvals if (each.rollout, each.stage, each.change_id, each.policy) == bound]
    return frozenset(each.user for each in found if _may(each, rule, author))


def _may(approval: Approval, rule: ApprovalRule, author: str | None) -> bool:
    if rule.not_author and author is not None and approval.user == author:
        return False
    anyone = not rule.users and not rule.groups
    return anyone or approval.user in rule.users or bool(approval.groups & rule.groups)
