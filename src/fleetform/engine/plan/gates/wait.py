"""wait: a time that must pass: before a stage starts, or before something that failed is tried again."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.gates.stage import earlier_stage
from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import StageView, View


def wait(view: View, here: StageView) -> Reason | None:
    """Counts from the end of the stage before; for the first, from when the change was first seen."""
    if not here.rule.wait or here.times.started is not None or view.emergency or view.rollout is None:
        return None
    if earlier_stage(view, here) is not None:
        return None
    position = view.stages.index(here)
    since = view.stages[position - 1].done if position else view.rollout.created
    until = (since or view.now) + here.rule.wait
    if view.now >= until:
        return None
    return Reason("wait", f"stage {here.rule.name} waits before it starts", "wait", until=until)


def retry_later(failures: int, retries: int, until: datetime | None) -> Reason:
    return Reason("wait", f"it failed and is tried again: {failures} of {retries} retries", "wait", until=until)
