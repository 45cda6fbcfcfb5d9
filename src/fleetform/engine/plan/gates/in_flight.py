"""in-flight: at most one change at a time on a cluster (B27)."""

from __future__ import annotations

from fleetform.engine.plan.records import Candidate, ClusterKey, Reason
from fleetform.engine.plan.view import View
from fleetform.model.results.advice import Advice
from fleetform.model.results.decisions import PluginKey


def in_flight(view: View, candidate: Candidate) -> Reason | None:
    return occupied(view.busy, candidate.cluster.key, candidate.key)


def occupied(busy: dict[ClusterKey, PluginKey], cluster: ClusterKey, key: PluginKey) -> Reason | None:
    other = busy.get(cluster)
    if other is None:
        return None
    what = "an earlier change of it" if other == key else other[2]
    do = Advice("wait-for-plugin", other[0], cluster=cluster[1], plugin=other[2])
    return Reason("in-flight", f"{what} is being changed on {cluster[1]}", do)
