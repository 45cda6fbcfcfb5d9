"""Owner: the plan for one owner. Reads top to bottom: which rollout, who is in it, how far is it, who may start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from fleetform.engine.plan.current import Pair, current_rollout
from fleetform.engine.plan.emergency import in_force
from fleetform.engine.plan.failure import goes_back, is_back, way_back
from fleetform.engine.plan.gates.chain import BLOCKING
from fleetform.engine.plan.gates.unreachable import is_lost
from fleetform.engine.plan.members import Member, place
from fleetform.engine.plan.outcome import counted, enrolled, rollout_after
from fleetform.engine.plan.progress import Progress
from fleetform.engine.plan.records import Change, ClusterKey, OwnerPlan, Step, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import APPLYING, BUSY, FAILED, RETRYING, SOAKING, TIMED_OUT
from fleetform.engine.plan.starts import steps_of
from fleetform.engine.plan.view import StageView, View
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.results.decisions import PluginKey


def plan_owner(
    world: World,
    change: Change,
    pairs: list[Pair],
    states: Mapping[PluginKey, Progress],
    busy: dict[ClusterKey, PluginKey],
    pending: Mapping[PluginKey, str],
    almanac: Almanac,
    now: datetime,
    look: datetime | None = None,
    replace: bool = False,
) -> OwnerPlan:
    limits = world.limits_of(change.owner.organization)
    emergency = in_force(change, limits, now)
    rollout, replaced = current_rollout(change, pairs, emergency, replace, now)
    view = View(now, change, rollout, limits, emergency, states, busy, pending, almanac, look=look)
    members = _count_in(view, pairs)
    if rollout is not None and rollout.started is None and not view.members:
        # It was about plugins that are what is wanted by now.
        view.rollout, replaced = None, replaced or structs.replace(rollout, phase="Superseded", ended=now)
        rollout = None
    if rollout is not None and goes_back(view, members):
        return _going_back(view, rollout, members)
    before = dict(busy)
    steps = steps_of(view, members)
    if rollout is not None and _is_stuck(view, rollout, steps) and not replace:
        # What waits in the queue is the only way on.
        busy.clear()
        busy.update(before)
        return plan_owner(world, change, pairs, states, busy, pending, almanac, now, look, replace=True)
    after = rollout_after(view, rollout, steps)
    begins = after is not None and after.started is not None and (rollout is None or rollout.started is None)
    if rollout is not None and (begins or view.joins):
        steps = enrolled(rollout, members, steps)
    return OwnerPlan(change, after, counted(view, after), tuple(steps), replaced, view.look, emergency)


def _count_in(view: View, pairs: list[Pair]) -> list[Member]:
    """Every plugin with its place, and the stages with what their members have come to."""
    rollout, patience = view.rollout, view.limits.patience
    if rollout is not None:
        times = {each.name: each for each in rollout.stages}
        view.stages = [StageView(rule, times[rule.name]) for rule in rollout.policy.stages]
    positions = {stage.rule.name: index for index, stage in enumerate(view.stages)}
    members = [place(view, candidate, progress, positions) for candidate, progress in pairs]
    tallies = [stage.tally for stage in view.stages]
    for member in members:
        if member.role != "member":
            continue
        standing = member.standing
        tally = tallies[member.position] if member.position >= 0 else view.loose
        tally.counts[standing] += 1
        if standing is FAILED or standing is TIMED_OUT:
            attempt = member.progress.attempt
            tally.final_failures += attempt is not None and patience.retry_at(attempt) is None
        elif member.soaked_at is not None and (tally.soaked_at is None or member.soaked_at > tally.soaked_at):
            tally.soaked_at = member.soaked_at
    for stage in view.stages:
        stage.measure()
        if stage.tally.soaked_at is not None:
            view.look_at(stage.tally.soaked_at)
    if rollout is not None:
        _find_done(view, rollout)
    return members


def _find_done(view: View, rollout: Rollout) -> None:
    """Stages are done in order. That one was done is a fact: nothing that happens in it later takes that back."""
    before: datetime = rollout.created
    for stage in view.stages:
        if stage.times.done is not None:
            stage.done = stage.times.done
        elif not stage.tally.members:
            stage.done = before
        elif rollout.started is not None and stage.tally.is_finished(view.forgives, stage.budget):
            stage.done = view.now
        if stage.done is None:
            return
        before = stage.done


def _going_back(view: View, rollout: Rollout, members: list[Member]) -> OwnerPlan:
    steps = way_back(view, rollout, members)
    lost = {each.candidate.key for each in members if is_lost(view, each.candidate.cluster)}
    ended = view.now if is_back(steps, set(lost)) else None
    phase = "Halted" if ended is not None else "RollingBack"
    after = structs.replace(rollout, phase=phase, ended=ended, rejected=True)
    return OwnerPlan(view.change, after, counted(view, after), tuple(steps), None, view.look, view.emergency)


def _is_stuck(view: View, rollout: Rollout, steps: list[Step]) -> bool:
    """Whether a newer change waits, nothing is under way, and what is left can go on only if somebody mends it.

    A plugin that lacks a value gets it by a newer change, so waiting for the older one would wait for ever (R2-17).
    """
    if rollout.queued is None or rollout.started is None or rollout.paused:
        return False
    for step in steps:
        if step.action == "start" or step.state == "InFlight":
            return False
    tallies = [*(stage.tally for stage in view.stages), view.loose]
    if any(tally.of(BUSY, APPLYING, RETRYING, SOAKING) for tally in tallies):
        return False
    waiting = [step for step in steps if step.action in ("wait", "block") and not _only_queues(step)]
    current = next((stage.rule.name for stage in view.stages if stage.done is None), None)
    here = [step for step in waiting if step.stage == current]
    return bool(here) and all(any(reason.gate in BLOCKING for reason in step.reasons) for step in here)


def _only_queues(step: Step) -> bool:
    return all(reason.gate == "queue" for reason in step.reasons)
