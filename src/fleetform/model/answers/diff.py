"""What diff answers."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, Json, ObjectReference
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.upgrades import AffectedValue, ChangelogEntry, OptionsOfUpgrade

ChangeAction = Literal["install", "upgrade", "downgrade", "reconfigure", "delete", "retain", "handover"]


class DiffSummary(AnswerRecord, frozen=True, kw_only=True):
    """Counts over all changes; unknown are the plugins whose secrets or catalogs are not at hand."""

    clusters: int
    plugins: int
    options: int
    installs: int
    upgrades: int
    downgrades: int
    deletes: int
    blocked: int
    unknown: int


class VersionChange(AnswerRecord, frozen=True, kw_only=True):
    """A plugin's version on both sides; null on a side that has none."""

    from_: str | None = field(name="from")
    to: str | None


class ChangedOption(AnswerRecord, frozen=True, kw_only=True):
    """An option's value on both sides, and the object that makes the difference."""

    path: str
    from_: Json = field(name="from")
    to: Json
    cause: ObjectReference | None


class ChangedVariable(AnswerRecord, frozen=True, kw_only=True):
    """A variable's value on both sides."""

    name: str
    from_: Json = field(name="from")
    to: Json


class ChangedConfig(AnswerRecord, frozen=True, kw_only=True):
    """A config that came, went, has other content or another position, with its hash on both sides."""

    group: str
    resource: str
    namespace: str
    name: str
    change: Literal["added", "removed", "changed", "moved"]
    from_: str | None = field(name="from")
    to: str | None


class PatchOperation(AnswerRecord, frozen=True, kw_only=True):
    """One operation of a JSON patch; was is the value before, if there was one."""

    op: str
    path: str
    value: Json | UnsetType = UNSET
    was: Json | UnsetType = UNSET


class ChangedManifest(AnswerRecord, frozen=True, kw_only=True):
    """A rendered object that comes, goes or changes; unified is the same as a difference of lines of YAML."""

    object: str
    patch: list[PatchOperation]
    unified: str


class ChangedPlugin(AnswerRecord, frozen=True, kw_only=True):
    """What a change does to one plugin. also names what else it is made of that differs."""

    organization: str
    cluster: str
    plugin: str
    preset: str | None
    definition: str
    action: ChangeAction
    version: VersionChange
    breaking: bool
    options: list[ChangedOption]
    variables: list[ChangedVariable]
    also: list[str]
    configs: list[ChangedConfig]
    blocked: list[ReportedGate]
    manifests: list[ChangedManifest]


class UnknownChange(AnswerRecord, frozen=True, kw_only=True):
    """A plugin that may change: the options and variables that cannot be compared; none of both if its definition is
    in a catalog that was not read."""

    organization: str
    cluster: str
    plugin: str
    options: list[str]
    variables: list[str]


class ClusterGroup(AnswerRecord, frozen=True, kw_only=True):
    """Clusters whose changes are the same, and how many changes each of them has."""

    clusters: list[str]
    changes: int


class DefinitionUpgrade(AnswerRecord, frozen=True, kw_only=True):
    """A span of versions that plugins pass, once for all of them."""

    definition: str
    from_: str | None = field(name="from")
    to: str
    plugins: int
    breaking: bool
    changelog: list[ChangelogEntry]
    options: OptionsOfUpgrade
    affected: list[AffectedValue]


class NotedOverride(ObjectReference, frozen=True, kw_only=True):
    """An override that is without effect or tied after the change; new says that the change made it so."""

    new: bool


class NotedOverrides(AnswerRecord, frozen=True, kw_only=True):
    """Overrides that reach no plugin, that others hide everywhere, and that tie with another."""

    dead: list[NotedOverride]
    shadowed: list[NotedOverride]
    ties: list[NotedOverride]


class ChangedOwner(AnswerRecord, frozen=True, kw_only=True):
    """A change of one preset, or of a Plugin made by hand, as plans, rollouts and approvals call it."""

    organization: str
    preset: str
    name: str
    change_id: str


class Diff(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Diff"):
    """What a change does to every cluster, plugin and option."""

    from_: str = field(name="from")
    to: str
    change_id: str
    rollouts: list[ChangedOwner]
    summary: DiffSummary
    changes: list[ChangedPlugin]
    unknown: list[UnknownChange]
    groups: list[ClusterGroup]
    changelog: list[ChangelogEntry]
    upgrades: list[DefinitionUpgrade]
    overrides: NotedOverrides
    diagnostics: list[Finding]
