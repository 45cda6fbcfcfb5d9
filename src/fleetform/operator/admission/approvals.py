"""Approvals: whose they are is what the API server says of who asks (R2-32, S47)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from fleetform.app.errors import DeniedError, NoAnswerError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope
from fleetform.engine.check.report import listed
from fleetform.model.kinds.lifecycle import ApprovalSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.operator.admission.reviews import UserInfo

# Programs, and not people: controllers, nodes, the API server itself.
_PROGRAMS = "system:"


def not_by_its_user(approval: Object[ApprovalSpec], who: UserInfo) -> list[Diagnostic]:
    """What is wrong with whom an approval is by: only people approve, and everybody for themselves."""
    spec, user = approval.spec, who.username
    if user.startswith(_PROGRAMS):
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
    """Why the approval of somebody would be in vain."""
    try:
        _agree(fleet, approval, approval.spec.groups or ())
    except DeniedError as error:
        group = _missing_group(fleet, approval, who)
        if group:
            return [_found(approval, error.message, f"write groups: [{group}]", field="groups")]
        return [_found(approval, error.message, error.hint)]
    except (NotFoundError, NoAnswerError) as error:
        return [_found(approval, f"{error.message}: it may not count", error.hint, "warning")]
    return []


def _found(
    approval: Object[ApprovalSpec], message: str, hint: str, severity: Severity = "error", field: str = "user"
) -> Diagnostic:
    return Diagnostic("foreign-approval", message, hint, severity, approval.ref, approval.at("spec", field))


def _agree(fleet: Fleet, approval: Object[ApprovalSpec], groups: Iterable[str]) -> None:
    """Raises if the approval would not count, as it does for who approves in another way."""
    spec, person = approval.spec, Person(approval.spec.user or "", frozenset(groups))
    Rollouts(fleet, Scope(approval.ref.organization), person).agree(spec.rollout, spec.stage, spec.change_id)


def _missing_group(fleet: Fleet, approval: Object[ApprovalSpec], who: UserInfo) -> str:
    """A group of the user that would make it count, if one would."""
    for group in who.groups:
        with suppress(DeniedError):
            _agree(fleet, approval, (group,))
            return group
    return ""
