"""What get answers of clusters, definitions, presets, overrides, catalogs and placements."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, JsonMap, ObjectReference
from fleetform.model.answers.listed import Listed, ListedObject


class ClusterStatus(AnswerRecord, frozen=True, kw_only=True):
    """How many plugins a cluster has, and how many of them are blocked."""

    plugins: int
    blocked: int


class ListedCluster(ListedObject, frozen=True, kw_only=True):
    """A cluster."""

    status: ClusterStatus


class DefinitionStatus(AnswerRecord, frozen=True, kw_only=True):
    """How many plugins have this version."""

    plugins: int


class ListedDefinition(ListedObject, frozen=True, kw_only=True):
    """A version of a definition."""

    status: DefinitionStatus


class PresetPlugins(AnswerRecord, frozen=True, kw_only=True):
    """Counts of a preset's plugins. updated have what is wanted, and ready are those of them that are healthy.

    The others wait, are blocked, have failed or cannot be reached; what is in flight is among the updated.
    """

    total: int
    updated: int
    ready: int
    waiting: int
    blocked: int
    failed: int
    unreachable: int


class PresetProgress(AnswerRecord, frozen=True, kw_only=True):
    """How far a preset's plugins have come, by the input hash that is wanted now."""

    total: int
    updating: int
    failed: int
    succeeded: int


class PresetConflict(AnswerRecord, frozen=True, kw_only=True):
    """A cluster on which another owner keeps the release."""

    cluster: str
    with_: str = field(name="with")


class PresetStatus(AnswerRecord, frozen=True, kw_only=True):
    """What a preset installs: counts, versions, progress, and conflicts with other owners."""

    plugins: PresetPlugins
    versions: dict[str, int]
    summary: PresetProgress | UnsetType = UNSET
    conflicts: list[PresetConflict] | UnsetType = UNSET


class ListedPreset(ListedObject, frozen=True, kw_only=True):
    """A preset."""

    status: PresetStatus


class ReachedPlugin(AnswerRecord, frozen=True, kw_only=True):
    """A plugin that an override reaches."""

    organization: str
    cluster: str
    name: str


class OverrideFinding(AnswerRecord, frozen=True, kw_only=True):
    """Something odd about an override: it expired, reaches no plugin, is hidden everywhere, sets what is there already,
    or ties with another."""

    finding: Literal["expired", "dead", "shadowed", "redundant", "tie"]
    at: str | UnsetType | None = UNSET
    with_: ObjectReference | UnsetType = field(name="with", default=UNSET)


class OverrideStatus(AnswerRecord, frozen=True, kw_only=True):
    """How specific an override is, and which plugins it reaches."""

    rank: int
    plugins: list[ReachedPlugin]
    findings: list[OverrideFinding]


class ListedOverride(ListedObject, frozen=True, kw_only=True):
    """An override."""

    status: OverrideStatus


class CatalogSourceStatus(AnswerRecord, frozen=True, kw_only=True):
    """What is known of one source of a catalog: how many versions it holds, as of when, and what went wrong."""

    source: str
    revision: str | None
    versions: int
    gone: int
    read_at: str | None
    failed_since: str | None
    error: str | None
    next_look_at: str | None
    problems: list[str]
    changed: list[str]


class CatalogStatus(AnswerRecord, frozen=True, kw_only=True):
    """How many definitions a catalog offers, and what is known of its sources."""

    definitions: int
    sources: list[CatalogSourceStatus]


class ListedCatalog(ListedObject, frozen=True, kw_only=True):
    """A catalog."""

    status: CatalogStatus


class DecisionGroupStatus(AnswerRecord, frozen=True, kw_only=True):
    """A group of the clusters that a placement chooses."""

    decision_group_index: int
    decision_group_name: str
    clusters: list[str]


class NotSelectedClusters(AnswerRecord, frozen=True, kw_only=True):
    """Clusters that a placement does not choose, for one reason."""

    reason: str
    clusters: list[str]


class PlacementStatus(AnswerRecord, frozen=True, kw_only=True):
    """What a placement chooses, and when time alone may change that."""

    number_of_selected_clusters: int
    decision_groups: list[DecisionGroupStatus]
    not_selected: list[NotSelectedClusters]
    look_again_at: str | None


class ListedPlacement(ListedObject, frozen=True, kw_only=True):
    """A placement."""

    status: PlacementStatus


class RevisionSpec(AnswerRecord, frozen=True, kw_only=True):
    """A version of a definition as it never changes; source holds the digest of what it renders."""

    number: int
    version: str
    content_hash: str
    options: list[JsonMap]
    source: JsonMap | None


class RevisionStatus(AnswerRecord, frozen=True, kw_only=True):
    """Who uses a revision, when it came and goes, and whether it may be pruned."""

    announced_at: str | None
    ends_at: str | None
    plugins: int
    pinned: bool
    offered: bool
    prunable: bool


class ListedRevision(Listed, frozen=True, kw_only=True):
    """A revision of a definition."""

    spec: RevisionSpec
    status: RevisionStatus
