"""Add-ons of Open Cluster Management: a definition with the preset that installs it; and those of one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import to_builtins

from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.dialects.ocm.conventions import BY_HAND, BY_PLACEMENTS
from fleetform.dialects.ocm.kinds import (
    AddOnConfig,
    AddOnMeta,
    ClusterManagementAddOnSpec,
    ClusterManagementAddOnSpecV1Alpha1,
    ClusterManagementAddOnSpecV1Beta1,
    ConfigType,
    InstallStrategy,
    ManagedClusterAddOnSpec,
    ManagedClusterAddOnSpecV1Alpha1,
    ManagedClusterAddOnStatus,
    RolloutStrategy,
)
from fleetform.model.kinds.base import NameRef
from fleetform.model.kinds.definition import ObjectName, PluginDefinitionSpec, SupportedConfig
from fleetform.model.kinds.preset import (
    ConfigRef,
    DefinitionRef,
    PluginPresetSpec,
    PluginSpec,
    PluginTemplate,
    PresetGroup,
)
from fleetform.model.objects import Object, Path
from fleetform.model.shape import read_record
from fleetform.syntax.trees import as_map

# Add-ons of Open Cluster Management have no versions.
_VERSION = "0.0.0"
_AGENT_NAMESPACE = "open-cluster-management-agent-addon"
# The name that a type without a default gets when the hub converts v1alpha1 to v1beta1.
_NO_DEFAULT = "__reserved_no_default__"
# Who installs an add-on: the hub's own manager, unless this says otherwise.
_LIFECYCLE = "addon.open-cluster-management.io/lifecycle"
_BY_MANAGER = "addon-manager"
_PLACEMENTS = ("spec", "installStrategy", "placements")


class _ConfigType(NamedTuple):
    """A type of configs, and the paths of it and of its default in the manifest."""

    supported: SupportedConfig
    at: Path
    default_at: Path


def read_add_on(manifest: Manifest) -> list[Object[object]]:
    shape = ClusterManagementAddOnSpecV1Alpha1 if manifest.version == "v1alpha1" else ClusterManagementAddOnSpecV1Beta1
    spec = manifest.spec(shape)
    if spec is None:
        return []
    return [_definition(spec, manifest), _preset(spec.install_strategy or InstallStrategy(), manifest)]


def _definition(spec: ClusterManagementAddOnSpec, manifest: Manifest) -> Object[object]:
    if isinstance(spec, ClusterManagementAddOnSpecV1Alpha1) and spec.add_on_configuration is not None:
        manifest.note("addOnConfiguration is not read here", "use supportedConfigs", "spec", "addOnConfiguration")
    meta = spec.add_on_meta or AddOnMeta()
    # A second entry of a group and resource is rejected (R1-3).
    types: dict[tuple[str, str], _ConfigType] = {}
    for each in _config_types(spec):
        group, resource = each.supported.group, each.supported.resource
        first = types.setdefault((group, resource), each)
        if first is not each:
            message = f"{type_name(group, resource)} is named twice; a type has at most one default"
            manifest.error("duplicate-object", message, "keep one", *each.at, related=first.at)
    moved: list[Pair] = [
        (("spec", "version"), ("spec",)),
        (("spec", "displayName"), ("spec", "addOnMeta", "displayName")),
        (("spec", "description"), ("spec", "addOnMeta", "description")),
    ]
    for index, each in enumerate(types.values()):
        native: Path = ("spec", "configs", index)
        moved += [(native, each.at), ((*native, "default"), each.default_at)]
    configs = [each.supported for each in types.values()] or None
    native_spec = PluginDefinitionSpec(_VERSION, meta.display_name, meta.description, configs=configs)
    return manifest.object(native_spec, *moved)


def _config_types(spec: ClusterManagementAddOnSpec) -> Iterator[_ConfigType]:
    if isinstance(spec, ClusterManagementAddOnSpecV1Alpha1):
        for index, each in enumerate(spec.supported_configs or []):
            default = each.default_config
            named = ObjectName(default.name, default.namespace or None) if default is not None else None
            at: Path = ("spec", "supportedConfigs", index)
            yield _ConfigType(SupportedConfig(each.group, each.resource, named), at, (*at, "defaultConfig"))
    elif isinstance(spec, ClusterManagementAddOnSpecV1Beta1):
        for index, config in enumerate(spec.default_configs or []):
            named = ObjectName(config.name, config.namespace or None) if config.name != _NO_DEFAULT else None
            at = ("spec", "defaultConfigs", index)
            yield _ConfigType(SupportedConfig(config.group, config.resource, named), at, at)


def _preset(strategy: InstallStrategy, manifest: Manifest) -> Object[object]:
    placements = strategy.placements or []
    lifecycle = (manifest.metadata.annotations or {}).get(_LIFECYCLE, _BY_MANAGER)
    by_placements = strategy.type == "Placements" and lifecycle == _BY_MANAGER
    if placements and lifecycle != _BY_MANAGER:
        message = f"the add-on manages itself ({_LIFECYCLE}: {lifecycle}): placements install nothing"
        manifest.note(message, "it is where a ManagedClusterAddOn is", *_PLACEMENTS)
    elif placements and not by_placements:
        manifest.note("placements install nothing", "write type: Placements", *_PLACEMENTS)
    moved: list[Pair] = [
        (("spec", "plugin", "pluginDefinition"), ("metadata", "name")),
        (("spec", "plugin", "pluginDefinition", "name"), ("metadata", "name")),
        (("spec", "plugin"), ("spec",)),
        (("spec", "groups"), _PLACEMENTS),
    ]
    groups: list[PresetGroup] = []
    for index, placement in enumerate(placements if by_placements else []):
        native: Path = ("spec", "groups", index)
        theirs: Path = (*_PLACEMENTS, index)
        name = named = f"{placement.namespace}/{placement.name}"
        times = sum(each.placement == NameRef(name) for each in groups) + 1
        if times > 1:
            # Listed again, with a name of its own.
            named = f"{name}#{times}"
            message = f"the placement {name} is listed again; the last counts"
            manifest.warn("duplicate-object", message, "keep one", *theirs)
        configs, moves = _config_refs(placement.configs), _rollout_strategy(placement.rollout_strategy)
        groups.append(PresetGroup(named, placement=NameRef(name), configs=configs, rollout_strategy=moves))
        moved += [((*native, "placement"), theirs), ((*native, "rolloutStrategy"), (*theirs, "rolloutStrategy"))]
    template = PluginTemplate(DefinitionRef(manifest.name), release_namespace=_AGENT_NAMESPACE)
    spec = PluginPresetSpec(plugin=template, groups=groups or None)
    conventions = BY_PLACEMENTS if by_placements else BY_HAND
    return manifest.object(spec, *moved, kind="PluginPreset", conventions=conventions)


def _config_refs(configs: Sequence[AddOnConfig] | None) -> list[ConfigRef] | None:
    return [ConfigRef(each.group, each.resource, each.name, each.namespace or None) for each in configs or []] or None


def _rollout_strategy(written: RolloutStrategy | None) -> dict[str, Any] | None:
    """A strategy as it is written, with its type, and its deadline by the newer name."""
    if written is None:
        return None
    strategy: dict[str, Any] = {"type": written.type, **to_builtins(written)}
    for fields in [each for each in strategy.values() if isinstance(each, dict)]:
        if "timeout" in fields:
            fields.setdefault("progressDeadline", fields.pop("timeout"))
    return strategy


def read_add_on_of_cluster(manifest: Manifest) -> list[Object[object]]:
    shape = ManagedClusterAddOnSpecV1Alpha1 if manifest.version == "v1alpha1" else ManagedClusterAddOnSpec
    spec = manifest.spec(shape)
    if spec is None:
        return []
    if isinstance(spec, ManagedClusterAddOnSpecV1Alpha1) and spec.install_namespace not in (None, _AGENT_NAMESPACE):
        manifest.note(f"the add-on goes into {_AGENT_NAMESPACE} here", "", "spec", "installNamespace")
    status = manifest.status(ManagedClusterAddOnStatus) or ManagedClusterAddOnStatus()
    for index, each in enumerate(spec.configs or []):
        if (each.group, each.resource) in unsupported_types(spec.configs, status.supported_configs):
            message = f"the add-on says that it takes no config of type {type_name(each.group, each.resource)}"
            hint = "status.supportedConfigs lists the types that it takes"
            manifest.warn("unsupported-config", message, hint, "spec", "configs", index)
    native = PluginSpec(
        preset_ref=NameRef(manifest.name), cluster_name=manifest.namespace, configs=_config_refs(spec.configs)
    )
    return [
        manifest.object(
            native,
            (("spec", "presetRef"), ("metadata", "name")),
            (("spec", "presetRef", "name"), ("metadata", "name")),
            (("spec", "clusterName"), ("metadata", "namespace")),
            content=manifest.tree if status.supported_configs else None,
        )
    ]


def unsupported_types_of(add_on: Object[PluginSpec]) -> list[str]:
    """The types of configs that a ManagedClusterAddOn names, and that its status does not list (R1-13)."""
    if add_on.content is None:
        return []
    status = read_record(as_map(add_on.content.get("status")), ManagedClusterAddOnStatus)
    listed = status.supported_configs if isinstance(status, ManagedClusterAddOnStatus) else None
    return sorted(type_name(*each) for each in unsupported_types(add_on.spec.configs, listed))


def unsupported_types(
    configs: Sequence[AddOnConfig | ConfigRef] | None, listed: Sequence[ConfigType] | None
) -> set[tuple[str, str]]:
    """The types of configs that an add-on does not take; if it does not say which it takes, there are none."""
    if not listed:
        return set()
    return {(each.group, each.resource) for each in configs or ()} - {(each.group, each.resource) for each in listed}


def type_name(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource
