"""Fleets with bindings, in a few lines: presets that bind and mention, and objects to read from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.model.objects import Object
from fleetform.model.results.bindings import Bound
from fleetform.model.results.decisions import PluginKey, Secret
from fleetform.model.snapshot import Snapshot
from fleetform.ports.state import KnownState
from properties.seen import exact, seen_plugin
from support.fleets import BASE, DEFINITION, documents, fleet_of, plugin_on

HOST = "[{name: host, value: $(X)}]"


def preset(
    values: str = "[]", bindings: str | None = "[]", more: str = "", name: str = "web", definition: str = ""
) -> str:
    """A preset for all clusters: values and controlPlaneBindings in flow style, more fields of its spec in block."""
    section = f"  controlPlaneBindings: {bindings}\n" if bindings is not None else ""
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginPreset\n"
        f"metadata: {{name: {name}, namespace: acme}}\n"
        "spec:\n  clusterSelector: {}\n  plugin:\n"
        f"    pluginDefinition: {{name: {definition or name}}}\n    optionValues: {values}\n{section}{more}"
    )


def thing(kind: str, name: str, body: str, namespace: str = "acme", version: str = "v1") -> str:
    """An object of any kind; body is the rest of it."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\n{body}\n"


def config_map(name: str, namespace: str = "acme", **data: Any) -> str:
    return thing("ConfigMap", name, f"data: {json.dumps(data)}", namespace)


def secret(name: str, **data: str) -> str:
    return thing("Secret", name, f"stringData: {json.dumps(data)}")


def a_cluster(name: str, zone: str = "a", **labels: str) -> str:
    """A cluster with facts; in names of labels __ is a dot, and _S_ a slash."""
    named = {key.replace("__", ".").replace("_S_", "/"): value for key, value in labels.items()}
    facts = {"zone": zone, "net": {"cidr": "10.0.0.0/8"}, "ports": [80, 443], "a.b": "dotted"}
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\n"
        f"metadata: {{name: {name}, namespace: acme, labels: {json.dumps(named)}}}\n"
        f"spec: {{facts: {json.dumps(facts)}}}\n"
    )


def two_clusters(**labels: str) -> str:
    """eu-1 in zone a with these labels, us-1 in zone b, both with a region."""
    return documents(a_cluster("eu-1", "a", region="eu", **labels), a_cluster("us-1", "b", region="us"))


def field_of(kind: str, name: str, path: str, more: str = "") -> str:
    """A binding X of a field of an object."""
    return f"[{{name: X, objectFieldRef: {{kind: {kind}, name: '{name}', fieldPath: '{path}'}}{more}}}]"


def definition_of(name: str, outputs: str = "[]", version: str = "1.0.0") -> str:
    text = DEFINITION.replace("name: web", f"name: {name}").replace("1.0.0", version)
    return f"{text}  outputs: {outputs}\n"


def bound_fleet(
    values: str = HOST, bindings: str | None = "[]", more: str = "", state: KnownState | None = None, **files: str
) -> Fleet:
    """The base fleet with a preset that binds, and more files, or others in place."""
    return fleet_and({"preset": preset(values, bindings, more), **files}, state)


def fleet_and(files: dict[str, str], state: KnownState | None = None) -> Fleet:
    """The base fleet with more files, or others in place, by name."""
    return fleet_of({**BASE, **{f"{name}.yaml": text for name, text in files.items()}}, state=state)


def bound_on(fleet: Fleet, cluster: str = "eu-1", owner: str = "web") -> dict[str, Bound]:
    return {each.name: each for each in fleet.inputs.bound(plugin_on(fleet, cluster, owner))}


def gates_on(fleet: Fleet, cluster: str = "eu-1", owner: str = "web") -> list[str]:
    """All that a plugin is blocked by or waits for."""
    plugin = plugin_on(fleet, cluster, owner)
    return [each.gate for each in (*plugin.blocked_by, *plugin.waits)]


def option_on(fleet: Fleet, option: str = "host", cluster: str = "eu-1", owner: str = "web") -> Any:
    """An option's value with its secrets in plain."""
    return in_plain(plugin_on(fleet, cluster, owner).options[option].value)


def in_plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.plain
    if isinstance(value, dict):
        return {key: in_plain(each) for key, each in value.items()}
    return [in_plain(each) for each in value] if isinstance(value, list) else value


def hash_on(fleet: Fleet, cluster: str = "eu-1", owner: str = "web") -> str | None:
    plugin = plugin_on(fleet, cluster, owner)
    return fleet.inputs.hash(plugin)


def told(fleet: Fleet, code: str) -> list[str]:
    """The messages of all findings of a code."""
    return [each.message for each in fleet.findings.all if each.code == code]


def lines_of(fleet: Fleet, code: str) -> list[list[int]]:
    """The line of each finding of a code, and of what it is related to."""
    place = fleet.input.locator.place
    found = [(each.at, *each.related) for each in fleet.findings.all if each.code == code]
    return [[place(at).line for at in places if at is not None] for places in found]


_OBJECTS = ("organizations", "clusters", "definitions", "presets", "plugins", "overrides", "others")


def edited(before: Snapshot, after: Snapshot) -> Snapshot:
    """The snapshot after an edit, with every object that it did not touch kept as it is."""
    objects: dict[str, Any] = {name: _kept(getattr(before, name), getattr(after, name)) for name in _OBJECTS}
    return replace(after, **objects)


def _kept(before: Mapping[Any, Object[Any]], after: Mapping[Any, Object[Any]]) -> dict[Any, Object[Any]]:
    return {key: before[key] if key in before and _same(before[key], each) else each for key, each in after.items()}


def _same(one: Object[Any], other: Object[Any]) -> bool:
    return (one.metadata, one.spec, one.content, one.created) == (
        other.metadata,
        other.spec,
        other.content,
        other.created,
    )


def everything(decisions: Decisions) -> dict[PluginKey, Any]:
    """All that a pass says of every plugin, its variables and their values included."""
    inputs = Inputs(decisions)
    return {
        key: (
            seen_plugin(plugin),
            [(each.gate, each.message, each.do) for each in plugin.unresolved],
            [
                (each.name, exact(in_plain(each.value)) if each.unresolved is None else each.unresolved.message)
                for each in inputs.bound(plugin)
            ],
            exact(in_plain(inputs.substituted(plugin))),
            inputs.hash(plugin),
        )
        for key, plugin in decisions.plugins.items()
    }
