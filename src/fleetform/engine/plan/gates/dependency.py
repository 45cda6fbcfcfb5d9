"""dependency: what the plugin depends on must be healthy on its cluster first, and changed first by the same change."""

from __future__ import annotations

from fleetform.engine.plan.records import Candidate, Reason
from fleetform.engine.plan.view import View
from fleetform.model.results.advice import Advice
from fleetform.model.state import UNKNOWN


def dependency(view: View, candidate: Candidate) -> Reason | None:
    organization, cluster, _ = candidate.key
    for name in candidate.depends_on:
        key = organization, cluster, name
        look = Advice("see-plugin", organization, cluster=cluster, plugin=name)
        if not view.states.get(key, UNKNOWN).is_healthy:
            return Reason("dependency", f"{name} is not healthy on {cluster}", look)
        if view.pending.get(key) == view.change.change_id:
            return Reason("dependency", f"the same change reaches {name} on {cluster} first", look)
    return None
