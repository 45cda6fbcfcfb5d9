"""A state export as a document: what `--state` reads, and what is written after a request to a rollout.

What every part means stands in docs/reference/cli.md, State. Times are texts, secrets are never in it. Fields that say
nothing are left out, and one that nobody knows is an error: a typo must not lose what was stored.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class _Document(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A part of a state export."""


class StampDocument(_Document, frozen=True, kw_only=True):
    """When an object was created. place is where it was written, as references have it; nothing follows from it."""

    kind: str
    organization: str
    name: str
    created: str
    place: dict[str, str | int] | None = None


class ReadingDocument(_Document, frozen=True, kw_only=True):
    """How a value was read on a cluster; digest stands for a Secret's value. unknown: it has not been read yet."""

    of: str
    since: str
    namespace: str = ""
    digest: str = ""
    unknown: bool = False
    problem: str = ""
    do: str = ""


class ObservedDocument(_Document, frozen=True, kw_only=True):
    """What was seen on the cluster: values of downstream bindings and of outputs by name, null if there was nothing;
    how they were read, outputs as `output NAME`; and, in older exports, the inputHash that failed there last."""

    bindings: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    readings: dict[str, ReadingDocument] = {}
    failed: str | None = None


class PartsDocument(_Document, frozen=True, kw_only=True):
    """Hashes of what a state was made of beside its version."""

    values: str
    configs: str
    bindings: str


class OwnerDocument(_Document, frozen=True, kw_only=True):
    """A preset, or a Plugin made by hand."""

    kind: str
    organization: str
    name: str


class ReleaseDocument(_Document, frozen=True, kw_only=True):
    """A release on a cluster."""

    namespace: str
    name: str


class DeployedDocument(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A version of a definition that was brought to a cluster, and the hash of all that it was made of."""

    version: str | None = None
    definition: str | None = None
    input_hash: str | None = None
    parts: PartsDocument | None = None
    owner: OwnerDocument | None = None
    release: ReleaseDocument | None = None
    retain: bool = False


class AttemptDocument(_Document, frozen=True, kw_only=True):
    """What was started last: which hash, by which rollout, when, and how often it has failed."""

    input_hash: str
    rollout: str = ""
    started: str | None = None
    failures: int = 0
    timed_out: bool = False
    back: bool = False


class PlaceInRolloutDocument(_Document, frozen=True, kw_only=True):
    """A plugin's place in a rollout. stage is "" for a change that is not staged, null where no stage selects it.

    earlier is its place in the rollout before, if that was not finished.
    """

    name: str
    stage: str | None
    target: DeployedDocument
    before: DeployedDocument | None = None
    irreversible: bool = False
    joined: bool = False
    blocked: str = ""
    earlier: PlaceInRolloutDocument | None = None


class PluginDocument(_Document, frozen=True, kw_only=True):
    """What is known of one plugin. phase is what its last change came to, and since when."""

    organization: str
    cluster: str
    plugin: str
    admitted: DeployedDocument | None = None
    last_healthy: DeployedDocument | None = None
    observed: ObservedDocument | None = None
    phase: str | None = None
    since: str | None = None
    attempt: AttemptDocument | None = None
    rollout: PlaceInRolloutDocument | None = None
    render_failed: str | None = None
    render_failure: str = ""
    failure: str = ""
    drift: list[str] = []


class VersionDocument(_Document, frozen=True, kw_only=True):
    """What an earlier pass stamped on a version."""

    organization: str
    definition: str
    version: str
    announced_at: str | None = None
    ends_at: str | None = None
    digest: str | None = None


class RejectionDocument(_Document, frozen=True, kw_only=True):
    """A version that failed for an owner."""

    organization: str
    name: str
    version: str
    kind: str = "PluginPreset"
    content_hash: str | None = None


class PlacementDocument(_Document, frozen=True, kw_only=True):
    """The clusters that a placement had chosen."""

    organization: str
    name: str
    clusters: list[str]


class ClusterDocument(_Document, frozen=True, kw_only=True):
    """What was seen of a cluster: since when it does not answer, and what comes instead of an answer."""

    organization: str
    name: str
    silent_since: str
    because: str = ""


class StageDocument(_Document, frozen=True, kw_only=True):
    """A stage of a rollout: how many clusters it had at the start, and when it started and was done."""

    name: str
    total: int = 0
    started: str | None = None
    done: str | None = None


class ChangedObjectDocument(_Document, frozen=True, kw_only=True):
    """An object that a rollout's change is made of, and the options that it sets otherwise."""

    kind: str
    organization: str
    name: str
    change: Literal["added", "changed", "removed"]
    options: list[str] = []


class RolloutDocument(_Document, frozen=True, kw_only=True):
    """A rollout, with the policy that it started with."""

    name: str
    owner: OwnerDocument
    change_id: str
    policy: dict[str, Any]
    created: str
    stages: list[StageDocument] = []
    phase: str = "Pending"
    started: str | None = None
    ended: str | None = None
    queued: str | None = None
    skipped: list[str] = []
    paused: bool = False
    rejected: bool = False
    contents: str = ""
    note: str = ""
    number: int = 0
    from_versions: list[str] = []
    to_versions: list[str] = []
    changes: list[ChangedObjectDocument] = []


class ApprovalDocument(_Document, frozen=True, kw_only=True):
    """A person's consent to a stage, bound to rollout, change and policy."""

    organization: str
    rollout: str
    stage: str
    change_id: str
    policy: str
    user: str
    groups: list[str] = []
    comment: str = ""
    at: str | None = None
    also: list[str] = []


class AdmittedObjectsDocument(_Document, frozen=True, kw_only=True):
    """What an owner's plugins were last made of, what the rollout that runs brings, and what came before the last one
    that succeeded: hashes of objects."""

    owner: OwnerDocument
    objects: dict[str, str]
    upcoming: dict[str, str] | None = None
    earlier: dict[str, str] | None = None


class EmergencyDocument(_Document, frozen=True, kw_only=True):
    """An emergency that somebody declared."""

    reason: str
    expires: str
    approved_by: list[str] = []


class RequestDocument(_Document, frozen=True, kw_only=True):
    """What people asked of an owner beside its rollout."""

    owner: OwnerDocument
    emergency: EmergencyDocument | None = None
    supersede: str | None = None


class StateDocument(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A state export."""

    kind: str = "State"
    version: int = 1
    stamps: list[StampDocument]
    plugins: list[PluginDocument] = []
    announced: list[VersionDocument] = []
    rejected: list[RejectionDocument] = []
    placements: list[PlacementDocument] = []
    clusters: list[ClusterDocument] = []
    rollouts: list[RolloutDocument] = []
    approvals: list[ApprovalDocument] = []
    admitted_objects: list[AdmittedObjectsDocument] = []
    requests: list[RequestDocument] = []
