"""What get answers of plugins, and of add-ons as Open Cluster Management writes them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, Json, JsonMap, ObjectReference
from fleetform.model.answers.configs import ConfigReferenceStatus
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.listed import Condition, Listed
from fleetform.model.answers.options import AppliedOverride
from fleetform.model.answers.planning import PluginPhase


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
    """What tables show of a plugin. blocked has the names of its gates, each once; conditions the types of those that
    say that something is amiss with what was delivered."""

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
    conditions: list[str] = field(default_factory=list)


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
