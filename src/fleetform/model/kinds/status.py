"""What objects tell on an API server: `status`, written by Fleetform.

How lists merge is part of a CRD and cannot change later. Conditions are a map by type, so that others may add theirs.
All other lists are computed whole and in an order that means something: they are atomic.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from fleetform.model.kinds.base import Record, doc

# What tables and messages have room for, beside what an object may weigh.
MOST_NAMED = 100


def _atomic(text: str, **constraints: Any) -> Meta:
    return doc(text, extra_json_schema={"x-kubernetes-list-type": "atomic"}, **constraints)


def _by(key: str, text: str) -> Meta:
    return doc(text, extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})


State = Literal["UpToDate", "Waiting", "Blocked", "InFlight", "Failed", "Unreachable", "Paused", "Leaving", "NoEffect"]
ConditionStatus = Literal["True", "False", "Unknown"]
Hash = Annotated[str, doc("The hash of all that a state is made of.")]
Moment = Annotated[str, doc("An RFC 3339 time.")]
Number = Annotated[int, doc("How many.")]


class Condition(Record, frozen=True, kw_only=True):
    """One thing that holds or does not. Reasons are stable words; messages are for people and may change."""

    type: Annotated[str, doc("What it is about.")]
    status: Annotated[ConditionStatus, doc("Whether it holds.")]
    reason: Annotated[str, doc("Why, in one word.")]
    message: Annotated[str, doc("Why, and what to do.")] = ""
    last_transition_time: Annotated[Moment | None, doc("Since when status is what it is.")] = None
    observed_generation: Annotated[int | None, doc("The generation that this is about.")] = None


Conditions = Annotated[list[Condition], _by("type", "What holds and what does not.")]


class Status(Record, frozen=True, kw_only=True):
    """What every object tells: which generation was read, and whether anything is wrong with it."""

    observed_generation: Annotated[int | None, doc("The generation that this is about.")] = None
    conditions: Conditions = field(default_factory=list)


class PlaceInRollout(Record, frozen=True, kw_only=True):
    """A rollout, and the stage in it."""

    name: Annotated[str, doc("The rollout.")]
    stage: Annotated[str | None, doc("The stage.")] = None


class AppliedOverrideStatus(Record, frozen=True, kw_only=True):
    """An override that reaches the plugin: the paths it won, and those that others hide."""

    name: Annotated[str, doc("The PluginOverride.")]
    rank: Annotated[int, doc("How specific it is, from 1 to 4.")]
    won: Annotated[list[str], _atomic("Paths that have its value.")]
    lost: Annotated[list[str], _atomic("Paths that others hide.")]


class ConfigContent(Record, frozen=True, kw_only=True):
    """A config by name and content."""

    namespace: Annotated[str | None, doc("Its namespace.")] = None
    name: Annotated[str, doc("Its name.")]
    spec_hash: Annotated[str, doc("The hash of its content; empty if it does not exist.")]


class ConfigReference(Record, frozen=True, kw_only=True):
    """A config of the plugin, as Open Cluster Management reports them."""

    group: Annotated[str, doc("Its API group.")]
    resource: Annotated[str, doc("Its resource.")]
    namespace: Annotated[str | None, doc("Its namespace.")] = None
    name: Annotated[str, doc("Its name.")]
    last_observed_generation: Annotated[int, doc("The generation of it that was read.")]
    desired_config: Annotated[ConfigContent, doc("What the plugin should have.")]
    last_applied_config: Annotated[ConfigContent | None, doc("What it had when it was last up to date.")] = None


class HeldBy(Record, frozen=True, kw_only=True):
    """Something that keeps a plugin from its target."""

    gate: Annotated[str, doc("The gate, of a closed list.")]
    option: Annotated[str | None, doc("The option that it is about.")] = None
    message: Annotated[str, doc("Why.")]
    until: Annotated[Moment | None, doc("When it opens by itself.")] = None
    object: Annotated[str | None, doc("The object that it is about: Kind/namespace/name.")] = None
    do: Annotated[str | None, doc("What to do.")] = None


class PluginStatus(Status, frozen=True, kw_only=True):
    """What a plugin runs, what it should run, and what stands between the two."""

    definition: Annotated[str | None, doc("The definition.")] = None
    release_namespace: Annotated[str | None, doc("Where it is installed.")] = None
    release_name: Annotated[str | None, doc("As what it is installed.")] = None
    state: Annotated[State | None, doc("How it stands to what is wanted.")] = None
    running: Annotated[str | None, doc("The version that has arrived on the cluster.")] = None
    wanted: Annotated[str | None, doc("The version that is wanted.")] = None
    target: Annotated[Hash | None, doc("What inputs say now.")] = None
    admitted: Annotated[Hash | None, doc("What gates let through.")] = None
    last_healthy: Annotated[Hash | None, doc("What was healthy last.")] = None
    since: Annotated[Moment | None, doc("When the last start came to what it is now.")] = None
    waits_for: Annotated[str | None, doc("The gates that hold it, in one line.")] = None
    until: Annotated[Moment | None, doc("When the gate opens that opens last, if time opens all of them.")] = None
    rollout: Annotated[PlaceInRollout | None, doc("The rollout that moves it.")] = None
    rejected: Annotated[list[str], _atomic("Versions that failed and do not start again by themselves.")] = field(
        default_factory=list
    )
    blocked: Annotated[list[HeldBy], _atomic("What is wrong, and must be mended.")] = field(default_factory=list)
    waiting: Annotated[list[HeldBy], _atomic("What it waits for.")] = field(default_factory=list)
    failure: Annotated[str | None, doc("What the cluster said when it failed last.")] = None
    drift: Annotated[list[str], _atomic("What is not as it was delivered; the first few.")] = field(
        default_factory=list
    )
    applied_overrides: Annotated[list[AppliedOverrideStatus], _atomic("In order of application.")] = field(
        default_factory=list
    )
    config_references: Annotated[list[ConfigReference], _atomic("By type, in order of effect.")] = field(
        default_factory=list
    )


class AddOnStatus(Status, frozen=True, kw_only=True):
    """What Fleetform tells on a ManagedClusterAddOn of Open Cluster Management; the rest is for others to tell."""

    config_references: Annotated[list[ConfigReference], _atomic("By type, in order of effect.")] = field(
        default_factory=list
    )


class PresetPlugins(Record, frozen=True, kw_only=True):
    """A preset's plugins in numbers: updated have what is wanted, ready are those of them that are healthy."""

    total: Number
    updated: Number
    ready: Number
    waiting: Number
    blocked: Number
    failed: Number
    unreachable: Number


class ConflictStatus(Record, frozen=True, kw_only=True):
    """A cluster on which another owner keeps the release."""

    cluster: Annotated[str, doc("The cluster.")]
    with_: Annotated[str, doc("Who keeps it.")] = field(name="with")


class PluginPresetStatus(Status, frozen=True, kw_only=True):
    """What a preset's plugins have come to."""

    plugins: Annotated[PresetPlugins | None, doc("In numbers.")] = None
    versions: Annotated[dict[str, int], doc("How many clusters run each version.")] = field(default_factory=dict)
    rollout: Annotated[PlaceInRollout | None, doc("The rollout that is open.")] = None
    conflicts: Annotated[list[ConflictStatus], _atomic(f"At most {MOST_NAMED} of them.")] = field(default_factory=list)


class StageNumbers(Record, frozen=True, kw_only=True):
    """Clusters in numbers: updated were started, healthy are those of them that are well."""

    total: Number
    updated: Number
    healthy: Number
    failed: Number
    unreachable: Number
    waiting: Number


class ApprovalCount(Record, frozen=True, kw_only=True):
    """How many people must agree, and how many have."""

    need: Number
    have: Number


class RolloutStageStatus(Record, frozen=True, kw_only=True):
    """A stage of a rollout."""

    name: Annotated[str, doc("Its name.")]
    phase: Annotated[str, doc("How far it is.")]
    clusters: Annotated[StageNumbers, doc("In numbers.")]
    approvals: Annotated[ApprovalCount | None, doc("Who must agree first.")] = None
    soak_until: Annotated[Moment | None, doc("Until when it must stay healthy.")] = None
    started: Annotated[Moment | None, doc("When its first cluster was started.")] = None
    done: Annotated[Moment | None, doc("When it was done.")] = None


class NotableClusters(Record, frozen=True, kw_only=True):
    """Clusters that failed or wait for one and the same reason."""

    state: Annotated[State, doc("How they stand.")]
    gate: Annotated[str | None, doc("The gate that holds them.")] = None
    message: Annotated[str, doc("Why.")]
    until: Annotated[Moment | None, doc("When time changes it.")] = None
    clusters: Number
    names: Annotated[list[str], _atomic(f"Some of them; at most {MOST_NAMED} in the whole rollout.")]


class ChangedObjectStatus(Record, frozen=True, kw_only=True):
    """An object that a change is made of. Values are not told: some are secret."""

    kind: Annotated[str, doc("Its kind.")]
    namespace: Annotated[str, doc("Its namespace.")]
    name: Annotated[str, doc("Its name.")]
    change: Annotated[Literal["added", "changed", "removed"], doc("What became of it.")]
    options: Annotated[list[str], _atomic("The options that it sets otherwise.")] = field(default_factory=list)


class RolloutStatus(Status, frozen=True, kw_only=True):
    """How far a change has come: counts, times, and at most 100 clusters by name."""

    phase: Annotated[str | None, doc("How far it is.")] = None
    policy: Annotated[str | None, doc("The policy by which it moves.")] = None
    from_: Annotated[str | None, doc("The versions that clusters come from.")] = field(name="from", default=None)
    to: Annotated[str | None, doc("The versions that they go to.")] = None
    summary: Annotated[str | None, doc("What changes, where the version stays.")] = None
    changes: Annotated[list[ChangedObjectStatus], _atomic("The objects that are others; the first few.")] = field(
        default_factory=list
    )
    stage: Annotated[str | None, doc("The first stage that is not done.")] = None
    waits_for: Annotated[str | None, doc("What holds it there.")] = None
    clusters: Annotated[StageNumbers | None, doc("Of all stages together.")] = None
    stages: Annotated[list[RolloutStageStatus], _atomic("In order.")] = field(default_factory=list)
    notable: Annotated[list[NotableClusters], _atomic("What a person should look at, the worst first.")] = field(
        default_factory=list
    )
    queued: Annotated[str | None, doc("The newer change that waits behind it.")] = None
    skipped: Annotated[list[str], _atomic("Changes that waited behind it and were overtaken; the last few.")] = field(
        default_factory=list
    )
    rejected: Annotated[bool, doc("The change does not start again by itself.")] = False
    note: Annotated[str | None, doc("Who last asked for something, and why.")] = None
    created: Annotated[Moment | None, doc("When the change was first seen.")] = None
    started: Annotated[Moment | None, doc("When its first cluster was started.")] = None
    ended: Annotated[Moment | None, doc("When it ended.")] = None


class RevisionStatus(Status, frozen=True, kw_only=True):
    """Who uses a revision, and when it came and goes."""

    announced_at: Annotated[Moment | None, doc("When it was first seen.")] = None
    ends_at: Annotated[Moment | None, doc("When its support ends.")] = None
    plugins: Annotated[int | None, doc("How many plugins have it.")] = None
    offered: Annotated[bool | None, doc("Its definition still offers it.")] = None
    pinned: Annotated[bool | None, doc("Somebody pins it.")] = None


class OverrideStatus(Status, frozen=True, kw_only=True):
    """What an override does."""

    rank: Annotated[int | None, doc("How specific it is, from 1 to 4.")] = None
    plugins: Annotated[int | None, doc("How many plugins it reaches.")] = None
    findings: Annotated[str | None, doc("What is odd about it: expired, dead, shadowed, redundant, tie.")] = None


class ClusterStatus(Status, frozen=True, kw_only=True):
    """What a cluster has."""

    plugins: Annotated[int | None, doc("How many plugins it has.")] = None
    blocked: Annotated[int | None, doc("How many of them are blocked.")] = None


class DefinitionStatus(Status, frozen=True, kw_only=True):
    """Who uses a definition."""

    plugins: Annotated[int | None, doc("How many plugins have this version.")] = None


class CatalogStatus(Status, frozen=True, kw_only=True):
    """What a catalog offers."""

    definitions: Annotated[int | None, doc("How many definitions it offers.")] = None


class PlacementStatus(Status, frozen=True, kw_only=True):
    """What a placement chooses."""

    number_of_selected_clusters: Annotated[int | None, doc("How many clusters it chooses.")] = None
