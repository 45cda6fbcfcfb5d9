"""Approvals: whose they are is what the API server says of who asks (R2-32, S47)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.engine.check.report import listed
from fleetform.engine.plan.gates.approval import people
from fleetform.engine.plan.gates.deletes import STAGE as DELETES
from fleetform.engine.plan.records import Approval
from fleetform.engine.plan.rollouts import rollout_name
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.versions.lifecycle import lifecycle_in
from fleetform.engine.world.consent import Persons, organization_of
from fleetform.engine.world.staging import Stagings
from fleetform.model.kinds.lifecycle import ApprovalSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.operator.admission.reviews import UserInfo

# Kubernetes keeps these names for itself: controllers, nodes, the API server, tokens by which machines join.
# Distributions have further programs under it, so that a list of programs would never be whole; of people it has one.
RESERVED = "system:"
# Whoever has the administrator's certificate of K3s or OpenShift. To approve gives its holder no power that they lack:
# they may impersonate everybody.
ADMINISTRATOR = "system:admin"


def not_by_its_user(approval: Object[ApprovalSpec], who: UserInfo) -> list[Diagnostic]:
    """What is wrong with whom an approval is by: only people approve, and everybody for themselves."""
    spec, user = approval.spec, who.username
    if user.startswith(RESERVED) and user != ADMINISTRATOR:
        hint = "approve it yourself, with kubectl"
        return [_found(approval, f"{user} is a program, and only people approve", hint)]
    if spec.user != user:
        claimed = f"for {spec.user}" if spec.user else "without a user"
        message = f"{user} gives an approval {claimed}: everybody approves for themselves"
        return [_found(approval, message, f"write user: {user}")]
    if foreign := sorted(set(spec.groups or ()) - set(who.groups)):
        message = f"{user} is not in {listed(foreign)}"
        return [_found(approval, message, "name only groups that you are in", field="groups")]
    return []


def would_not_count(fleet: Fleet, approval: Object[ApprovalSpec], who: UserInfo) -> list[Diagnostic]:
    """Why the approval of somebody would be in vain, by the policy of now.

    Which changes are on their way is not looked at: what is known of them belongs to the replica that works for the
    organization, and an approval of another change does no harm (B26).
    """
    spec, owner = approval.spec, _owner_of(fleet, approval)
    if spec.stage == DELETES:
        # Who is asked about a removal may be known to nobody any more: its owner may be gone.
        return []
    if owner is None:
        hint = "take both from `kubectl get rollouts -o yaml`"
        message = f"{spec.rollout} is not a rollout of {spec.change_id} here: it may not count"
        return [_found(approval, message, hint, "warning", "rollout")]
    if any(group.rollout for group in getattr(owner.spec, "groups", None) or ()):
        return []
    home, snapshot = approval.ref.organization, fleet.snapshot
    persons = Persons(organization_of(snapshot, home))
    stagings = Stagings(snapshot, fleet.placements, home, lifecycle_in(snapshot, home))
    rules = {each.name: each.approvals for each in persons.of_policy(stagings.of(owner).policy).stages}
    rule = rules.get(spec.stage)
    if rule is None:
        asking = [name for name, each in rules.items() if each is not None]
        hint = f"these do: {listed(asking)}" if asking else "no stage does"
        message = f"no stage {spec.stage} of {owner.ref.name} asks for an approval: it may not count"
        return [_found(approval, message, hint, "warning", "stage")]
    if _counts(rule, persons.name(who.username), spec.groups or ()):
        return []
    message = f"{who.username} may not approve stage {spec.stage}"
    if missing := next((each for each in who.groups if each in rule.groups), None):
        return [_found(approval, message, f"write groups: [{missing}]", field="groups")]
    able = [*sorted(rule.users), *(f"group {each}" for each in sorted(rule.groups))]
    return [_found(approval, message, f"these may: {', '.join(able)}")]


def _owner_of(fleet: Fleet, approval: Object[ApprovalSpec]) -> Object[Any] | None:
    """Whose rollout it is: a rollout is named after its owner and its change."""
    spec, home, snapshot = approval.spec, approval.ref.organization, fleet.snapshot
    owners: list[Object[Any]] = [*snapshot.presets.values(), *snapshot.plugins.values()]
    return next(
        (
            each
            for each in owners
            if each.ref.organization == home and spec.rollout.startswith(rollout_name(each.ref.name, spec.change_id))
        ),
        None,
    )


def _counts(rule: ApprovalRule, user: str, groups: Iterable[str]) -> bool:
    given = Approval("", "", "", "", user, frozenset(groups))
    return bool(people((given,), ("", "", "", ""), rule, frozenset()))


def _found(
    approval: Object[ApprovalSpec], message: str, hint: str, severity: Severity = "error", field: str = "user"
) -> Diagnostic:
    return Diagnostic("foreign-approval", message, hint, severity, approval.ref, approval.at("spec", field))
