"""Who may ask what: what roles allow, as answers and refusals. What somebody may not see is not there for them."""

from __future__ import annotations

from fleetform.app.errors import DeniedError
from fleetform.engine.check.roles import Organizations, Right, Roles, holders
from fleetform.model.identity import Identity


def visible_to(roles: Roles, who: Identity) -> frozenset[str] | None:
    """The organizations that somebody may know of; None: all. Who has no role at all is refused whatever they ask."""
    found = roles.where("view")
    if found is not None and not found:
        raise DeniedError(f"{who.shown} has no role here", "roles are given in Organization.spec.roles")
    return found


def must_have(organizations: Organizations, roles: Roles, who: Identity, right: Right, where: str, what: str) -> None:
    """Refuses what somebody may see and not do."""
    if roles.may(right, where):
        return
    able = holders(organizations, right, where)
    hint = f"these may: {', '.join(able)}" if able else "only the user who runs the control plane may"
    raise DeniedError(f"{who.shown} may not {what} in {where}", hint)
