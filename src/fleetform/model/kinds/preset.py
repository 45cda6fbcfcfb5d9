"""What should run where: presets, plugins, overrides."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from fleetform.model.kinds.base import (
    ClusterSelectors,
    Delivery,
    Name,
    NameRef,
    OptionValue,
    OptionValues,
    Record,
    ReleaseName,
    Text,
    Time,
    ValueFrom,
    doc,
)
from fleetform.model.kinds.definition import ConfigMode, ObjectFieldRef, Patch, Transform
from fleetform.model.kinds.lifecycle import RolloutPolicySpec


class DefinitionRef(Record, frozen=True):
    """Which definition, and which version of it."""

    name: Annotated[Name, doc("The definition's name.")]
    kind: Annotated[
        Literal["PluginDefinition", "ClusterPluginDefinition"] | None,
        doc("ClusterPluginDefinition: the platform's, even if the organization has its own."),
    ] = None
    version: Annotated[str | None, doc("An exact version or a range; absent: the newest stable one.")] = None


class ConfigRef(Record, frozen=True):
    """A config object."""

    group: Annotated[str, doc("Its API group; empty for core.")]
    resource: Annotated[str, doc("Its plural resource name.")]
    name: Annotated[Name, doc("Its name.")]
    namespace: Annotated[Name | None, doc("Its namespace.")] = None


class PluginOutputRef(Record, frozen=True):
    """An output of another plugin on the same cluster."""

    definition: Annotated[Name, doc("The other plugin's definition.")]
    output: Annotated[str, doc("The output.")]


class ClusterFieldRef(Record, frozen=True):
    """A field of the cluster's own object."""

    path: Annotated[str, doc("The field.")]


class Binding(Record, frozen=True):
    """A variable and where its value comes from: exactly one source."""

    name: Annotated[str, doc("The variable's name, referred to as $(NAME).", min_length=1)]
    value: Annotated[Any, doc("A value; it may refer to other variables.")] = msgspec.UNSET
    object_field_ref: Annotated[ObjectFieldRef | None, doc("A field of an object.")] = None
    cluster_field_ref: Annotated[ClusterFieldRef | None, doc("A field of the cluster.")] = None
    plugin_output_ref: Annotated[PluginOutputRef | None, doc("An output of another plugin.")] = None
    default: Annotated[Any, doc("Used if the source is missing.")] = msgspec.UNSET
    optional: Annotated[bool, doc("If the source is missing, the variable is left out.")] = False
    as_: Annotated[Literal["string", "json", "yaml", "base64decode"] | None, doc("How it becomes text.")] = (
        msgspec.field(name="as", default=None)
    )


class ClusterOptionOverride(Record, frozen=True):
    """Values for one cluster of a preset."""

    cluster_name: Annotated[Name, doc("The cluster.")]
    overrides: Annotated[list[OptionValue], doc("The values.")]


class PresetGroup(Record, frozen=True):
    """Values and configs for some clusters of a preset: one of clusterSelector and placement."""

    name: Annotated[str, doc("The group's name.", min_length=1)]
    cluster_selector: Annotated[ClusterSelectors | None, doc("Which clusters.")] = None
    placement: Annotated[NameRef | None, doc("Which clusters.")] = None
    option_values: Annotated[OptionValues | None, doc("The values.")] = None
    configs: Annotated[list[ConfigRef] | None, doc("The configs.")] = None
    rollout: Annotated[RolloutPolicySpec | None, doc("How changes move over the group, by itself.")] = None
    rollout_strategy: Annotated[
        dict[str, Any] | None,
        doc("The same as Open Cluster Management writes it, over the placement's decision groups."),
    ] = None


class Acknowledgement(Record, frozen=True):
    """A person's consent to a breaking version."""

    version: Annotated[str, doc("Which version.")]
    cluster_selector: Annotated[ClusterSelectors | None, doc("On which clusters; absent: all.")] = None


class EmergencyChange(Record, frozen=True):
    """Why a change must not wait."""

    reason: Annotated[str, doc("Why.", min_length=1)]
    expires: Annotated[Time, doc("Until when.")]
    approved_by: Annotated[str | list[str] | None, doc("Who agreed.")] = None


class Upgrades(Record, frozen=True):
    """What people decided about upgrades."""

    acknowledged: Annotated[list[Acknowledgement] | None, doc("Breaking versions that are fine.")] = None
    emergency: Annotated[EmergencyChange | None, doc("Why a change must not wait.")] = None


class WaitFor(Record, frozen=True):
    """Something that must be healthy first: one of plugin and preset."""

    plugin: Annotated[Name | None, doc("A plugin.")] = None
    preset: Annotated[Name | None, doc("A preset's plugin on the same cluster.")] = None


class Substitution(Record, frozen=True):
    """How ${…} is substituted in manifests."""

    strict: Annotated[bool, doc("An unknown name is an error.")] = True
    only: Annotated[Literal["Declared", "All"], doc("Which names.")] = "Declared"


class PluginTemplate(Record, frozen=True):
    """The plugin that a preset makes on every cluster it selects."""

    plugin_definition: Annotated[DefinitionRef | Name, doc("Which definition, in which version.")]
    plugin_definition_version: Annotated[str | None, doc("The version, beside a definition given as text.")] = None
    release_name: Annotated[ReleaseName | None, doc("Default: the definition's name.")] = None
    release_namespace: Annotated[Name | None, doc("Default: the definition's name.")] = None
    option_values: Annotated[OptionValues | None, doc("The values.")] = None
    configs: Annotated[list[ConfigRef] | None, doc("The configs.")] = None


class _Delivering(Record, frozen=True):
    """What presets and hand-made plugins have in common."""

    control_plane_bindings: Annotated[list[Binding] | None, doc("Variables resolved in the control plane.")] = None
    bindings: Annotated[list[Binding] | None, doc("Variables resolved on the cluster, after the others.")] = None
    substitute: Annotated[
        dict[str, Any] | list[dict[str, Any]] | None, doc("Variables of kustomize and manifests sources.")
    ] = None
    transforms: Annotated[list[Transform] | None, doc("Transform plugins, in order.")] = None
    patches: Annotated[list[Patch] | None, doc("Changes to rendered objects.")] = None
    rollout_policy: Annotated[Name | None, doc("How changes move; one of this and rollout.")] = None
    rollout: Annotated[RolloutPolicySpec | Literal["External"] | None, doc("The same, written here.")] = None
    update_windows: Annotated[list[Name] | None, doc("When changes may start.")] = None
    upgrades: Annotated[Upgrades | None, doc("What people decided about upgrades.")] = None
    wait_for: Annotated[list[WaitFor] | None, doc("What must be healthy first.")] = None
    deletion_policy: Annotated[Literal["Delete", "Retain"] | None, doc("What happens to what it installed.")] = None
    suspend: Annotated[bool, doc("Nothing changes while this is true.")] = False
    delivery: Annotated[Delivery | None, doc("How admitted states reach clusters.")] = None
    config_mode: Annotated[ConfigMode | None, doc("How configs of several places combine.")] = None
    substitution: Annotated[Substitution | None, doc("How ${…} is substituted.")] = None


class PluginPresetSpec(_Delivering, frozen=True, kw_only=True):
    """One plugin on many clusters."""

    plugin: Annotated[PluginTemplate, doc("The plugin.")]
    cluster_selector: Annotated[ClusterSelectors | None, doc("Which clusters; {} is all.")] = None
    placement: Annotated[NameRef | None, doc("Which clusters, by placement.")] = None
    cluster_option_overrides: Annotated[
        list[ClusterOptionOverride] | None, doc("Values by cluster, above every group.")
    ] = None
    cluster_overrides: Annotated[list[ClusterOptionOverride] | None, doc("The same, as some write it.")] = None
    groups: Annotated[list[PresetGroup] | None, doc("Values by group; of several that match, the last wins.")] = None


class PluginSpec(_Delivering, frozen=True, kw_only=True):
    """One plugin on one cluster, made by hand; or, with presetRef, values for a plugin that a preset makes."""

    plugin_definition: Annotated[DefinitionRef | Name | None, doc("Which definition, in which version.")] = None
    plugin_definition_version: Annotated[str | None, doc("The version, beside a definition given as text.")] = None
    cluster_name: Annotated[Name | None, doc("The cluster.")] = None
    release_name: Annotated[ReleaseName | None, doc("Default: the definition's name.")] = None
    release_namespace: Annotated[Name | None, doc("Default: the definition's name.")] = None
    option_values: Annotated[OptionValues | None, doc("The values.")] = None
    configs: Annotated[list[ConfigRef] | None, doc("The configs.")] = None
    preset_ref: Annotated[NameRef | None, doc("The preset that makes this plugin.")] = None


# The kinds of objects that own plugins.
OwnerSpec = PluginPresetSpec | PluginSpec


class OverrideItem(Record, frozen=True):
    """One path and what becomes of it."""

    path: Annotated[str, doc("An option, or a path inside its value: a.b, a.b[0] or /a/b/0.", min_length=1)]
    value: Annotated[Any, doc("The value.")] = msgspec.UNSET
    value_from: Annotated[ValueFrom | None, doc("Where to read it from.")] = None
    expression: Annotated[Text | None, doc("CEL over cluster, organization and definition.")] = None
    strategy: Annotated[Literal["Replace", "Merge", "Remove"] | None, doc("Default: Replace.")] = None


class PluginOverrideSpec(Record, frozen=True):
    """Values above those of presets and plugins, on the plugins it reaches."""

    overrides: Annotated[list[OverrideItem], doc("What becomes of which option.", min_length=1)]
    plugin_definition_names: Annotated[list[Name] | None, doc("Which definitions; absent or empty: all.")] = None
    cluster_selector: Annotated[ClusterSelectors | None, doc("Which clusters; absent or {}: all.")] = None
    allow_undeclared: Annotated[bool, doc("Pass options on that no revision declares.")] = False
    reason: Annotated[str | None, doc("Why it exists.")] = None
    owner: Annotated[str | None, doc("Who looks after it.")] = None
    expires: Annotated[Time | None, doc("When it ends.")] = None
