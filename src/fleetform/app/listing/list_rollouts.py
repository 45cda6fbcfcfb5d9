"""Rollouts as they stand: those that run or are about to, and those that ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import structs

from fleetform.app.answering.causes import rollout_causes
from fleetform.app.answering.changed_objects import changed_objects, stored_changes
from fleetform.app.answering.waits import Waits, consent_needed, version_of
from fleetform.app.fleet import Fleet
from fleetform.app.plan import stage_clusters, versions
from fleetform.app.scope import Scope
from fleetform.engine.plan.failure import is_from, ran_before
from fleetform.engine.plan.records import ClusterFacts, OwnerPlan, StageCount
from fleetform.engine.plan.rollouts import Rollout, StageTimes
from fleetform.model.answers.listed import ListedMetadata
from fleetform.model.answers.listed_rollouts import ListedRollout, RolloutIdentity
from fleetform.model.answers.planning import ConsentNeeded, RolloutAnswer, RolloutStage, StageClusters
from fleetform.model.kinds import API_VERSION
from fleetform.model.state import UNKNOWN, Enrolment, PluginState
from fleetform.syntax.times import time_text


def rollout_answers(fleet: Fleet, scope: Scope) -> list[RolloutAnswer]:
    """By organization and owner, the oldest first; of some clusters, those of owners that have plugins there."""
    waits = Waits(fleet)
    found = [
        _answer(fleet, waits, owner, rollout)
        for owner in fleet.plan.owners
        if scope.holds(owner.change.owner) and _is_on(fleet, owner, scope)
        for rollout in rollouts_of(fleet, owner)
    ]
    known = {each.change.owner for each in fleet.plan.owners}
    for ref, rollouts in sorted(fleet.state.rollouts.rollouts.items() if not scope.narrowed else ()):
        # Of owners that are gone.
        found += [_answer(fleet, waits, None, each) for each in rollouts if scope.holds(ref) and ref not in known]
    return sorted(found, key=lambda each: (each.organization, each.preset, each.created, each.name))


def _is_on(fleet: Fleet, owner: OwnerPlan, scope: Scope) -> bool:
    return not scope.narrowed or any(scope.holds_plugin(fleet, step.key) for step in owner.steps)


def list_rollouts(fleet: Fleet, scope: Scope) -> Iterator[ListedRollout]:
    for each in rollout_answers(fleet, scope):
        metadata = ListedMetadata(name=each.name, namespace=each.organization, creation_timestamp=each.created)
        spec = RolloutIdentity(change_id=each.change_id, preset=each.preset)
        yield ListedRollout(api_version=API_VERSION, kind="Rollout", metadata=metadata, spec=spec, status=each)


def rollouts_of(fleet: Fleet, owner: OwnerPlan) -> Iterator[Rollout]:
    """An owner's rollouts, the oldest first, each as it stands now: what time did counts, what would start does not."""
    after = {each.name: each for each in (owner.replaced, owner.rollout) if each is not None}
    stored = fleet.state.rollouts.rollouts.get(owner.change.owner, ())
    for each in stored:
        yield _standing(after.pop(each.name, each), each)
    for each in after.values():
        yield _standing(each, None)


def _standing(rollout: Rollout, stored: Rollout | None) -> Rollout:
    """A rollout without what this plan alone would start."""
    known = {each.name: each for each in stored.stages} if stored is not None else {}
    stages = tuple(
        structs.replace(each, started=known[each.name].started if each.name in known else None)
        for each in rollout.stages
    )
    started = stored.started if stored is not None else None
    changes = stored.changes if stored is not None else rollout.changes
    begins = started is None and rollout.started is not None
    if begins:
        stages = tuple(StageTimes(each.name) for each in rollout.stages)
    phase = "Pending" if begins and rollout.phase in ("Progressing", "Soaking") else rollout.phase
    return structs.replace(rollout, stages=stages, started=started, phase=phase, changes=changes)


def rollout_answer(fleet: Fleet, owner: OwnerPlan, rollout: Rollout) -> RolloutAnswer:
    return _answer(fleet, Waits(fleet), owner, rollout)


def rollout_standing(fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout) -> RolloutAnswer:
    """A rollout without an outlook, so that nothing in it is another only because time goes by, and with the objects
    that it changes as they were stored with it."""
    return _answer(fleet, None, owner, rollout)


def _answer(fleet: Fleet, waits: Waits | None, owner: OwnerPlan | None, rollout: Rollout) -> RolloutAnswer:
    counts: dict[str, StageCount] = {}
    if owner is not None and owner.rollout is not None and owner.rollout.name == rollout.name:
        counts = {each.name: each for each in owner.stages}
    starts = Counter(each.stage for each in owner.steps if each.is_start) if owner else Counter()
    # By the policy that the rollout has, so that stages stand in its order.
    known = {each.name: each for each in rollout.stages}
    every = [known.get(rule.name, StageTimes(rule.name)) for rule in rollout.policy.stages]
    failed = _failed(owner, rollout)
    if rollout.phase == "RollingBack" or _went_back(rollout):
        stages = [_stage_going_back(fleet, owner, rollout, times, failed[times.name]) for times in every]
    else:
        has_it = _still_has_it(fleet, owner, rollout) if not rollout.is_open and rollout.phase != "Succeeded" else {}
        stages = [
            _stage(waits, owner, rollout, times, counts.get(times.name), starts, failed[times.name], has_it)
            for times in every
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
        causes=rollout_causes(owner, rollout, fleet.state, fleet.plan.at) if owner is not None else [],
        changes=changed_objects(fleet.state, fleet.owner_changes, rollout.owner)
        if waits is not None and rollout.is_open
        else stored_changes(rollout),
        diagnostics=[],
    )


def _stage(
    waits: Waits | None,
    owner: OwnerPlan | None,
    rollout: Rollout,
    times: StageTimes,
    count: StageCount | None,
    starts: Counter[str | None],
    failed: int,
    has_it: Mapping[str | None, list[PluginState]],
) -> RolloutStage:
    """has_it are the plugins that still have what a rollout brought that ended before it was done."""
    consent: ConsentNeeded | None = None
    if owner is not None and count is not None and count.approvals_needed:
        consent = waits.consent(owner, rollout, count) if waits is not None else consent_needed(rollout, count)
    here = has_it.get(times.name, [])
    updated = times.total if times.done is not None else len(here)
    healthy = max(updated - failed, 0) if times.done is not None else sum(each.is_healthy for each in here)
    # Clusters that joined are not among those that the stage had at first.
    total = max(times.total, updated)
    over = StageClusters(total=total, updated=updated, healthy=healthy, failed=failed, unreachable=0, waiting=0)
    return RolloutStage(
        name=times.name,
        phase=_phase(rollout, times, count),
        clusters=stage_clusters(count, starts[count.name]) if count is not None else over,
        approvals=consent,
        soak_until=time_text(count.soaked_at) if count is not None and count.soaked_at is not None else None,
        started=time_text(times.started) if times.started is not None else None,
        done=time_text(times.done) if times.done is not None else None,
    )


def _still_has_it(fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout) -> Mapping[str | None, list[PluginState]]:
    """The plugins that have what a rollout brought, by stage. Their places may be in a later one by now, which has the
    same stages unless the policy is another."""
    found: dict[str | None, list[PluginState]] = {}
    for candidate in owner.change.candidates if owner is not None and rollout.started is not None else ():
        state = fleet.plan.world.states.get(candidate.key, UNKNOWN)
        attempt, admitted = state.attempt, state.admitted
        if attempt is None or admitted is None or attempt.back or attempt.rollout != rollout.name:
            continue
        if admitted.input_hash == attempt.input_hash:
            stage = state.enrolment.stage if state.enrolment is not None else candidate.stage
            found.setdefault(stage, []).append(state)
    return found


def _went_back(rollout: Rollout) -> bool:
    """A rollout that halted and does not go back stays open."""
    return rollout.phase == "Halted" and not rollout.is_open


def _stage_going_back(
    fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout, times: StageTimes, failed: int
) -> RolloutStage:
    """A stage whose clusters return: what was done is no longer. updated are those that still have what it brought."""
    here = [each for each in _places(fleet, owner, rollout) if each[2].stage == times.name]
    left = [each for each in here if is_from(rollout, each[1])]
    # What was installed by it has nothing to go back to, and stays.
    returning = [cluster for cluster, _, place in left if place.before is not None]
    silent = sum(cluster.silent_since is not None for cluster in returning)
    if returning or any(state.attempt is not None and state.attempt.back and state.in_flight for _, state, _ in here):
        phase = "RollingBack"
    elif times.started is None and not any(state.attempt is not None and state.attempt.back for _, state, _ in here):
        phase = "Pending"
    else:
        phase = "Halted" if left else "RolledBack"
    clusters = StageClusters(
        total=len(here) or times.total,
        updated=len(left),
        healthy=sum(state.is_healthy for _, state, _ in left),
        failed=failed,
        unreachable=silent,
        waiting=len(returning) - silent,
    )
    return RolloutStage(
        name=times.name,
        phase=phase,
        clusters=clusters,
        approvals=None,
        soak_until=None,
        started=time_text(times.started) if times.started is not None else None,
        done=None,
    )


def _places(
    fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout
) -> Iterator[tuple[ClusterFacts, PluginState, Enrolment]]:
    """What is stored of a rollout's members; of those that have a place in a later one nothing is."""
    for candidate in owner.change.candidates if owner is not None else ():
        state = fleet.plan.world.states.get(candidate.key, UNKNOWN)
        if state.enrolment is not None and state.enrolment.rollout == rollout.name:
            yield candidate.cluster, state, state.enrolment


def _failed(owner: OwnerPlan | None, rollout: Rollout) -> Counter[str | None]:
    """How many members failed in each stage, once it is over or goes back."""
    if owner is None or (rollout.is_open and rollout.phase != "RollingBack"):
        return Counter()
    places = [each.progress.enrolment for each in owner.steps if each.progress.failure]
    return Counter(each.stage for each in places if each is not None and each.rollout == rollout.name)


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
    """What clusters come from and go to: a version, several of them joined; None if none is known.

    Once it is over that is what it started with: its clusters may have places in a later one by now.
    """
    kept = versions(rollout.from_versions), versions(rollout.to_versions)
    if not rollout.is_open and rollout.to_versions:
        return ", ".join(kept[0]) or None, ", ".join(kept[1]) or None
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
        before = ran_before(rollout, state)
        runs.add(before.version if before is not None else None)
        wanted.add(version_of(fleet, candidate.key, target) if rollout.is_open else target.version)
    return ", ".join(versions(runs)) or None, ", ".join(versions(wanted)) or None
