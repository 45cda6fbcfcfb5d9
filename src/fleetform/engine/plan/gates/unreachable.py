"""unreachable: the cluster does not answer; or so many do not that no new stage starts (B25)."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.records import Candidate, ClusterFacts, Limits, Reason
from fleetform.engine.plan.stages import Standing, share
from fleetform.engine.plan.view import StageView, View


def unreachable(view: View, candidate: Candidate) -> Reason | None:
    return silent(candidate.cluster, view.limits, view.now)


def silent(cluster: ClusterFacts, limits: Limits, now: datetime) -> Reason | None:
    """A cluster that has not answered lately is not started; until is when a stage no longer waits for it."""
    if cluster.silent_since is None:
        return None
    until = cluster.silent_since + limits.patience.unreachable_after
    message = f"{cluster.name} has not answered since {cluster.silent_since:%Y-%m-%d %H:%M} UTC"
    do = "bring it back; it catches up by itself"
    return Reason("unreachable", message, do, until=until if until > now else None)


def is_lost(view: View, cluster: ClusterFacts) -> bool:
    """Whether a cluster has been silent for so long that it counts as unreachable."""
    since = cluster.silent_since
    return since is not None and since + view.limits.patience.unreachable_after <= view.now


def too_many_unreachable(view: View, here: StageView) -> Reason | None:
    """Shares round up: one of a few must not stop everything."""
    if here.times.started is not None:
        return None
    lost = sum([stage.tally.of(Standing.ABSENT) for stage in view.stages])
    most = share(view.limits.max_unreachable, view.members, up=True)
    if lost <= most:
        return None
    message = (
        f"{lost} of {view.members} clusters cannot be reached, {most} allowed; stage {here.rule.name} does not start"
    )
    return Reason("unreachable", message, "bring clusters back, or raise maxUnreachable")
