"""A fleet with many plugins for an API server.

Its presets are on every cluster, and their rollouts wait for an approval: nothing is delivered, every pass plans all
of them. One more preset is on one cluster, for edits that reach one plugin.
"""

from __future__ import annotations

from typing import Any

from fleetform.model.kinds import API_VERSION

APPROVERS = {"required": 1, "from": {"users": ["ada"]}}


def many_plugins(clusters: int, presets: int) -> list[dict[str, Any]]:
    stages = [{"name": "all", "clusterSelector": {}, "approvals": APPROVERS}]
    found = [_object("Cluster", f"c-{each}", {}) for each in range(clusters)]
    found.append(_object("RolloutPolicy", "default", {"stages": stages}))
    selectors: dict[str, dict[str, Any]] = {str(each): {} for each in range(presets)}
    selectors["one"] = {"clusterNames": ["c-0"]}
    for name, selector in selectors.items():
        options = [{"name": "replicas", "type": "int", "default": 1}]
        spec = {"version": "1.0.0", "source": {"manifests": {"path": "./manifests"}}, "options": options}
        found.append(_object("PluginDefinition", f"d-{name}", spec))
        plugin = {"pluginDefinition": {"name": f"d-{name}"}}
        spec = {"clusterSelector": selector, "plugin": plugin, "rolloutPolicy": "default"}
        found.append(_object("PluginPreset", f"p-{name}", spec))
    return [*found, override_of_one(1)]


def override_of_one(value: int) -> dict[str, Any]:
    spec = {
        "clusterSelector": {"clusterNames": ["c-0"]},
        "pluginDefinitionNames": ["d-one"],
        "overrides": [{"path": "replicas", "value": value}],
    }
    return _object("PluginOverride", "one", spec)


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "namespace": "acme"}, "spec": spec}
