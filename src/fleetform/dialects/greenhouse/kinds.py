"""The shapes of Greenhouse's manifests (greenhouse.sap/v1alpha1), as far as they mean something here."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from fleetform.model.kinds.base import LabelSelector, Name, Record, ReleaseName, SecretKey, Text
from fleetform.model.kinds.definition import Option
from fleetform.syntax.trees import YamlMap, YamlValue


class HelmChart(Record, frozen=True):
    name: Text
    repository: str = ""
    version: str = ""


class GreenhouseOption(Record, frozen=True):
    name: Text
    type: Literal["string", "bool", "int", "list", "map", "secret"]
    default: YamlValue = msgspec.UNSET
    description: str | None = None
    display_name: str | None = None
    required: bool = False
    regex: str | None = None


class GreenhouseDeclaredOption(Option, frozen=True):
    """An option as a definition of Greenhouse declares it: there 2.5 fits an int option."""

    takes_fractions: ClassVar[bool] = True


class GreenhouseDefinitionSpec(Record, frozen=True):
    version: Annotated[str, msgspec.Meta(min_length=1)]
    display_name: str | None = None
    description: str | None = None
    helm_chart: HelmChart | None = None
    ui_application: YamlMap | None = None
    options: list[GreenhouseOption] | None = None
    weight: int | None = None
    icon: str | None = None
    docs_url: str | None = msgspec.field(name="docsURL", default=None)
    doc_mark_down_url: str | None = None


class GreenhouseValueFrom(Record, frozen=True):
    secret: SecretKey | None = None
    ref: YamlMap | None = None


class GreenhouseValue(Record, frozen=True):
    name: Text
    value: YamlValue = msgspec.UNSET
    value_from: GreenhouseValueFrom | None = None
    expression: str | None = None


class GreenhouseDefinitionRef(Record, frozen=True):
    name: Name
    kind: Literal["PluginDefinition", "ClusterPluginDefinition"] | None = None
    version: str | None = None


class GreenhousePluginTemplate(Record, frozen=True):
    plugin_definition_ref: GreenhouseDefinitionRef | None = None
    plugin_definition: GreenhouseDefinitionRef | str | None = None
    plugin_definition_version: str | None = None
    display_name: str | None = None
    option_values: list[GreenhouseValue] | YamlMap | None = None
    release_name: ReleaseName | None = None
    release_namespace: Name | None = None
    deletion_policy: Literal["Delete", "Retain"] | None = None
    ignore_differences: list[YamlMap] | None = None


class PluginRef(Record, frozen=True):
    name: Name | None = None
    plugin_preset: Name | None = None


class GreenhouseWaitFor(Record, frozen=True):
    plugin_ref: PluginRef


class GreenhousePluginSpec(GreenhousePluginTemplate, frozen=True):
    cluster_name: Name | None = None
    wait_for: list[GreenhouseWaitFor] | None = None


class GreenhouseClusterValues(Record, frozen=True):
    cluster_name: Name
    overrides: list[GreenhouseValue]


class GreenhousePresetSpec(Record, frozen=True):
    plugin: GreenhousePluginTemplate
    cluster_selector: LabelSelector | None = None
    cluster_option_overrides: list[GreenhouseClusterValues] | None = None
    cluster_overrides: list[GreenhouseClusterValues] | None = None
    wait_for: list[GreenhouseWaitFor] | None = None
    deletion_policy: Literal["Delete", "Retain"] | None = None


class GreenhouseClusterSpec(Record, frozen=True):
    access_mode: str | None = None
    kube_config: YamlMap | None = None


class GreenhouseOrganizationSpec(Record, frozen=True):
    display_name: str | None = None
    description: str | None = None
    authentication: YamlMap | None = None
    mapped_org_admin_id_p_group: str | None = msgspec.field(name="mappedOrgAdminIdPGroup", default=None)
    config_map_ref: str | None = None


class GreenhouseRef(Record, frozen=True):
    sha: str | None = None
    tag: str | None = None
    branch: str | None = None


class GreenhouseOptionDefault(Record, frozen=True):
    name: Text
    value: YamlValue


class GreenhouseCatalogOverride(Record, frozen=True):
    name: Name
    alias: Name | None = None
    repository: str | None = None
    options_override: list[GreenhouseOptionDefault] | None = None


class GreenhouseCatalogSource(Record, frozen=True):
    repository: Text
    resources: list[str] | None = None
    ref: GreenhouseRef | None = None
    secret_name: Name | None = None
    interval: str | None = None
    overrides: list[GreenhouseCatalogOverride] | None = None


class GreenhouseCatalogSpec(Record, frozen=True):
    sources: Annotated[list[GreenhouseCatalogSource], msgspec.Meta(min_length=1)]
