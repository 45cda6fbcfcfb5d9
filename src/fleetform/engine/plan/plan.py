"""Plan: what starts now on every cluster, what waits, for what and until when. A function of a world and a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import structs

from fleetform.engine.index.differences import changed_keys
from fleetform.engine.plan.checks import check_plan
from fleetform.engine.plan.deletions import plan_removals
from fleetform.engine.plan.emergency import in_force
from fleetform.engine.plan.members import Member
from fleetform.engine.plan.owner import first_due, plan_owner
from fleetform.engine.plan.progress import settle
from fleetform.engine.plan.records import Change, OwnerPlan, Plan, Step, World
from fleetform.engine.plan.view import Pass
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN

_NOTHING: tuple[list[Member], datetime | None] = ([], None)


def plan(world: World, now: datetime, previous: Plan | None = None, almanac: Almanac | None = None) -> Plan:
    """The plan at a time. previous is given back as it is while nothing changed and nothing is due."""
    if previous is not None and previous.world is world and _still_holds(previous, now):
        return previous
    almanac, resting = almanac or Almanac(), _resting(previous, world)
    waiting = _waiting_as_before(previous, world, now)
    if previous is not None and waiting:
        round_ = Pass(world, now, almanac)
        found = _planned(round_, previous, {**resting, **waiting})
        if not round_.busy:
            return structs.replace(found, fresh_until=_earlier(found.fresh_until, previous.fresh_until))
    return _planned(Pass(world, now, almanac), previous, resting)


def _planned(round_: Pass, previous: Plan | None, kept: Mapping[int, OwnerPlan]) -> Plan:
    """The plan of all owners; kept are plans that stand, by the change that they are of."""
    world, now = round_.world, round_.now
    settled = [_settled(round_, change) if id(change) not in kept else _NOTHING for change in world.changes]
    for removal in world.removals:
        if world.states.get(removal.key, UNKNOWN).in_flight and not removal.cluster_left:
            round_.busy[removal.cluster.key] = removal.key
    round_.pending = _pending(settled, world.changes)
    planned: dict[int, OwnerPlan] = {}
    known = {id(owner.change): owner for owner in previous.owners} if previous is not None else {}
    for index in sorted(range(len(settled)), key=lambda each: _turn(world, world.changes[each], now)):
        members, look = settled[index]
        change = world.changes[index]
        planned[index] = kept.get(id(change)) or _as_before(plan_owner(round_, change, members, look), known)
    owners = tuple(planned[index] for index in range(len(settled)))
    removals = tuple(plan_removals(round_))
    next_look = next_look_of(owners, removals)
    fresh_until = _fresh_until(world, next_look, round_.almanac, now)
    idle = all(owner.is_idle for owner in owners) and not any(step.action == "delete" for step in removals)
    found = Plan(world, now, owners, removals, next_look, fresh_until, idle)
    check_plan(found)
    return found


def _resting(previous: Plan | None, world: World) -> dict[int, OwnerPlan]:
    """What of the plan before stands whatever the time: owners at rest whose change and states are the very same."""
    if previous is None or previous.world.limits != world.limits:
        return {}
    changes = {id(change) for change in world.changes}
    moved = frozenset(changed_keys(world.states, previous.world.states))
    return {
        id(owner.change): owner
        for owner in previous.owners
        if owner.at_rest and id(owner.change) in changes and moved.isdisjoint(owner.keys)
    }


def _waiting_as_before(previous: Plan | None, world: World, now: datetime) -> dict[int, OwnerPlan]:
    """Plans of owners that wait for somebody or for a time that has not come: they say the same as in the pass before,
    whatever others have to store.

    That holds where owners have nothing to do with each other: nothing was in flight then, nothing may be now, which is
    the caller's to look at, and no plugin depends on another.
    """
    if previous is None or previous.world.limits != world.limits or not _is_fresh(previous, now):
        return {}
    if previous.world.unrendered != world.unrendered:
        return {}
    if not all(owner.stands_alone for owner in previous.owners):
        return {}
    if any(step.progress.in_flight for step in previous.removals):
        return {}
    known, changes = {id(owner.change) for owner in previous.owners}, {id(change) for change in world.changes}
    new = [change for change in world.changes if id(change) not in known]
    if any(candidate.depends_on for change in new for candidate in change.candidates):
        return {}
    moved = frozenset(changed_keys(world.states, previous.world.states))
    return {
        id(owner.change): owner
        for owner in previous.owners
        if not owner.at_rest
        and owner.is_idle
        and id(owner.change) in changes
        and not (moved and any(step.key in moved for step in owner.steps))
    }


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _as_before(owner: OwnerPlan, known: Mapping[int, OwnerPlan]) -> OwnerPlan:
    """The owner's plan of the pass before, if it says the same: others find by identity what is new."""
    before = known.get(id(owner.change))
    return before if before is not None and before == owner else owner


def _settled(round_: Pass, change: Change) -> tuple[list[Member], datetime | None]:
    """An owner's plugins with what time alone has done to them; and when it will do something next.

    This is done for all owners before any is planned: what is in flight is noted, so that no two changes meet on a
    cluster.
    """
    states, busy, now = round_.world.states, round_.busy, round_.now
    patience = round_.world.limits_of(change.owner.organization).patience
    rollout = change.rollout
    policy = rollout.policy if rollout is not None and rollout.is_open else change.policy
    deadlines = {rule.name: rule.deadline for rule in policy.stages}
    members: list[Member] = []
    look: datetime | None = None
    for candidate in change.candidates:
        stored = progress = states.get(candidate.key, UNKNOWN)
        attempt = stored.attempt
        if attempt is not None and (attempt.phase == "Applying" or attempt.phase == "SetAside"):
            stage = stored.enrolment.stage if stored.enrolment is not None else candidate.stage
            silent_since, deadline = candidate.cluster.silent_since, deadlines.get(stage or "")
            progress, due = settle(stored, silent_since, deadline, patience, now)
            if due is not None and (look is None or due < look):
                look = due
            if progress.in_flight:
                busy[candidate.cluster.key] = candidate.key
        members.append(Member(candidate, progress, stored, candidate.wanted))
    return members, look


def _pending(settled: list[tuple[list[Member], datetime | None]], changes: tuple[Change, ...]) -> dict[PluginKey, str]:
    """Which change each plugin waits for that others depend on."""
    named: set[PluginKey] = set()
    for members, _ in settled:
        for candidate in [member.candidate for member in members if member.candidate.depends_on]:
            named.update((*candidate.key[:2], name) for name in candidate.depends_on)
    if not named:
        return {}
    return {
        member.candidate.key: change.change_id
        for change, (members, _) in zip(changes, settled, strict=True)
        for member in members
        if member.candidate.key in named and member.is_changed
    }


def _turn(world: World, change: Change, now: datetime) -> tuple[bool, bool, datetime, str, str]:
    """Who comes first where two want one cluster: ways back, emergencies, then the older rollout."""
    rollout = change.rollout
    back = rollout is not None and rollout.phase == "RollingBack"
    urgent = in_force(change, world.limits_of(change.owner.organization), now)
    created = rollout.created if rollout is not None and rollout.is_open else now
    return not back, not urgent, created, change.owner.organization, change.owner.name


def _still_holds(previous: Plan, now: datetime) -> bool:
    return previous.is_idle and _is_fresh(previous, now)


def _is_fresh(previous: Plan, now: datetime) -> bool:
    """Whether time alone has changed nothing since."""
    return previous.at <= now and (previous.fresh_until is None or now < previous.fresh_until)


def next_look_of(owners: Iterable[OwnerPlan], removals: Iterable[Step]) -> datetime | None:
    """The least time that anything waits for. Sleeping exactly until then makes progress."""
    looks = [owner.next_look for owner in owners]
    return min((each for each in (*looks, first_due(removals)) if each is not None), default=None)


def _fresh_until(world: World, next_look: datetime | None, almanac: Almanac, now: datetime) -> datetime | None:
    """Until when nothing of a plan can be another: also windows that close and emergencies that end count."""
    ends = [change.emergency.expires for change in world.changes if change.emergency is not None]
    times = [each for each in (next_look, almanac.edge(now), *ends) if each is not None and each > now]
    return min(times, default=None)
