"""suspended: a person paused the owner or its rollout."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import View
from fleetform.model.results.advice import Advice


def suspended(view: View) -> Reason | None:
    owner = view.change.owner
    if view.change.suspended:
        return Reason("suspended", f"{owner.name} is suspended", "set suspend: false", ref=owner)
    if view.rollout is not None and view.rollout.is_open and view.rollout.paused:
        name = view.rollout.name
        by = f" by {view.rollout.note}" if view.rollout.note else ""
        do = Advice("resume", owner.organization, owner, name)
        return Reason("suspended", f"rollout {name} is paused{by}", do, ref=owner)
    return None
