"""queue: another rollout of the same owner runs, and finishes on what it started with (B8)."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import View
from fleetform.model.results.advice import Advice


def queue(view: View) -> Reason | None:
    rollout = view.rollout
    if rollout is None or rollout.change_id == view.change.change_id:
        return None
    owner = view.change.owner
    do = Advice("replace-rollout", owner.organization, owner, rollout.name)
    return Reason("queue", f"rollout {rollout.name} runs first", do, ref=owner)
