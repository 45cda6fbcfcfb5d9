"""Checks: a plan counts again, in another way than it was made, before it is handed out.

Nothing here is about bad input: what fails here is a mistake of the planner, and then it is better to start nothing.
The counts are taken from the progress that would be stored, not from the tallies that the plan was made with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from fleetform.engine.plan.progress import is_reread
from fleetform.engine.plan.records import OwnerPlan, Plan, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import share
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState


class PlanError(AssertionError):
    """A plan that breaks a law of plans. Nothing of it may be carried out."""


def check_plan(plan: Plan) -> None:
    """Raises PlanError if a plan starts more than it may."""
    starts = plan.starts
    if starts:
        _check_clusters(plan, starts)
        for owner in plan.owners:
            _check_owner(owner, plan.world.states)
    if plan.next_look is not None and plan.next_look <= plan.at:
        raise PlanError(f"the next look, {plan.next_look}, is not after {plan.at}")


def _check_clusters(plan: Plan, starts: list[Step]) -> None:
    """At most one change in flight on a cluster, what starts now included; a policy that is External does not ask."""
    moving = [owner for owner in plan.owners if not owner.at_rest]
    external = {step.key for owner in moving if owner.change.policy.external for step in owner.starts}
    on_cluster = Counter(step.key[:2] for step in starts if step.key not in external)
    if not on_cluster:
        return
    started = {step.key for step in starts}
    for owner in moving:
        for step in owner.steps:
            if step.state == "InFlight" and step.key not in started and step.key[:2] in on_cluster:
                raise PlanError(f"{step.key} is in flight, and something else starts there")
    twice = [cluster for cluster, count in on_cluster.items() if count > 1]
    if twice:
        raise PlanError(f"more than one start on {twice[0]}")


def _check_owner(owner: OwnerPlan, stored: Mapping[PluginKey, PluginState]) -> None:
    rollout = owner.rollout
    if rollout is None:
        return
    starting = [step for step in owner.starts if step.action == "start" and _is_new(owner, step, stored)]
    if not starting:
        return
    moved = [step for step in owner.steps if step.state == "InFlight" or step.state == "Failed"]
    flying = Counter(_stage(step) for step in moved if _flies(rollout, step.progress))
    failed = Counter(_stage(step) for step in moved if _has_failed(rollout, step.progress))
    begun = {_stage(step) for step in starting}
    total = len(owner.steps)
    if owner.crowd is not None:
        for rule, crowd in zip(rollout.policy.stages, owner.crowd.stages, strict=True):
            flying[rule.name] += crowd.flying
            failed[rule.name] += crowd.failed
            total += crowd.members
    forgives = rollout.policy.on_failure == "Continue"
    for rule, times in zip(rollout.policy.stages, rollout.stages, strict=True):
        if rule.name in begun and flying[rule.name] > rule.slots(times.total):
            raise PlanError(f"{rollout.name}: {flying[rule.name]} in flight in stage {rule.name}")
        if failed[rule.name] > rule.budget(times.total) and not forgives:
            raise PlanError(f"{rollout.name}: starts beyond the budget of stage {rule.name}")
    most = rollout.policy.max_failures
    if most is not None and not forgives and sum(failed.values()) > share(most, total, up=False):
        raise PlanError(f"{rollout.name}: starts beyond the budget of the rollout")
    for position, times in enumerate(rollout.stages):
        if times.name in begun and any(each.done is None for each in rollout.stages[:position]):
            raise PlanError(f"{rollout.name}: stage {times.name} starts before its turn")


def _is_new(owner: OwnerPlan, step: Step, stored: Mapping[PluginKey, PluginState]) -> bool:
    """Whether a start is one that stages and budgets are about: no retry, no cluster that joins, no other value that a
    cluster reads."""
    place, attempt, admitted = step.progress.enrolment, step.progress.attempt, step.progress.admitted
    if place is None or attempt is None or admitted is None or owner.rollout is None:
        return False
    if is_reread(stored.get(step.key, UNKNOWN).admitted, admitted):
        return False
    return place.rollout == attempt.rollout == owner.rollout.name and not place.joined and not attempt.failures


def _stage(step: Step) -> str | None:
    return step.progress.enrolment.stage if step.progress.enrolment is not None else ""


def _flies(rollout: Rollout, progress: PluginState) -> bool:
    place = progress.enrolment
    return progress.in_flight and place is not None and place.rollout == rollout.name and not place.joined


def _has_failed(rollout: Rollout, progress: PluginState) -> bool:
    attempt, place = progress.attempt, progress.enrolment
    if attempt is None or place is None or place.rollout != rollout.name or attempt.rollout != rollout.name:
        return False
    return attempt.phase in ("Failed", "Applying") and attempt.failures > 0 and not attempt.back
