"""approval: people must agree to a stage before it starts (R2-32, B26)."""

from __future__ import annotations

from fleetform.engine.plan.records import Approval, Reason
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.view import StageView, View
from fleetform.model.results.advice import Advice

_MOST_NAMED = 3


def approval(view: View, here: StageView) -> Reason | None:
    rule = here.rule.approvals
    if rule is None or view.rollout is None:
        return None
    have = len(approvers(view, here.rule.name, rule))
    if have >= rule.required:
        return None
    stage, rollout, owner = here.rule.name, view.rollout, view.change.owner
    missing = f"{have} of {rule.required} people have approved stage {stage}"
    missing += left_out(view.change.authors, view.change.approvals, rule)
    do = Advice("approve", owner.organization, owner, rollout.name, stage, rollout.change_id)
    return Reason("approval", missing, do)


def approvers(view: View, stage: str, rule: ApprovalRule) -> frozenset[str]:
    """The distinct people whose approval counts: of this rollout, change, stage and policy, and allowed to give it."""
    rollout = view.rollout
    if rollout is None:
        return frozenset()
    bound = (rollout.name, stage, rollout.change_id, rollout.policy.digest)
    return people(view.change.approvals, bound, rule, view.change.authors)


def people(
    approvals: tuple[Approval, ...], bound: tuple[str, str, str, str], rule: ApprovalRule, authors: frozenset[str]
) -> frozenset[str]:
    """Those who approved exactly this: rollout, stage, change and policy (B26)."""
    found = [each for each in approvals if (each.rollout, each.stage, each.change_id, each.policy) == bound]
    return frozenset(each.user for each in found if _may(each, rule, authors))


def _may(approval: Approval, rule: ApprovalRule, authors: frozenset[str]) -> bool:
    names = {approval.user, *approval.also}
    if rule.not_author and names & authors:
        return False
    anyone = not rule.users and not rule.groups
    return anyone or bool(names & rule.users) or bool(approval.groups & rule.groups)


def left_out(authors: frozenset[str], approvals: tuple[Approval, ...], rule: ApprovalRule) -> str:
    """Of the authors those who might think that they count: people whom the rule names, and who approved in vain."""
    authors = authors if rule.not_author else frozenset()
    anyone = not rule.users and not rule.groups
    named = sorted(authors if anyone else authors & (rule.users | {each.user for each in approvals}))
    if not named:
        return ""
    who = ", ".join(named) if len(named) <= _MOST_NAMED else f"{len(named)} people"
    return f"; {who} made the change and do{'es' if len(named) == 1 else ''} not count"
