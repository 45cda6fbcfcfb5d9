"""veto: the cluster holds; nothing starts there."""

from __future__ import annotations

from fleetform.engine.plan.records import Candidate, ClusterFacts, Reason
from fleetform.engine.plan.view import View


def veto(view: View, candidate: Candidate) -> Reason | None:
    return held(candidate.cluster)


def held(cluster: ClusterFacts) -> Reason | None:
    if cluster.hold is None:
        return None
    return Reason("veto", f"{cluster.name} holds: {cluster.hold}", "remove spec.hold from the cluster when it is over")
