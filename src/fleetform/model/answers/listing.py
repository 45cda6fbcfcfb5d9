"""What get answers: objects in the native shape, each with what follows from it."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, Json, JsonMap, ObjectReference
from fleetform.model.answers.configs import ConfigReferenceStatus
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.options import AppliedOverride
from fleetform.model.answers.planning import PluginPhase, RolloutAnswer


class ListedMetadata(AnswerRecord, frozen=True, kw_only=True):
    """An object's name and namespace, and what people wrote beside them."""

    name: str
    namespace: str
    labels: dict[str, str] | UnsetType = UNSET
    annotations: dict[str, str] | UnsetType = UNSET
    creation_timestamp: str | UnsetType = UNSET


class Listed(AnswerRecord, frozen=True, kw_only=True):
    """What all objects of a listing have."""

    api_version: str
    kind: str
    metadata: ListedMetadata


class ListedObject(Listed, frozen=True, kw_only=True):
    """An object that nothing follows from, such as a policy; in its spec secrets are masked."""

    spec: JsonMap


class Condition(AnswerRecord, frozen=True, kw_only=True):
    """A condition, as Kubernetes has them."""

    type: str
    status: Literal["True", "False"]
    reason: str
    message: str


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


class DefinitionReference(AnswerRecord, frozen=True, kw_only=True):
    """A definition by name, and the version that a plugin has of it."""

    name: str
    version: str | UnsetType = UNSET


class SecretKeyReference(AnswerRecord, frozen=True, kw_only=True):
    """A key of a Secret."""

    name: str
    key: str


class SecretValueSource(AnswerRecord, frozen=True, kw_only=True):
    """Where a secret value comes from."""

    secret: SecretKeyReference


class EffectiveValue(AnswerRecord, frozen=True, kw_only=True):
    """An option's value on a plugin, or where it comes from if it is a secret."""

    name: str
    value: Json | UnsetType = UNSET
    value_from: SecretValueSource | UnsetType = UNSET


class PresetReference(AnswerRecord, frozen=True, kw_only=True):
    """A preset by name."""

    name: str


class ListedPluginSpec(AnswerRecord, frozen=True, kw_only=True):
    """A plugin as it would be written by hand: its definition, its release and all of its values."""

    plugin_definition: DefinitionReference
    cluster_name: str
    release_name: str
    release_namespace: str
    option_values: list[EffectiveValue]
    preset_ref: PresetReference | UnsetType = UNSET


class PluginStatus(AnswerRecord, frozen=True, kw_only=True):
    """What a plugin gets, what runs, what is wanted, and what stands between the two."""

    version: str | None
    input_hash: str | None
    values: JsonMap
    applied_overrides: list[AppliedOverride]
    config_references: list[ConfigReferenceStatus]
    running: str | None
    wanted: str | None
    blocked: list[ReportedGate]
    waiting: list[ReportedGate]
    conditions: list[Condition]
    owner: ObjectReference
    state: PluginPhase | None
    rollout: str | None
    stage: str | None


class ListedPlugin(Listed, frozen=True, kw_only=True):
    """A plugin."""

    spec: ListedPluginSpec
    status: PluginStatus


class PluginRow(Listed, frozen=True, kw_only=True):
    """What tables show of a plugin. blocked has the names of its gates, each once."""

    cluster: str
    definition: str
    version: str | None
    release_name: str
    release_namespace: str
    owner_kind: str
    owner_name: str
    applied_overrides: list[AppliedOverride]
    blocked: list[str]
    state: PluginPhase | None = None


class AddonConfig(AnswerRecord, frozen=True, kw_only=True):
    """A config that an add-on names itself."""

    group: str
    resource: str
    namespace: str | UnsetType = UNSET
    name: str


class AddonSpec(AnswerRecord, frozen=True, kw_only=True):
    """An add-on as Open Cluster Management writes it."""

    install_namespace: str
    configs: list[AddonConfig] | UnsetType = UNSET


class AddonStatus(AnswerRecord, frozen=True, kw_only=True):
    """The configs that an add-on has, and whether they are all there."""

    config_references: list[ConfigReferenceStatus]
    conditions: list[Condition]


class ListedAddon(Listed, frozen=True, kw_only=True):
    """An add-on of Open Cluster Management."""

    spec: AddonSpec
    status: AddonStatus


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


class RolloutIdentity(AnswerRecord, frozen=True, kw_only=True):
    """What a rollout brings, to whose plugins."""

    change_id: str
    preset: str


class ListedRollout(Listed, frozen=True, kw_only=True):
    """A rollout."""

    spec: RolloutIdentity
    status: RolloutAnswer


class WindowOpening(AnswerRecord, frozen=True, kw_only=True):
    """A window on one clock: whether it is open now, until when, and when it opens next."""

    zone: str
    open: bool
    until: str | None
    opens_at: str | None


class WindowStatus(AnswerRecord, frozen=True, kw_only=True):
    """A window on the clocks of its clusters, how many those are, and who names it.

    findings: it never opens again, or opens less than once in 7 days; or it cannot be read.
    """

    clusters: int
    named_by: list[str]
    openings: list[WindowOpening]
    findings: list[Literal["never-opens", "rare", "unreadable"]]


class ListedWindow(ListedObject, frozen=True, kw_only=True):
    """An update window or a freeze."""

    status: WindowStatus


class PolicyStage(AnswerRecord, frozen=True, kw_only=True):
    """A stage of a policy, and how many clusters belong to it."""

    name: str
    clusters: int


class PolicyStatus(AnswerRecord, frozen=True, kw_only=True):
    """Whose changes move by a policy, and which clusters are in which stage; unstaged are in none."""

    presets: list[str]
    stages: list[PolicyStage]
    unstaged: list[str]


class ListedPolicy(ListedObject, frozen=True, kw_only=True):
    """A rollout policy."""

    status: PolicyStatus


class Listing(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="List"):
    """The objects of a kind, sorted."""

    items: list[Listed]
    diagnostics: list[Finding]


# What each kind of listing holds, by its plural.
LISTED: dict[str, tuple[type[Listed], ...]] = {
    "addons": (ListedAddon,),
    "catalogs": (ListedCatalog,),
    "clusters": (ListedCluster,),
    "definitions": (ListedDefinition,),
    "organizations": (ListedObject,),
    "overrides": (ListedOverride,),
    "placements": (ListedPlacement,),
    "plugins": (ListedPlugin, PluginRow),
    "policies": (ListedPolicy, ListedObject),
    "presets": (ListedPreset,),
    "revisions": (ListedRevision,),
    "rollouts": (ListedRollout,),
    "windows": (ListedWindow,),
}
