"""Rollout decisions in Open Cluster Management's spelling, as a library: which clusters may be applied to now (S34).

The strategies are compiled into the stages that plans are made of, and counted as these are. Where the answer differs
from OCM's own on purpose, docs/spec/differences.md says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from fleetform.engine.plan.stages import Standing, Tally
from fleetform.engine.plan.strategies import Group, StrategyError, StrategyStage, strategy_stages

__all__ = ["ClusterStatus", "RolloutDecision", "StrategyError", "decide"]


class _Readable(Struct, frozen=True):
    """Fields by name as well as by attribute."""

    def __getitem__(self, field: str) -> Any:
        return getattr(self, field)


class ClusterStatus(_Readable, frozen=True):
    """A cluster and its status: ToApply, Progressing, Succeeded, Failed, TimeOut, Skip."""

    cluster: str
    status: str


class RolloutDecision(_Readable, frozen=True):
    """Clusters to apply to now, those in flight and soaking included; each list by cluster."""

    rollout: tuple[ClusterStatus, ...]
    timed_out: tuple[ClusterStatus, ...]
    removed: tuple[ClusterStatus, ...]
    failure_budget_breached: bool
    look_again_at: datetime | None


class _Known(Struct):
    """What a cluster has come to; due is when that will be over by time alone."""

    status: str
    standing: Standing
    due: datetime | None = None

    @property
    def holds(self) -> bool:
        return self.standing in (Standing.APPLYING, Standing.SOAKING, Standing.FAILED)


def decide(
    strategy: Mapping[str, Any],
    groups: Iterable[Mapping[str, Any]] | None,
    states: Iterable[Mapping[str, Any]] | None,
    now: datetime,
) -> RolloutDecision:
    """The decision of a rolloutStrategy. A state without `since` counts from now: who asks keeps the time it began.

    StrategyError (a ValueError) where the strategy cannot be read.
    """
    known_groups = [_group(each) for each in groups or ()]
    stages = strategy_stages(strategy, known_groups)
    rules = {cluster: stage.rule for stage in stages for cluster in stage.clusters}
    known: dict[str, _Known] = {}
    removed: list[ClusterStatus] = []
    for state in states or ():
        rule = rules.get(state["cluster"])
        if rule is None:
            removed.append(ClusterStatus(state["cluster"], state["status"]))
        else:
            known[state["cluster"]] = _known(state, rule.soak, rule.deadline, now)
    starts, breached = _starts(stages, known)
    held = [(cluster, each) for cluster, each in known.items() if each.holds]
    timed_out = [
        ClusterStatus(cluster, "TimeOut")
        for cluster, each in known.items()
        if each.standing is Standing.TIMED_OUT and each.status != "TimeOut"
    ]
    rollout = [ClusterStatus(cluster, each.status) for cluster, each in held]
    rollout += [ClusterStatus(cluster, "ToApply") for cluster in starts]
    dues = [each.due for _, each in held if each.due is not None and each.due > now]
    return RolloutDecision(_sorted(rollout), _sorted(timed_out), _sorted(removed), breached, min(dues, default=None))


def _group(group: Mapping[str, Any]) -> Group:
    return Group(group.get("name") or "", group.get("index") or 0, tuple(group.get("clusters") or ()))


def _known(state: Mapping[str, Any], soak: timedelta, deadline: timedelta | None, now: datetime) -> _Known:
    status, since = state["status"], state.get("since") or now
    if status == "ToApply":
        return _Known(status, Standing.WAITING)
    if status == "Succeeded":
        soaking = now < since + soak
        return _Known(status, Standing.SOAKING if soaking else Standing.DONE, since + soak if soaking else None)
    if status == "Skip":
        return _Known(status, Standing.DONE)
    due = since + deadline if deadline is not None else None
    if status == "TimeOut" or (due is not None and now >= due):
        return _Known(status, Standing.TIMED_OUT)
    return _Known(status, Standing.FAILED if status == "Failed" else Standing.APPLYING, due)


def _starts(stages: Sequence[StrategyStage], known: Mapping[str, _Known]) -> tuple[list[str], bool]:
    """The clusters that start now, stage by stage, until one has the turn; and whether its budget is exceeded."""
    tallies = [_tally(stage, known) for stage in stages]
    for position, (stage, tally) in enumerate(zip(stages, tallies, strict=True)):
        breached = tally.failed > stage.rule.budget(len(stage.clusters))
        starts = _of_stage(stage, tally, known, breached)
        # A group has the turn while anything is in flight in any group, but for what failed in groups so far and was
        # forgiven. Mandatory groups wait for each other alone: what is not mandatory must not hold them up.
        peers = [index for index, each in enumerate(stages) if each.mandatory == stage.mandatory]
        in_flight = sum(tallies[index].holding(stages[index].rule) for index in peers)
        forgiven = sum(tallies[index].of(Standing.FAILED) for index in peers if index <= position)
        if breached or starts or in_flight > forgiven:
            return starts, breached
    return [], False


def _tally(stage: StrategyStage, known: Mapping[str, _Known]) -> Tally:
    tally = Tally()
    for cluster in stage.clusters:
        tally.add(known[cluster].standing if cluster in known else Standing.WAITING)
    return tally


def _of_stage(stage: StrategyStage, tally: Tally, known: Mapping[str, _Known], breached: bool) -> list[str]:
    waiting = [c for c in stage.clusters if c not in known or known[c].standing is Standing.WAITING]
    if stage.whole:
        # A group starts as a whole, as there.
        return waiting
    free = stage.rule.slots(len(stage.clusters)) - tally.holding(stage.rule)
    # Those that were told to apply before keep their turn.
    return [] if breached else sorted(waiting, key=lambda each: (each not in known, each))[: max(free, 0)]


def _sorted(statuses: list[ClusterStatus]) -> tuple[ClusterStatus, ...]:
    return tuple(sorted(statuses, key=lambda each: each.cluster))
