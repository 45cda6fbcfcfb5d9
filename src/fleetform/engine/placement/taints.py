"""Taints and tolerations: which clusters a placement keeps away from, and until when."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from fleetform.engine.placement.pool import ClusterPool, Group
from fleetform.model.kinds.fleet import Taint
from fleetform.model.kinds.placement import Toleration
from fleetform.syntax.times import parse_time

FOREVER = datetime.max.replace(tzinfo=UTC)


class End(NamedTuple):
    """The instant at which a toleration of a group's taint ends."""

    at: datetime
    group: Group
    only_if_new: bool


class Tainted(NamedTuple):
    """Clusters by what their taints do to a placement, and when tolerations end."""

    refused: Group
    refused_if_new: Group
    reluctant: Group
    ends: tuple[End, ...]


def weigh_taints(pool: ClusterPool, tolerations: Sequence[Toleration], at: datetime) -> Tainted:
    """What the taints of a pool's clusters do to a placement with these tolerations."""
    groups = {"NoSelect": 0, "NoSelectIfNew": 0, "PreferNoSelect": 0}
    ends = []
    for taint, group in pool.taints.items():
        until = tolerated_until(taint, tolerations)
        if until is None or until <= at:
            groups[taint.effect] |= group
        elif until < FOREVER:
            ends.append(End(until, group, taint.effect == "NoSelectIfNew"))
    return Tainted(groups["NoSelect"], groups["NoSelectIfNew"], groups["PreferNoSelect"], tuple(ends))


def tolerated_until(taint: Taint, tolerations: Sequence[Toleration]) -> datetime | None:
    """When the last toleration of a taint ends; None if there is none."""
    ends: list[datetime] = []
    for each in tolerations:
        if _tolerates(each, taint):
            ends.append(FOREVER)
            if each.toleration_seconds is not None and taint.time_added is not None:
                with suppress(ValueError, OverflowError):
                    ends[-1] = parse_time(taint.time_added) + timedelta(seconds=each.toleration_seconds)
    return max(ends, default=None)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    # Without a key only Exists is allowed: what else would a value be compared with?
    return toleration.key == taint.key and (toleration.value or "") == (taint.value or "")
