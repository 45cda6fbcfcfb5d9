"""What is known as a document, sorted; reading it again gives the same."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

import msgspec
from msgspec import structs

from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.engine.plan.records import Approval
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.world.hashes import is_known
from fleetform.engine.world.stored import OwnerRequest
from fleetform.model.objects import Ref
from fleetform.model.state import (
    Attempt,
    Deployed,
    Enrolment,
    PluginState,
    Reading,
)
from fleetform.model.state_document import (
    AdmittedObjectsDocument,
    ApprovalDocument,
    AttemptDocument,
    ChangedObjectDocument,
    ClusterDocument,
    DeployedDocument,
    EmergencyDocument,
    ObservedDocument,
    OwnerDocument,
    PartsDocument,
    PlaceInRolloutDocument,
    PlacementDocument,
    PluginDocument,
    ReadingDocument,
    RejectionDocument,
    ReleaseDocument,
    RequestDocument,
    RolloutDocument,
    StageDocument,
    StampDocument,
    StateDocument,
    VersionDocument,
)
from fleetform.ports.state import KnownState
from fleetform.syntax.times import time_text


def state_document(known: KnownState) -> StateDocument:
    """What is known as an export."""
    rollouts = known.rollouts
    plugins = [
        plugin_document(cluster, name, state)
        for cluster, on_cluster in sorted(known.plugins.items())
        for name, state in sorted(on_cluster.items())
    ]
    return StateDocument(
        stamps=[
            StampDocument(kind=ref.kind, organization=ref.organization, name=ref.name, created=created)
            for ref, created in sorted(known.stamps.items())
        ],
        plugins=plugins,
        announced=[
            VersionDocument(
                organization=ref.organization,
                definition=ref.name,
                version=version,
                announced_at=_text(each.announced),
                ends_at=_text(each.ends),
                digest=each.digest,
            )
            for (ref, version), each in sorted(known.versions.items(), key=lambda pair: pair[0])
        ],
        rejected=[
            RejectionDocument(
                organization=each.owner.organization,
                name=each.owner.name,
                version=each.version,
                kind=each.owner.kind,
                content_hash=each.content,
            )
            for each in sorted(known.rejected, key=lambda each: (each.owner, each.version))
        ],
        placements=[
            PlacementDocument(organization=ref.organization, name=ref.name, clusters=sorted(clusters))
            for ref, clusters in sorted(known.placements.items())
        ],
        clusters=[
            ClusterDocument(
                organization=ref.organization,
                name=ref.name,
                silent_since=time_text(since),
                because=rollouts.silent_because.get(ref, ""),
            )
            for ref, since in sorted(rollouts.silent_since.items())
        ],
        rollouts=[_rollout_document(each) for _, of_owner in sorted(rollouts.rollouts.items()) for each in of_owner],
        approvals=[_approval_document(each) for each in rollouts.approvals],
        admitted_objects=[
            AdmittedObjectsDocument(
                owner=_owner_document(ref),
                objects=dict(each.objects),
                upcoming=dict(each.upcoming) if each.upcoming is not None else None,
                earlier=dict(each.earlier) if each.earlier is not None else None,
            )
            for ref, each in sorted(rollouts.admitted.items())
        ],
        requests=[_request_document(ref, each) for ref, each in sorted(rollouts.requests.items())],
    )


def plugin_document(cluster: Ref, name: str, state: PluginState) -> PluginDocument:
    attempt, place = state.attempt, state.enrolment
    return PluginDocument(
        organization=cluster.organization,
        cluster=cluster.name,
        plugin=name,
        admitted=_deployed_document(state.admitted),
        last_healthy=_deployed_document(state.last_healthy),
        observed=_observed_document(state) if state.observed or state.readings else None,
        phase=attempt.phase if attempt is not None else None,
        since=_text(attempt.since) if attempt is not None else None,
        attempt=_attempt_document(attempt) if attempt is not None else None,
        rollout=_place_document(place) if place is not None else None,
        render_failed=state.render_failed,
        render_failure=state.render_failure,
        failure=state.failure,
        drift=list(state.drift),
    )


def _observed_document(state: PluginState) -> ObservedDocument:
    return ObservedDocument(
        bindings={key: value for key, value in state.observed.items() if not key.startswith(OUTPUT)},
        outputs={key.removeprefix(OUTPUT): value for key, value in state.observed.items() if key.startswith(OUTPUT)},
        readings={key: _reading_document(each) for key, each in state.readings.items()},
    )


def _reading_document(reading: Reading) -> ReadingDocument:
    return ReadingDocument(
        of=reading.of,
        since=time_text(reading.since),
        namespace=reading.namespace,
        digest=reading.digest,
        unknown=not reading.is_known,
        problem=reading.problem,
        do=reading.do,
    )


def _attempt_document(attempt: Attempt) -> AttemptDocument:
    return AttemptDocument(
        input_hash=attempt.input_hash,
        rollout=attempt.rollout,
        started=_text(attempt.started),
        failures=attempt.failures,
        timed_out=attempt.timed_out,
        back=attempt.back,
    )


def _place_document(place: Enrolment) -> PlaceInRolloutDocument:
    return PlaceInRolloutDocument(
        name=place.rollout,
        stage=place.stage,
        target=_deployed_document(place.target) or DeployedDocument(),
        before=_deployed_document(place.before),
        irreversible=place.irreversible,
        joined=place.joined,
        blocked=place.blocked,
        earlier=_place_document(place.earlier) if place.earlier is not None else None,
    )


# Many plugins are at, come from and go to one and the same.
@lru_cache(1024)
def _deployed_document(deployed: Deployed | None) -> DeployedDocument | None:
    if deployed is None:
        return None
    parts, by = deployed.parts, deployed.installer
    return DeployedDocument(
        version=deployed.version,
        definition=deployed.definition,
        input_hash=deployed.input_hash if is_known(deployed.input_hash) else None,
        parts=PartsDocument(**parts._asdict()) if parts is not None else None,
        owner=_owner_document(by.owner) if by is not None else None,
        release=ReleaseDocument(namespace=by.release_namespace, name=by.release_name) if by is not None else None,
        retain=by.retain if by is not None else False,
    )


def _rollout_document(rollout: Rollout) -> RolloutDocument:
    stages = [
        StageDocument(name=each.name, total=each.total, started=_text(each.started), done=_text(each.done))
        for each in rollout.stages
    ]
    return RolloutDocument(
        name=rollout.name,
        owner=_owner_document(rollout.owner),
        change_id=rollout.change_id,
        policy=msgspec.to_builtins(rollout.policy, order="deterministic"),
        created=time_text(rollout.created),
        stages=stages,
        phase=rollout.phase,
        started=_text(rollout.started),
        ended=_text(rollout.ended),
        queued=rollout.queued,
        skipped=list(rollout.skipped),
        paused=rollout.paused,
        rejected=rollout.rejected,
        contents=rollout.contents,
        note=rollout.note,
        number=rollout.number,
        from_versions=list(rollout.from_versions),
        to_versions=list(rollout.to_versions),
        changes=[
            ChangedObjectDocument(**{**structs.asdict(each), "options": list(each.options)}) for each in rollout.changes
        ],
    )


def _approval_document(approval: Approval) -> ApprovalDocument:
    return ApprovalDocument(
        organization=approval.organization,
        rollout=approval.rollout,
        stage=approval.stage,
        change_id=approval.change_id,
        policy=approval.policy,
        user=approval.user,
        groups=sorted(approval.groups),
        comment=approval.comment,
        at=_text(approval.at),
        also=list(approval.also),
    )


def _request_document(owner: Ref, request: OwnerRequest) -> RequestDocument:
    asked = request.emergency
    emergency = None
    if asked is not None:
        people = sorted(asked.approved_by)
        emergency = EmergencyDocument(reason=asked.reason, expires=time_text(asked.expires), approved_by=people)
    return RequestDocument(owner=_owner_document(owner), emergency=emergency, supersede=request.supersede)


def _owner_document(ref: Ref) -> OwnerDocument:
    return OwnerDocument(kind=ref.kind, organization=ref.organization, name=ref.name)


def _text(time: datetime | None) -> str | None:
    return time_text(time) if time is not None else None
