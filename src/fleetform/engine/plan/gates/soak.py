"""soak: the stage before is healthy, and not yet for as long as it must be (S45)."""

from __future__ import annotations

from fleetform.engine.plan.gates.stage import earlier_stage, only_soaks
from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import StageView, View


def soak(view: View, here: StageView) -> Reason | None:
    earlier = earlier_stage(view, here)
    if earlier is None or not only_soaks(earlier):
        return None
    message = f"stage {earlier.rule.name} is healthy and must stay so first"
    return Reason("soak", message, "wait, or declare an emergency, which skips it", until=earlier.tally.soaked_at)
