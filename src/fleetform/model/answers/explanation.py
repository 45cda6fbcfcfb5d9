"""What explain answers."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, Json, JsonMap, ObjectReference
from fleetform.model.answers.configs import HiddenNamedConfig, NamedConfig
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.options import AppliedOverride, ExplainedOption, SkippedItem
from fleetform.model.answers.upgrades import AffectedValue, ChangelogEntry, OptionsOfUpgrade
from fleetform.model.results.bindings import Section
from fleetform.model.results.diagnostics import Place


class TargetState(AnswerRecord, frozen=True, kw_only=True):
    """What the input says a plugin should be now; inputHash is null if a part of it is not known."""

    version: str | None
    input_hash: str | None


class AdmittedState(AnswerRecord, frozen=True, kw_only=True):
    """What a state says was admitted last; what it does not say is left out."""

    version: str | UnsetType = UNSET
    definition: str | UnsetType = UNSET
    input_hash: str | UnsetType = UNSET


class WantedVersion(AnswerRecord, frozen=True, kw_only=True):
    """The version that a plugin should have once nothing holds it back, and the range that asks for it."""

    version: str | None
    range: str | None
    forced: bool


class UpgradeAhead(AnswerRecord, frozen=True, kw_only=True):
    """The upgrade that a plugin has before it, with its times.

    What it brings is left out if the revision that runs is not known.
    """

    from_: str = field(name="from")
    to: str
    announced_at: str
    not_before: str
    grace_until: str | None
    forced_at: str | None
    changelog: list[ChangelogEntry] | UnsetType = UNSET
    options: OptionsOfUpgrade | UnsetType = UNSET
    affected: list[AffectedValue] | UnsetType = UNSET


class AwaitedPlugin(AnswerRecord, frozen=True, kw_only=True):
    """A definition whose outputs a plugin reads, and the plugin on its cluster that offers them."""

    definition: str
    plugin: str | None


class FieldRead(AnswerRecord, frozen=True, kw_only=True):
    """A field that is read on a cluster. since: from when on it has been what it is; null if it has not been read.

    problem is why it cannot be read now: what was read before counts until it can.
    """

    cluster: str
    kind: str
    namespace: str
    name: str
    path: str
    since: str | None
    problem: str | UnsetType = UNSET


class ExplainedBinding(AnswerRecord, frozen=True, kw_only=True):
    """A variable's value on one plugin, the object it was read from, and the place of its binding.

    problem and do are there if it cannot be resolved; its value is then null. read is there if it is a field on the
    cluster.
    """

    name: str
    value: Json
    from_: ObjectReference = field(name="from")
    resolved: str
    section: Section
    place: Place
    problem: str | UnsetType = UNSET
    do: str | UnsetType = UNSET
    read: FieldRead | UnsetType = UNSET


class FieldCause(AnswerRecord, frozen=True, kw_only=True):
    """A value that a rendered field depends on: it is passed there, or decides what is. set: it has a value here."""

    path: str
    how: Literal["passed", "decides"]
    set: bool


class FieldChange(AnswerRecord, frozen=True, kw_only=True):
    """The transform, or the patch by its number, that set a rendered field, and where it is written."""

    what: Literal["transform", "patch"]
    name: str
    object: ObjectReference


class ExplainedField(AnswerRecord, frozen=True, kw_only=True):
    """A field of a rendered object and the values it depends on.

    untold are values of which that is not known. unsteady: the chart comes out otherwise each time. release names what
    of the release the field is made of, if no option makes it. changed_by is there if a transform or a patch set the
    field after the render.
    """

    object: str
    path: str
    value: Json
    causes: list[FieldCause]
    untold: list[str]
    unsteady: bool
    release: list[str]
    changed_by: FieldChange | UnsetType = UNSET


class Explanation(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Explanation"):
    """What one plugin on one cluster gets, and why. manifest is there if a rendered field was asked about."""

    plugin: str
    organization: str
    cluster: str
    definition: str
    target: TargetState
    admitted: AdmittedState | None
    applied_overrides: list[AppliedOverride]
    values: JsonMap
    options: list[ExplainedOption]
    skipped: list[SkippedItem]
    running: str | None
    wanted: WantedVersion
    upgrade: UpgradeAhead | None
    blocked: list[ReportedGate]
    waiting: list[ReportedGate]
    config_mode: str
    configs: list[NamedConfig]
    configs_hidden: list[HiddenNamedConfig]
    waits_for: list[AwaitedPlugin]
    bindings: list[ExplainedBinding]
    diagnostics: list[Finding]
    manifest: ExplainedField | UnsetType = UNSET


class PlacementChoice(AnswerRecord, frozen=True, kw_only=True):
    """Whether a placement chooses a cluster; reason says why not."""

    cluster: str
    chosen: bool
    decision_group: int | None
    reason: str | None


class PlacementExplanation(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="PlacementExplanation"):
    """Which clusters a placement chooses, and why others are not among them."""

    placement: ObjectReference
    items: list[PlacementChoice]
    diagnostics: list[Finding]


class OptionGroup(AnswerRecord, frozen=True, kw_only=True):
    """Clusters on which an option has one value, for one reason; the versions that run there."""

    clusters: list[str]
    versions: list[str]
    option: ExplainedOption


class OptionEverywhere(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="OptionEverywhere"):
    """One option of a preset over its clusters. without are those whose version does not declare it."""

    name: str
    option: str
    plugins: int
    groups: list[OptionGroup]
    without: list[str]
    diagnostics: list[Finding] = field(default_factory=list)
