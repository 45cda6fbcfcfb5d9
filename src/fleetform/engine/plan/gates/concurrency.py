"""concurrency: as many clusters of the stage are in flight as may be. Judged last: who may not start takes no slot."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import StageView


def concurrency(here: StageView) -> Reason | None:
    if here.free > 0:
        return None
    if here.full is None:
        here.full = Reason("concurrency", _message(here.rule.name, here.slots - here.free, here.slots), "wait")
    return here.full


def _message(stage: str, taken: int, slots: int) -> str:
    if taken <= slots:
        return f"{taken} of {slots} clusters that stage {stage} may change at once are being changed"
    passing = "clusters that join and those that were under way before wait for no slot"
    return f"{taken} clusters of stage {stage} are being changed, and it changes {slots} at once: {passing}"
