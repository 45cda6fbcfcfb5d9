"""A fleet of add-ons: every one with three placements of its own, and three configs a placement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.fleets import NOW, made
from fleetform.model.kinds.base import LabelSelector, Metadata, NameRef
from fleetform.model.kinds.definition import ObjectName, PluginDefinitionSpec, SupportedConfig
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.placement import PlacementSpec, Predicate, RequiredClusterSelector
from fleetform.model.kinds.preset import ConfigRef, DefinitionRef, PluginPresetSpec, PluginTemplate, PresetGroup
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot

GROUP, RESOURCE, HOME = "example.com", "collectors", "ops"
PLACEMENTS, CONFIGS = 3, 3
# Each placement's clusters: all of them, half, a tenth; which half and which tenth differs from add-on to add-on.
SHARES = ("all", "half", "tenth")


def addon_fleet(clusters: int, addons: int) -> Snapshot:
    """The fleet, in the shape that the manifests of Open Cluster Management give it."""
    names = [f"cluster-{number:06}" for number in range(clusters)]
    others: dict[Ref, Object[Any]] = {}
    for number in range(addons):
        for share in range(PLACEMENTS):
            placement = _placement(number, share)
            others[placement.ref] = placement
            for config in range(CONFIGS):
                object_ = config_object(number, share, config, "first")
                others[object_.ref] = object_
        default = config_object(number, PLACEMENTS, 0, "first")
        others[default.ref] = default
    definitions = [_definition(number) for number in range(addons)]
    presets = [_preset(number) for number in range(addons)]
    made_clusters = [_cluster(name, number) for number, name in enumerate(names)]
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in made_clusters},
        definitions={(each.ref, "0.0.0"): each for each in definitions},
        presets={each.ref: each for each in presets},
        others=others,
    )


def with_edited_config(snapshot: Snapshot, addon: int, share: int, content: str) -> Snapshot:
    object_ = config_object(addon, share, 0, content)
    return replace(snapshot, others={**snapshot.others, object_.ref: object_})


def _cluster(name: str, number: int) -> Object[ClusterSpec]:
    labels = {"half": str(number % 2), "tenth": str(number % 10), "region": ("eu", "us", "ap")[number % 3]}
    return made("Cluster", name, ClusterSpec(), labels=labels)


def _placement(addon: int, share: int) -> Object[PlacementSpec]:
    labels = {"half": {"half": str(addon % 2)}, "tenth": {"tenth": str(addon % 10)}}.get(SHARES[share])
    selector = LabelSelector(match_labels=labels)
    spec = PlacementSpec(predicates=[Predicate(RequiredClusterSelector(label_selector=selector))])
    return made("Placement", f"{HOME}/{_placement_name(addon, share)}", spec)


def _placement_name(addon: int, share: int) -> str:
    return f"addon-{addon}-{SHARES[share]}"


def _definition(addon: int) -> Object[PluginDefinitionSpec]:
    supported = SupportedConfig(GROUP, RESOURCE, ObjectName(_config_name(addon, PLACEMENTS, 0), HOME))
    return made("PluginDefinition", f"addon-{addon}", PluginDefinitionSpec("0.0.0", configs=[supported]))


def _preset(addon: int) -> Object[PluginPresetSpec]:
    name = f"addon-{addon}"
    groups = [
        PresetGroup(
            _placement_name(addon, share),
            placement=NameRef(f"{HOME}/{_placement_name(addon, share)}"),
            configs=[ConfigRef(GROUP, RESOURCE, _config_name(addon, share, each), HOME) for each in range(CONFIGS)],
        )
        for share in range(PLACEMENTS)
    ]
    template = PluginTemplate(DefinitionRef(name), release_namespace="agents")
    spec = PluginPresetSpec(plugin=template, groups=groups)
    return replace(made("PluginPreset", name, spec), dialect="ocm")


def _config_name(addon: int, share: int, config: int) -> str:
    return f"config-{addon}-{share}-{config}"


def config_object(addon: int, share: int, config: int, content: str) -> Object[Any]:
    name = _config_name(addon, share, config)
    tree = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Collector",
        "metadata": {"name": name, "namespace": HOME},
        "spec": {"content": content, "receivers": [f"receiver-{number}" for number in range(20)]},
    }
    ref = Ref("Collector", HOME, name)
    return Object(ref, Metadata(name=name), None, Origin("configs.yaml", 1, 1), f"foreign:{GROUP}/v1", content=tree)
