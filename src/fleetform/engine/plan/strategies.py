"""Strategies: Open Cluster Management's All, Progressive and ProgressivePerGroup as stages (R1-16).

Mandatory groups come first, each a stage of its own that forgives nothing; what is left is one stage (All, Progressive)
or a stage for each group. Slots are held through the soak and by failed clusters, and failures round up (S2, S45).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from msgspec import Struct

from fleetform.engine.plan.stages import StageRule, share

_FIELDS = {"All": "all", "Progressive": "progressive", "ProgressivePerGroup": "progressivePerGroup"}
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 0.000001, "µs": 0.000001, "ns": 0.000000001}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|ns|h|m|s)")
_PERCENT = re.compile(r"[0-9]+(\.[0-9]+)?%\Z")


class StrategyError(ValueError):
    """A strategy that cannot be read."""


class Group(Struct, frozen=True):
    """A decision group of a placement."""

    name: str
    index: int
    clusters: tuple[str, ...]


class StrategyStage(NamedTuple):
    """A stage of a strategy: its rule, its clusters, and whether all of them start together once it is their turn."""

    rule: StageRule
    clusters: frozenset[str]
    whole: bool
    mandatory: bool


def strategy_stages(strategy: Mapping[str, Any], groups: Sequence[Group]) -> list[StrategyStage]:
    """The stages of a rolloutStrategy over the decision groups of a placement, in order."""
    type_ = strategy.get("type")
    if type_ not in _FIELDS:
        raise StrategyError(f"{type_!r} is not a rollout strategy; there are {', '.join(_FIELDS)}")
    fields: Mapping[str, Any] = strategy.get(_FIELDS[type_]) or {}
    everyone = frozenset(cluster for group in groups for cluster in group.clusters)
    deadline = parse_deadline(fields.get("progressDeadline"))
    if type_ == "All":
        return [StrategyStage(_rule("all", len(everyone), timedelta(0), deadline), everyone, True, False)]
    failures = _amount("maxFailures", fields.get("maxFailures"), len(everyone))
    soak = parse_soak(fields.get("minSuccessTime"))
    first = _mandatory(fields, groups)
    stages = [
        StrategyStage(_rule(_name(group), 0, soak, deadline), frozenset(group.clusters), True, True) for group in first
    ]
    rest = [group for group in groups if group not in first]
    if type_ == "ProgressivePerGroup":
        return stages + [
            StrategyStage(_rule(_name(group), failures, soak, deadline), frozenset(group.clusters), True, False)
            for group in rest
        ]
    left = frozenset(cluster for group in rest for cluster in group.clusters)
    # Failures are a share of all clusters, slots of those that are left.
    budget = share(failures, len(everyone), up=True)
    slots = _amount("maxConcurrency", fields.get("maxConcurrency"), len(left), at_least_one=True)
    rule = _rule("rest", budget, soak, deadline, slots if "maxConcurrency" in fields else None)
    return [*stages, StrategyStage(rule, left, False, False)]


def _rule(
    name: str, failures: int | str, soak: timedelta, deadline: timedelta | None, slots: int | str | None = None
) -> StageRule:
    return StageRule(
        name,
        slots,
        failures,
        soak,
        deadline,
        failures_round_up=True,
        soaking_holds_slot=True,
        failed_holds_slot=True,
    )


def _name(group: Group) -> str:
    return group.name or f"group-{group.index}"


def _mandatory(fields: Mapping[str, Any], groups: Sequence[Group]) -> list[Group]:
    """A group by its name, or by its index where no name is given."""
    asked = fields.get("mandatoryDecisionGroups") or []
    names = {each["groupName"] for each in asked if each.get("groupName")}
    indexes = {each.get("groupIndex", 0) for each in asked if not each.get("groupName")}
    return [group for group in groups if (group.name in names if group.name else group.index in indexes)]


def _amount(field: str, value: int | str | None, total: int, at_least_one: bool = False) -> int | str:
    """A count or a share, refused where it cannot be meant: OCM reads such a one as none, or as all."""
    if value is None:
        return 0
    if isinstance(value, str) and not _PERCENT.match(value):
        raise StrategyError(f"{field}: {value!r} is neither a number nor a percentage")
    count = share(value, total, up=True)
    lowest = 1 if at_least_one and total else 0
    if count < lowest or (not at_least_one and total and count > total):
        raise StrategyError(f"{field}: {value} is out of range for {total} clusters")
    return value


def parse_deadline(text: str | None) -> timedelta | None:
    """How long a cluster may take, as `90s`, `5m`, `1h30m`; None and absent: as long as it likes."""
    if text in (None, "", "None"):
        return None
    if not isinstance(text, str) or not re.match(r"[0-9]+[hms]", text):
        raise StrategyError(f"progressDeadline: {text!r} is not a duration such as 90s, 5m or None")
    return _duration("progressDeadline", text)


def parse_soak(text: str | None) -> timedelta:
    return _duration("minSuccessTime", text) if text not in (None, "", "0") else timedelta(0)


def _duration(field: str, text: str | None) -> timedelta:
    parts = _DURATION.findall(text or "")
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise StrategyError(f"{field}: {text!r} is not a duration")
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
