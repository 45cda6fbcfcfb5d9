"""Rollouts as they stand: those that run or are about to, and those that ended."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.app.answering.waits import Waits
from fleetform.app.fleet import Fleet
from fleetform.app.plan import stage_clusters, versions
from fleetform.app.scope import Scope
from fleetform.engine.plan.records import OwnerPlan, StageCount
from fleetform.engine.plan.rollouts import Rollout, StageTimes
from fleetform.model.answers.planning import ConsentNeeded, RolloutAnswer, RolloutStage, StageClusters
from fleetform.model.state import UNKNOWN
from fleetform.syntax.times import time_text


def rollout_answers(fleet: Fleet, scope: Scope) -> list[RolloutAnswer]:
    """By organization and owner, the oldest first."""
    waits = Waits(fleet)
    found = [
        _answer(fleet, waits, owner, rollout)
        for owner in fleet.plan.owners
        if scope.holds(owner.change.owner)
        for rollout in rollouts_of(fleet, owner)
    ]
    known = {each.change.owner for each in fleet.plan.owners}
    for ref, rollouts in sorted(fleet.state.rollouts.rollouts.items()):
        # Of owners that are gone.
        found += [_answer(fleet, waits, None, each) for each in rollouts if scope.holds(ref) and ref not in known]
    return sorted(found, key=lambda each: (each.organization, each.preset, each.created, each.name))


def rollouts_of(fleet: Fleet, owner: OwnerPlan) -> Iterator[Rollout]:
    """An owner's rollouts, the oldest first, each as the plan leaves it."""
    after = {each.name: each for each in (owner.replaced, owner.rollout) if each is not None}
    stored = fleet.state.rollouts.rollouts.get(owner.change.owner, ())
    for each in stored:
        yield after.pop(each.name, each)
    yield from after.values()


def rollout_answer(fleet: Fleet, owner: OwnerPlan, rollout: Rollout) -> RolloutAnswer:
    return _answer(fleet, Waits(fleet), owner, rollout)


def _answer(fleet: Fleet, waits: Waits, owner: OwnerPlan | None, rollout: Rollout) -> RolloutAnswer:
    counts: dict[str, StageCount] = {}
    if owner is not None and owner.rollout is not None and owner.rollout.name == rollout.name:
        counts = {each.name: each for each in owner.stages}
    # By the policy that the rollout has, so that stages stand in its order.
    times = {each.name: each for each in rollout.stages}
    stages = [
        _stage(waits, owner, rollout, times.get(rule.name, StageTimes(rule.name)), counts.get(rule.name))
        for rule in rollout.policy.stages
    ]
    runs, wanted = _versions(fleet, owner, rollout)
    return RolloutAnswer(
        organization=rollout.owner.organization,
        name=rollout.name,
        preset=rollout.owner.name,
        change_id=rollout.change_id,
        policy=rollout.policy.name,
        from_=runs,
        to=wanted,
        phase=rollout.phase,
        stages=stages,
        queued=rollout.queued,
        skipped=list(rollout.skipped),
        rejected=rollout.rejected,
        note=rollout.note,
        created=time_text(rollout.created),
        started=time_text(rollout.started) if rollout.started is not None else None,
        ended=time_text(rollout.ended) if rollout.ended is not None else None,
        diagnostics=[],
    )


def _stage(
    waits: Waits, owner: OwnerPlan | None, rollout: Rollout, times: StageTimes, count: StageCount | None
) -> RolloutStage:
    consent: ConsentNeeded | None = None
    if owner is not None and count is not None and count.approvals_needed:
        consent = waits.consent(owner, rollout, count)
    done = times.total if times.done is not None else 0
    nobody = StageClusters(total=times.total, updated=done, healthy=done, failed=0, unreachable=0, waiting=0)
    return RolloutStage(
        name=times.name,
        phase=_phase(rollout, times, count),
        clusters=stage_clusters(count) if count is not None else nobody,
        approvals=consent,
        soak_until=time_text(count.soaked_at) if count is not None and count.soaked_at is not None else None,
        started=time_text(times.started) if times.started is not None else None,
        done=time_text(times.done) if times.done is not None else None,
    )


def _phase(rollout: Rollout, times: StageTimes, count: StageCount | None) -> str:
    if times.done is not None:
        return "Succeeded"
    if times.started is None:
        return "Pending"
    if rollout.phase not in ("Progressing", "Soaking"):
        return rollout.phase
    moving = count is not None and (count.in_flight or count.waiting)
    return "Soaking" if count is not None and count.soaking and not moving else "Progressing"


def _versions(fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout) -> tuple[str | None, str | None]:
    """What clusters come from and go to: a version, several of them joined; None if none is known."""
    runs: set[str | None] = set()
    wanted: set[str | None] = set()
    states = fleet.plan.world.states
    for candidate in owner.change.candidates if owner is not None else ():
        state = states.get(candidate.key, UNKNOWN)
        place = state.enrolment
        mine = place is not None and place.rollout == rollout.name
        target = place.target if mine and place is not None else candidate.wanted if rollout.is_open else None
        if target is None:
            continue
        before = place.before if mine and place is not None and place.before is not None else state.admitted
        runs.add(before.version if before is not None else None)
        wanted.add(target.version)
    return ", ".join(versions(runs)) or None, ", ".join(versions(wanted)) or None
