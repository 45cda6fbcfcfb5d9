"""Plan: what starts now on every cluster, what waits, for what and until when. A function of a world and a time."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.checks import check_plan
from fleetform.engine.plan.current import Pair
from fleetform.engine.plan.deletions import plan_removals
from fleetform.engine.plan.emergency import in_force
from fleetform.engine.plan.members import differs
from fleetform.engine.plan.owner import plan_owner
from fleetform.engine.plan.progress import NOTHING_STORED, settle
from fleetform.engine.plan.records import Change, ClusterKey, OwnerPlan, Plan, Reason, Step, World
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.results.decisions import PluginKey


def plan(world: World, now: datetime, previous: Plan | None = None, almanac: Almanac | None = None) -> Plan:
    """The plan at a time. previous is given back as it is while nothing changed and nothing is due."""
    if previous is not None and previous.world is world and _still_holds(previous, now):
        return previous
    almanac = almanac or Almanac()
    busy: dict[ClusterKey, PluginKey] = {}
    settled = [_settled(world, change, busy, now) for change in world.changes]
    for removal in world.removals:
        if world.states.get(removal.key, NOTHING_STORED).in_flight:
            busy[removal.cluster.key] = removal.key
    pending = _pending(settled, world.changes)
    owners: list[OwnerPlan | None] = [None] * len(settled)
    for index in sorted(range(len(settled)), key=lambda each: _turn(world, world.changes[each], now)):
        pairs, look = settled[index]
        change = world.changes[index]
        owners[index] = plan_owner(world, change, pairs, world.states, busy, pending, almanac, now, look)
    found = tuple(each for each in owners if each is not None)
    removals = tuple(plan_removals(world, busy, almanac, now))
    next_look = _next_look(found, removals)
    fresh_until = _fresh_until(world, next_look, almanac, now)
    result = Plan(world, now, found, removals, next_look, fresh_until, _is_idle(world, found, removals))
    check_plan(result)
    return result


def _settled(
    world: World, change: Change, busy: dict[ClusterKey, PluginKey], now: datetime
) -> tuple[list[Pair], datetime | None]:
    """An owner's plugins with what time alone has done to them, over all owners before any is planned; what is in
    flight is noted, so that no two changes meet on a cluster."""
    patience = world.limits_of(change.owner.organization).patience
    rollout = change.rollout
    policy = rollout.policy if rollout is not None and rollout.is_open else change.policy
    deadlines = {rule.name: rule.deadline for rule in policy.stages}
    pairs: list[Pair] = []
    look: datetime | None = None
    states = world.states
    for candidate in change.candidates:
        progress = states.get(candidate.key, NOTHING_STORED)
        attempt = progress.attempt
        if attempt is not None and (attempt.phase == "Applying" or attempt.phase == "SetAside"):
            stage = progress.enrolment.stage if progress.enrolment is not None else candidate.stage
            deadline = deadlines.get(stage or "")
            progress, due = settle(progress, candidate.cluster.silent_since, deadline, patience, now)
            if due is not None and (look is None or due < look):
                look = due
            if progress.in_flight:
                busy[candidate.cluster.key] = candidate.key
        pairs.append((candidate, progress))
    return pairs, look


def _pending(settled: list[tuple[list[Pair], datetime | None]], changes: tuple[Change, ...]) -> dict[PluginKey, str]:
    """Which change each plugin waits for that others depend on."""
    named: set[PluginKey] = set()
    for pairs, _ in settled:
        for candidate, _progress in pairs:
            for name in candidate.depends_on:
                named.add((candidate.key[0], candidate.key[1], name))
    if not named:
        return {}
    return {
        candidate.key: change.change_id
        for change, (pairs, _) in zip(changes, settled, strict=True)
        for candidate, progress in pairs
        if candidate.key in named and differs(progress, candidate.wanted)
    }


def _turn(world: World, change: Change, now: datetime) -> tuple[bool, bool, datetime, str, str]:
    """Who comes first where two want one cluster: ways back, emergencies, then the older rollout."""
    rollout = change.rollout
    back = rollout is not None and rollout.phase == "RollingBack"
    urgent = in_force(change, world.limits_of(change.owner.organization), now)
    created = rollout.created if rollout is not None and rollout.is_open else now
    return not back, not urgent, created, change.owner.organization, change.owner.name


def _still_holds(previous: Plan, now: datetime) -> bool:
    fresh = previous.fresh_until
    return previous.is_idle and previous.at <= now and (fresh is None or now < fresh)


def _next_look(owners: tuple[OwnerPlan, ...], removals: tuple[Step, ...]) -> datetime | None:
    """The least time that anything waits for. Sleeping exactly until then makes progress."""
    seen: set[int] = set()
    times: list[datetime] = [owner.look for owner in owners if owner.look is not None]
    for steps in (*(owner.steps for owner in owners), removals):
        for step in steps:
            reasons = step.reasons
            if reasons and id(reasons) not in seen:
                seen.add(id(reasons))
                times += _untils(reasons)
    return min(times, default=None)


def _untils(reasons: tuple[Reason, ...]) -> list[datetime]:
    return [reason.until for reason in reasons if reason.until is not None]


def _fresh_until(world: World, next_look: datetime | None, almanac: Almanac, now: datetime) -> datetime | None:
    """Until when nothing of a plan can be another: also windows that close and emergencies that end count."""
    ends = [change.emergency.expires for change in world.changes if change.emergency is not None]
    times = [each for each in (next_look, almanac.edge(now), *ends) if each is not None and each > now]
    return min(times, default=None)


def _is_idle(world: World, owners: tuple[OwnerPlan, ...], removals: tuple[Step, ...]) -> bool:
    """Whether a plan asks for nothing to be stored: no start, no fact that time made, no rollout that moved on."""
    if any(owner.rollout != owner.change.rollout or owner.replaced is not None for owner in owners):
        return False
    states = world.states
    for owner in owners:
        for step in owner.steps:
            if step.progress is not states.get(step.key, NOTHING_STORED):
                return False
    return not any(step.action == "delete" for step in removals)
