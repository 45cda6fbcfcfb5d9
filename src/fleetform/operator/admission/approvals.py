"""Approvals: whose they are is what the API server says of who asks (R2-32, S47)."""

from __future__ import annotations

from typing import Any

from fleetform.app.errors import DeniedError, NoAnswerError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope
from fleetform.model.kinds.lifecycle import ApprovalSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.operator.admission.reviews import UserInfo

# Programs, and not people: controllers, nodes, the API server itself.
_PROGRAMS = "system:"


def judged_approval(fleet: Fleet, approval: Object[ApprovalSpec], who: UserInfo) -> list[Diagnostic]:
    """What is wrong with an approval that somebody gives."""

    def found(message: str, hint: str, severity: Severity = "error") -> list[Diagnostic]:
        at = approval.at("spec", "user")
        return [Diagnostic("foreign-approval", message, hint, severity, approval.ref, at)]

    spec, user = approval.spec, who.username
    if user.startswith(_PROGRAMS):
        return found(f"{user} is a program, and only people approve", "approve it yourself, with kubectl")
    if spec.user != user:
        claimed = f"for {spec.user}" if spec.user else "without a user"
        return found(f"{user} gives an approval {claimed}: everybody approves for themselves", f"write user: {user}")
    scope = Scope(approval.ref.organization)
    try:
        # Groups are not kept with the object, so that they cannot count later either.
        Rollouts(fleet, scope, Person(user)).agree(spec.rollout, spec.stage, spec.change_id)
    except DeniedError as error:
        return found(error.message, error.hint)
    except (NotFoundError, NoAnswerError) as error:
        return found(f"{error.message}: it may not count", error.hint, "warning")
    return []


def is_approval(object_: Object[Any]) -> bool:
    return isinstance(object_.spec, ApprovalSpec)
