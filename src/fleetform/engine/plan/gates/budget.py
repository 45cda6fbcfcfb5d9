"""budget: more clusters failed than may; nothing new starts (B24)."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import View


def budget(view: View) -> Reason | None:
    exceeded = view.breached()
    if exceeded is None or view.rollout is None:
        return None
    do = f"repair the failed clusters, publish a fix, or fleetform rollout retry {view.change.owner.name}"
    return Reason("budget", f"too many failures in {exceeded}", do, ref=view.change.owner)
