"""Policy: what people write about rollouts, compiled. RolloutPolicy's stages and Open Cluster Management's strategies
become the same StageRules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple, TypeVar

from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import Limits
from fleetform.engine.plan.rollouts import TRIGGERS, Policy
from fleetform.engine.plan.stages import ApprovalRule, StageRule
from fleetform.model.kinds.base import People
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec, RolloutPolicySpec, Stage
from fleetform.syntax.selectors import Matchers, any_matches, safe_matchers
from fleetform.syntax.times import parse_duration

T = TypeVar("T")
EXTERNAL = Policy("External", external=True)


class Ceilings(NamedTuple):
    """The longest soak and wait that the platform allows; what runs is clamped to them (R2-12, S48)."""

    soak: timedelta | None = None
    wait: timedelta | None = None


class StageSelectors(NamedTuple):
    """Which clusters belong to which stage: the first that selects one has it, the remainder takes those left over."""

    stages: tuple[tuple[str, Matchers], ...]
    remainder: str | None

    def stage_of(self, cluster: str, labels: Mapping[str, str]) -> str | None:
        """None: no stage selects the cluster, which is an error that names it (R2-8)."""
        for name, matchers in self.stages:
            if any_matches(matchers, cluster, labels):
                return name
        return self.remainder


NO_CEILINGS = Ceilings()
ONE_STAGE = StageSelectors((), "all")


def compile_policy(
    name: str, spec: RolloutPolicySpec, approvers: People | None = None, ceilings: Ceilings = NO_CEILINGS
) -> tuple[Policy, StageSelectors]:
    """A RolloutPolicy; approvers are the organization's, for stages that name none. Without stages: one with all."""
    stages = spec.stages or []
    rules = tuple(_rule(stage, approvers, ceilings) for stage in stages)
    policy = Policy(
        name,
        rules or (StageRule("all"),),
        spec.on_failure or "Halt",
        spec.supersede == "Replace",
        spec.max_failures,
        frozenset(spec.trigger) if spec.trigger is not None else TRIGGERS,
    )
    selectors = tuple((stage.name, safe_matchers(stage.cluster_selector)) for stage in stages if not stage.remainder)
    remainder = next((stage.name for stage in stages if stage.remainder), None)
    return policy, StageSelectors(selectors, remainder) if rules else ONE_STAGE


def _rule(stage: Stage, approvers: People | None, ceilings: Ceilings) -> StageRule:
    return StageRule(
        stage.name,
        stage.max_concurrency,
        stage.max_failures,
        _at_most(duration(stage.min_success_time), ceilings.soak),
        duration(stage.deadline) if stage.deadline is not None else None,
        _at_most(duration(stage.wait_before), ceilings.wait),
        _approvals(stage, approvers),
    )


def _approvals(stage: Stage, approvers: People | None) -> ApprovalRule | None:
    asked = stage.approvals
    if asked is None:
        return None
    return _from(asked.from_ or approvers, asked.required, asked.not_author)


def _from(people: People | None, required: int, not_author: bool = True) -> ApprovalRule:
    """Nobody named: anyone."""
    people = people or People()
    return ApprovalRule(required, frozenset(people.users or ()), frozenset(people.groups or ()), not_author)


def _at_most(wanted: timedelta, ceiling: timedelta | None) -> timedelta:
    return wanted if ceiling is None else min(wanted, ceiling)


def duration(text: str | None) -> timedelta:
    """A duration; none, and one that cannot be read, is no time at all: validation says so."""
    try:
        return parse_duration(text) if text is not None else timedelta(0)
    except ValueError:
        return timedelta(0)


def too_long(spec: RolloutPolicySpec, ceilings: Ceilings) -> Iterable[tuple[int, str, timedelta]]:
    """The stages that ask for a longer soak or wait than is allowed: which, which field, and the ceiling (S48)."""
    for index, stage in enumerate(spec.stages or []):
        if ceilings.soak is not None and duration(stage.min_success_time) > ceilings.soak:
            yield index, "minSuccessTime", ceilings.soak
        if ceilings.wait is not None and duration(stage.wait_before) > ceilings.wait:
            yield index, "waitBefore", ceilings.wait


def limits_of(
    platform: LifecyclePolicySpec | None, own: LifecyclePolicySpec | None, approvers: People | None = None
) -> Limits:
    """What lifecycle policies say about plans: an organization's word, else the platform's, else what is usual.

    approvers are those that the organization names: they agree to deletions, too.
    """
    standard = Limits()
    unreachable_after = _first([own, platform], "unreachable_after", None)
    emergency = next(
        (each.emergency for each in (own, platform) if each is not None and each.emergency is not None), None
    )
    after = duration(unreachable_after) if isinstance(unreachable_after, str) else standard.patience.unreachable_after
    return Limits(
        Patience(unreachable_after=after),
        _first([own, platform], "max_unreachable", standard.max_unreachable),
        _first([own, platform], "max_deletes", standard.max_deletes),
        _from(approvers, required=1),
        emergency_approvals=emergency.approvals if emergency is not None else standard.emergency_approvals,
    )


def _first(policies: list[LifecyclePolicySpec | None], field: str, usual: T) -> int | str | T:
    """0 is a word, too."""
    for policy in policies:
        value: int | str | None = getattr(policy, field, None)
        if value is not None:
            return value
    return usual
