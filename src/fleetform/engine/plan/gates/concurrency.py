"""concurrency: as many clusters of the stage are in flight as may be. Judged last: who may not start takes no slot."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import StageView


def concurrency(here: StageView) -> Reason | None:
    if here.free > 0:
        return None
    if here.full is None:
        taken = here.slots - here.free
        message = f"{taken} of {here.slots} clusters that stage {here.rule.name} may change at once are being changed"
        here.full = Reason("concurrency", message, "wait")
    return here.full
