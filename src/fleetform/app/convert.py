"""convert: native files from manifests of other systems, and what is lost on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from fleetform.app.fleet import Fleet
from fleetform.formats.yaml_out import write_documents
from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic

_KEPT_METADATA = ("name", "namespace", "labels", "annotations", "creationTimestamp")


@dataclass(frozen=True, slots=True)
class Converted:
    """A native file: where it goes, and its text."""

    path: str
    text: str
    changed: bool


def convert(fleet: Fleet) -> list[Converted]:
    """One file per object; changed says that the object was not native, or not spelt as it should be."""
    respelt = {each.object for each in fleet.reading if each.code == "deprecated-field"}
    converted = [
        Converted(_path(each), write_documents([native_tree(each)]), each.dialect != "native" or each.ref in respelt)
        for each in fleet.snapshot.objects
        if each.spec is not None
    ]
    return sorted(converted, key=lambda each: each.path)


def losses(fleet: Fleet) -> list[Diagnostic]:
    """What the other system says and a native file cannot, or may not."""
    codes = ("foreign-note", "unknown-field", "bad-expression", "undeclared-option")
    return [each for each in fleet.object_findings if each.code in codes]


def native_tree(object_: Object[Any]) -> dict[str, Any]:
    """The object as a native manifest."""
    metadata = {key: value for key, value in msgspec.to_builtins(object_.metadata).items() if key in _KEPT_METADATA}
    metadata = {"name": object_.ref.name, "namespace": object_.ref.organization, **metadata}
    tree = {"apiVersion": API_VERSION, "kind": object_.ref.kind, "metadata": metadata}
    spec = msgspec.to_builtins(object_.spec)
    return {**tree, "spec": spec} if spec else tree


def _path(object_: Object[Any]) -> str:
    ref = object_.ref
    version = f"-{object_.spec.version}" if ref.kind == "PluginDefinition" else ""
    return f"{ref.organization}/{ref.kind.lower()}s/{ref.name}{version}.yaml"
