"""Manifests as people write them, in any number: clusters, overrides, presets and definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.fleets import ENVIRONMENTS, ORGANIZATION, REGIONS
from fleetform.syntax.yaml_out import write_documents

Tree = dict[str, Any]


def write_manifests(folder: Path, files: int, documents: int) -> None:
    for number in range(files):
        first = number * documents
        trees = [manifest(each) for each in range(first, first + documents)]
        (folder / f"part-{number:04}.yaml").write_text(write_documents(trees), encoding="utf-8")


def manifest(number: int) -> Tree:
    """Of ten, five are overrides, three clusters, one a preset and one a definition."""
    kind = number % 10
    if kind < 5:
        return _object("PluginOverride", f"override-{number}", _override(number))
    if kind < 8:
        return _object("Cluster", f"cluster-{number}", {"timeZone": "Europe/Berlin", "facts": _facts(number)}, number)
    if kind == 8:
        return _object("PluginPreset", f"preset-{number}", _preset(number))
    return _object("PluginDefinition", f"definition-{number}", _definition(number))


def _object(kind: str, name: str, spec: Tree, number: int | None = None) -> Tree:
    metadata: Tree = {"name": name, "namespace": ORGANIZATION}
    if number is not None:
        metadata["labels"] = {**_labels(number), "tier": str(number % 4), "cloud": "x"}
    else:
        metadata["annotations"] = {"fleetform.dev/created": "2026-03-01T12:00:00Z"}
    return {"apiVersion": "fleetform.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _labels(number: int) -> dict[str, str]:
    return {"env": ENVIRONMENTS[number % 3], "region": f"r{number % REGIONS}"}


def _facts(number: int) -> Tree:
    return {"nodes": number % 100, "domain": f"c{number}.example.com", "zones": ["a", "b", "c"]}


def _override(number: int) -> Tree:
    return {
        "reason": f"INC-{number}: more of it while the region is under load",
        "owner": "sre",
        "pluginDefinitionNames": [f"definition-{number // 10 * 10 + 9}"],
        "clusterSelector": {"matchLabels": _labels(number)},
        "overrides": [
            {"path": "controller.replicas", "value": number % 7},
            {"path": "controller.resources.limits.memory", "value": f"{number % 16}Gi"},
            {"path": "controller.logLevel", "value": "debug"},
        ],
    }


def _preset(number: int) -> Tree:
    options = [{"name": f"controller.option{each}", "value": f"value {each} of {number}"} for each in range(8)]
    gold = {"name": "gold", "clusterSelector": {"matchLabels": {"tier": "1"}}, "optionValues": options[:3]}
    return {
        "clusterSelector": {"matchLabels": _labels(number)},
        "plugin": {"pluginDefinition": {"name": f"definition-{number + 1}"}, "optionValues": options},
        "groups": [gold],
    }


def _definition(number: int) -> Tree:
    options = [
        {
            "name": f"controller.option{each}",
            "type": "string",
            "default": f"default {each}",
            "description": f"What the controller does about the matter number {each}.",
        }
        for each in range(12)
    ]
    more = [{"name": "controller.replicas", "type": "int", "default": 2, "minimum": 0, "maximum": 99}]
    return {"version": f"1.{number % 20}.0", "displayName": f"Definition {number}", "options": [*options, *more]}
