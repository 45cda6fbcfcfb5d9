"""A generated fleet as a folder of manifests: one file for each cluster, definition, preset and override."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bench.fleets import Size, make_fleet
from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Object
from fleetform.syntax.times import time_text
from fleetform.syntax.yaml_out import write_yaml

SIZE = Size(10_000, plugins=10, options=40, overrides=120, differing=0.1)
# Of so many clusters one has values of its own in each preset.
_PER_BLOCK = 50
# A plugin, one of its options, and the override that is edited to see what a one-line change costs.
CLUSTER, PRESET, OPTION, EDITED = "c1056", "p3", "group4.option12", "o0003"


def write_fleet(folder: Path, size: Size = SIZE) -> None:
    """The manifests of a fleet of this size."""
    for each in make_fleet(size).objects:
        _write(folder, each)


def edit_one_line(folder: Path) -> None:
    """Give one value of one override another one."""
    path = folder / "pluginoverride" / f"{EDITED}.yaml"
    before, _, after = path.read_text(encoding="utf-8").partition("value: ")
    path.write_text(f"{before}value: 123456\n{after.partition(chr(10))[2]}", encoding="utf-8")


def _write(folder: Path, object_: Object[object]) -> None:
    metadata = msgspec.to_builtins(object_.metadata)
    if object_.created is not None:
        metadata["annotations"] = {"fleetform.dev/created": time_text(object_.created)}
    spec: dict[str, Any] = msgspec.to_builtins(object_.spec)
    if object_.ref.kind == "Cluster":
        spec |= {"timeZone": "Europe/Berlin", "facts": {"nodes": 12, "domain": f"{object_.ref.name}.example.com"}}
    if blocks := spec.get("clusterOptionOverrides"):
        spec["clusterOptionOverrides"] = blocks[::_PER_BLOCK]
    tree = {"apiVersion": API_VERSION, "kind": object_.ref.kind, "metadata": metadata, "spec": spec}
    path = folder / object_.ref.kind.lower() / f"{object_.ref.name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_yaml(tree), encoding="utf-8")
