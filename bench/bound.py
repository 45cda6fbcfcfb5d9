"""A fleet whose plugins bind ten names each, and the same fleet with all that written down for each cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from bench.fleets import ORGANIZATION, Size, make_fleet
from fleetform.model.kinds.base import Metadata, OptionValue
from fleetform.model.kinds.definition import Output, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import Binding, ClusterOptionOverride, PluginPresetSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot

ZONES = 50
NAMES = 10
# Names that mention each other, given names, fields of the cluster and of objects by computed names, a secret, and
# what another plugin offers.
_BINDINGS: list[dict[str, Any]] = [
    {"name": "DOMAIN", "value": "example.com"},
    {"name": "HOST", "value": "web.$(CLUSTER_NAME).$(DOMAIN)"},
    {"name": "URL", "value": "https://$(HOST):$(PORT)/"},
    {"name": "PORT", "value": 8443},
    {"name": "TIER", "value": "$(cluster.labels.tier)"},
    {"name": "ZONE", "clusterFieldRef": {"path": "/spec/facts/zone"}},
    {
        "name": "REGISTRY",
        "objectFieldRef": {"kind": "ConfigMap", "name": "zone-$(ZONE)", "fieldPath": "/data/registry"},
    },
    {"name": "MTU", "objectFieldRef": {"kind": "ConfigMap", "name": "zone-$(ZONE)", "fieldPath": "/data/mtu"}},
    {"name": "TOKEN", "objectFieldRef": {"kind": "Secret", "name": "tokens", "fieldPath": "/data/t$(TIER)"}},
    {"name": "ISSUER", "pluginOutputRef": {"definition": "d0", "output": "issuer"}, "default": "none"},
]
# What the first options of a plugin say.
_VALUES = ("$(HOST)", "$(URL)", "$(REGISTRY)", "$(MTU)", "$(ISSUER)", "t-$(TIER)-$(ZONE)")


def bound_fleet(clusters: int, plugins: int = 10, secrets: bool = True) -> tuple[Snapshot, Snapshot]:
    """The fleet with bindings; and one whose presets say for each cluster what comes of them."""
    base = make_fleet(Size(clusters, plugins, overrides=0, differing=0))
    placed = {ref: _in_zone(number, each) for number, (ref, each) in enumerate(base.clusters.items())}
    offering = {key: _offering(each) for key, each in base.definitions.items()}
    plain = replace(base, clusters=placed, definitions=offering, others=_objects())
    presets = list(base.presets.values())
    said = {each.ref: _saying(each, clusters) for each in presets}
    binding = {each.ref: _binding(each, number, secrets) for number, each in enumerate(presets)}
    return replace(plain, presets=binding), replace(plain, presets=said)


def _in_zone(number: int, cluster: Object[ClusterSpec]) -> Object[ClusterSpec]:
    return replace(cluster, spec=ClusterSpec(facts={"zone": f"z{number % ZONES}"}))


def _offering(definition: Object[PluginDefinitionSpec]) -> Object[PluginDefinitionSpec]:
    options = [msgspec.structs.replace(each, type="any") for each in definition.spec.options or []]
    output = Output("issuer", value="ca-$(HOST)")
    return replace(definition, spec=msgspec.structs.replace(definition.spec, options=options, outputs=[output]))


def _written(preset: Object[PluginPresetSpec]) -> list[OptionValue]:
    written = preset.spec.plugin.option_values
    assert isinstance(written, list)
    return written


def _saying(preset: Object[PluginPresetSpec], clusters: int) -> Object[PluginPresetSpec]:
    """With a value for each cluster instead of each mention."""
    names = [each.name for each in _written(preset)[: len(_VALUES)]]
    blocks = [
        ClusterOptionOverride(f"c{cluster}", [OptionValue(name, value=f"{name}-{cluster}") for name in names])
        for cluster in range(clusters)
    ]
    return replace(preset, spec=msgspec.structs.replace(preset.spec, cluster_option_overrides=blocks))


def _binding(preset: Object[PluginPresetSpec], number: int, secrets: bool) -> Object[PluginPresetSpec]:
    """All but the first plugin read what that one offers."""
    bindings = msgspec.convert(_BINDINGS, list[Binding])
    if not number:
        bindings[-1] = Binding("ISSUER", value="root-$(CLUSTER_NAME)")
    if not secrets:
        bindings[-2] = Binding("TOKEN", value=f"token-$(TIER)-{number}")
    written = _written(preset)
    mentions = [OptionValue(each.name, value=said) for each, said in zip(written, _VALUES, strict=False)]
    plugin = msgspec.structs.replace(preset.spec.plugin, option_values=[*mentions, *written[len(_VALUES) :]])
    return replace(preset, spec=msgspec.structs.replace(preset.spec, plugin=plugin, control_plane_bindings=bindings))


def _objects() -> dict[Ref, Object[Any]]:
    maps = [
        _held("ConfigMap", f"zone-z{number}", data={"registry": f"r{number}.example.com", "mtu": str(1400 + number)})
        for number in range(ZONES)
    ]
    tokens = _held("Secret", "tokens", stringData={f"t{tier}": f"token-{tier}" for tier in range(4)})
    return {each.ref: each for each in (*maps, tokens)}


def _held(kind: str, name: str, **content: Any) -> Object[Any]:
    tree = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": ORGANIZATION}, **content}
    origin = Origin(f"{kind}/{name}.yaml", 1, 9)
    return Object(Ref(kind, ORGANIZATION, name), Metadata(name=name), None, origin, "foreign:v1", content=tree)
