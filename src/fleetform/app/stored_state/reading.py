"""A document as what is known: what it cannot be is said by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import msgspec
from msgspec import structs

from fleetform.app.errors import StateError
from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.engine.plan.records import Approval, Emergency
from fleetform.engine.plan.rollouts import ChangedObject, Policy, Rollout, RolloutPhase, StageTimes
from fleetform.engine.world.stored import AdmittedObjects, OwnerRequest, Stored
from fleetform.model.objects import Ref
from fleetform.model.state import (
    NOT_READ,
    NOTHING_OBSERVED,
    Attempt,
    Deployed,
    Enrolment,
    Installer,
    Parts,
    Phase,
    PluginState,
    PluginStates,
    Reading,
)
from fleetform.model.state_document import (
    ApprovalDocument,
    AttemptDocument,
    ChangedObjectDocument,
    DeployedDocument,
    ObservedDocument,
    OwnerDocument,
    PlaceInRolloutDocument,
    PluginDocument,
    ReadingDocument,
    RequestDocument,
    RolloutDocument,
    StateDocument,
)
from fleetform.ports.state import KnownState, KnownVersion, Rejection
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version

# When something happened of which a state does not say when.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class _Reading:
    """Reads the parts of one export; what cannot be read is an error that names it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self, problem: str) -> StateError:
        return StateError(f"{self.name} is damaged: {problem}", "export it again")

    def time(self, text: str) -> datetime:
        try:
            return parse_time(text)
        except ValueError as error:
            raise self.refuse(f"{text} is not a time") from error

    def maybe_time(self, text: str | None) -> datetime | None:
        return self.time(text) if text is not None else None

    def plugins(self, plugins: list[PluginDocument]) -> PluginStates:
        """What is known of each plugin, by cluster and name."""
        found: dict[Ref, dict[str, PluginState]] = {}
        for each in sorted(plugins, key=lambda each: (each.organization, each.cluster, each.plugin)):
            on_cluster = found.setdefault(Ref("Cluster", each.organization, each.cluster), {})
            on_cluster[each.plugin] = self._plugin(each)
        return found

    def _plugin(self, written: PluginDocument) -> PluginState:
        seen = written.observed or ObservedDocument()
        observed = {**seen.bindings, **{f"{OUTPUT}{output}": value for output, value in seen.outputs.items()}}
        admitted = _deployed(written.admitted)
        return PluginState(
            admitted,
            _deployed(written.last_healthy),
            observed or NOTHING_OBSERVED,
            self._attempt(written, admitted, seen.failed),
            _place(written.rollout) if written.rollout is not None else None,
            written.render_failed,
            written.failure,
            tuple(written.drift),
            {key: self._reading(each) for key, each in seen.readings.items()} or NOT_READ,
            written.render_failure,
        )

    def _reading(self, written: ReadingDocument) -> Reading:
        since = self.time(written.since)
        known, problem = not written.unknown, written.problem
        return Reading(written.of, since, written.namespace, written.digest, known, problem, written.do)

    def _attempt(self, written: PluginDocument, admitted: Deployed | None, failed: str | None) -> Attempt | None:
        """What was started last. Older exports have its phase alone, or the hash that failed."""
        since = self.maybe_time(written.since)
        if written.phase is not None and written.phase not in get_args(Phase):
            raise self.refuse(f"{written.phase} is not a phase; there are {', '.join(get_args(Phase))}")
        last = written.attempt
        if last is None and written.phase is None and failed is None:
            return None
        phase: Phase = "Failed" if written.phase is None else written.phase  # type: ignore[assignment]
        if last is None:
            hash_ = failed if phase == "Failed" and failed is not None else admitted.input_hash if admitted else None
            last = AttemptDocument(input_hash=hash_ or "", failures=int(phase == "Failed"))
        started = self.maybe_time(last.started) or since or LONG_AGO
        return Attempt(
            last.input_hash,
            last.rollout,
            started,
            since or started,
            phase,
            last.failures,
            last.timed_out,
            last.back,
        )

    def rollout(self, written: RolloutDocument) -> Rollout:
        try:
            policy = msgspec.convert(written.policy, Policy)
        except msgspec.ValidationError as error:
            raise self.refuse(f"the policy of rollout {written.name}: {error}") from error
        if written.phase not in get_args(RolloutPhase):
            raise self.refuse(f"{written.phase} is not a phase of a rollout")
        stages = {
            each.name: StageTimes(each.name, each.total, self.maybe_time(each.started), self.maybe_time(each.done))
            for each in written.stages
        }
        phase: RolloutPhase = written.phase  # type: ignore[assignment]
        return Rollout(
            written.name,
            _ref(written.owner),
            written.change_id,
            policy,
            self.time(written.created),
            tuple(stages.get(rule.name, StageTimes(rule.name)) for rule in policy.stages),
            phase,
            self.maybe_time(written.started),
            self.maybe_time(written.ended),
            written.queued,
            tuple(written.skipped),
            written.paused,
            written.rejected,
            written.contents,
            written.note,
            written.number,
            tuple(written.from_versions),
            tuple(written.to_versions),
            tuple(
                ChangedObject(**{**structs.asdict(each), "options": tuple(each.options)}) for each in written.changes
            ),
        )

    def stored(self, document: StateDocument) -> Stored:
        rollouts: dict[Ref, tuple[Rollout, ...]] = {}
        every = map(self.rollout, document.rollouts)
        for each in sorted(every, key=lambda each: (each.number, each.created, each.name)):
            rollouts[each.owner] = (*rollouts.get(each.owner, ()), each)
        return Stored(
            rollouts,
            tuple(self._approval(each) for each in document.approvals),
            {
                _ref(each.owner): AdmittedObjects(each.objects, each.upcoming, each.earlier)
                for each in document.admitted_objects
            },
            {_ref(each.owner): self._request(each) for each in document.requests},
            {Ref("Cluster", each.organization, each.name): self.time(each.silent_since) for each in document.clusters},
            {Ref("Cluster", each.organization, each.name): each.because for each in document.clusters if each.because},
        )

    def _approval(self, written: ApprovalDocument) -> Approval:
        return Approval(
            written.rollout,
            written.stage,
            written.change_id,
            written.policy,
            written.user,
            frozenset(written.groups),
            written.organization,
            written.comment,
            self.maybe_time(written.at),
            tuple(written.also),
        )

    def _request(self, written: RequestDocument) -> OwnerRequest:
        asked = written.emergency
        if asked is None:
            return OwnerRequest(None, written.supersede)
        emergency = Emergency(asked.reason, self.time(asked.expires), frozenset(asked.approved_by))
        return OwnerRequest(emergency, written.supersede)


def known_state(document: StateDocument, name: str) -> KnownState:
    """What an export says; name is how messages call it. StateError where it cannot be."""
    reading = _Reading(name)
    return KnownState(
        {Ref(each.kind, each.organization, each.name): each.created for each in document.stamps},
        reading.plugins(document.plugins),
        {
            (Ref("PluginDefinition", each.organization, each.definition), _version(each.version)): KnownVersion(
                reading.maybe_time(each.announced_at), reading.maybe_time(each.ends_at), each.digest
            )
            for each in document.announced
        },
        tuple(
            Rejection(Ref(each.kind, each.organization, each.name), _version(each.version), each.content_hash)
            for each in document.rejected
        ),
        {Ref("Placement", each.organization, each.name): each.clusters for each in document.placements},
        reading.stored(document),
    )


def _ref(owner: OwnerDocument) -> Ref:
    return Ref(owner.kind, owner.organization, owner.name)


def _place(written: PlaceInRolloutDocument) -> Enrolment:
    return Enrolment(
        written.name,
        written.stage,
        _deployed(written.target) or Deployed(None),
        _deployed(written.before),
        written.irreversible,
        written.joined,
        written.blocked,
        _place(written.earlier) if written.earlier is not None else None,
    )


def _deployed(written: DeployedDocument | None) -> Deployed | None:
    """What was brought to a cluster; a version that cannot be read is not known."""
    if written is None or written == DeployedDocument():
        return None
    try:
        version = str(parse_version(written.version)) if written.version is not None else None
    except VersionError:
        version = None
    parts = written.parts
    installer = None
    if written.owner is not None and written.release is not None:
        installer = Installer(_ref(written.owner), written.release.namespace, written.release.name, written.retain)
    return Deployed(
        version,
        written.definition,
        written.input_hash,
        Parts(parts.values, parts.configs, parts.bindings) if parts is not None else None,
        installer,
    )


def _version(text: str) -> str:
    """A version in its normal spelling; one that cannot be read fits none, and stays as it is."""
    try:
        return str(parse_version(text))
    except VersionError:
        return text


def _changed(written: ChangedObjectDocument) -> ChangedObject:
    return ChangedObject(written.kind, written.organization, written.name, written.change, tuple(written.options))
