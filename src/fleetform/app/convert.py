"""convert: native files from manifests of other systems, and what is lost on the way."""

from __future__ import annotations

import copy
import os
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from fleetform.app.converting.fleeet_to_native import fleeet_losses, of_fleeet
from fleetform.app.converting.ocm_to_native import as_native, is_native_kind, native_name, ocm_losses
from fleetform.app.fleet import Fleet
from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.yaml_out import write_documents

_KEPT_METADATA = ("name", "namespace", "labels", "annotations", "creationTimestamp")


@dataclass(frozen=True, slots=True)
class Converted:
    """A native manifest: where it goes below the output folder, and what it holds."""

    path: str
    object: Object[Any]
    changed: bool
    tree: dict[str, Any]
    release: tuple[str, str] | None = None

    def text(self, folder: str | None = None) -> str:
        """The manifest; paths of its sources are rewritten for the folder that it is written to."""
        tree = copy.deepcopy(self.tree)
        if self.release is not None:
            # What a release is called by default differs from system to system: written out, it stays the same.
            template = tree["spec"].get("plugin", tree["spec"])
            template.setdefault("releaseName", self.release[0])
            template.setdefault("releaseNamespace", self.release[1])
        if folder is not None:
            target = os.path.dirname(os.path.join(folder, self.path))
            _rebase(tree.get("spec", {}).get("source") or {}, os.path.dirname(self.object.origin.file), target)
        return write_documents([tree])


def _rebase(source: dict[str, Any], before: str, after: str) -> None:
    """Make the local paths of a source, which were relative to one folder, relative to another."""
    for kind, field in (("helm", "repository"), ("kustomize", "path"), ("manifests", "path")):
        path = source.get(kind, {}).get(field)
        if path is not None and "://" not in path and not os.path.isabs(path):
            source[kind][field] = os.path.relpath(os.path.join(before or ".", path), after or ".")


def convert(fleet: Fleet) -> list[Converted]:
    """One file per object; changed says that the object was not native, or not spelt as it should be."""
    respelt = {each.object for each in fleet.reading if each.code == "deprecated-field"}
    releases = {
        plugin.target.owner: (plugin.target.release_name, plugin.target.release_namespace)
        for plugin in fleet.decisions.plugins.values()
        if plugin.target.owner.dialect != "native"
    }
    converted = [
        Converted(
            _path(each),
            each,
            each.dialect != "native" or each.ref in respelt,
            _tree(fleet, each),
            releases.get(each),
        )
        for each in fleet.snapshot.objects
        if _is_ours(each) and each.origin.file not in fleet.catalog_definitions.files
    ]
    return sorted(converted, key=lambda each: each.path)


def _is_ours(object_: Object[Any]) -> bool:
    """Clusters of Cluster API stay as they are: bindings read more of them than a native one could hold."""
    return object_.spec is not None and is_native_kind(object_) and object_.dialect != "cluster-api"


def _tree(fleet: Fleet, object_: Object[Any]) -> dict[str, Any]:
    tree = native_tree(object_)
    if object_.dialect == "ocm":
        return as_native(fleet, object_, tree)
    if object_.dialect == "fleeet":
        return of_fleeet(object_, tree)
    return tree


def left_out(fleet: Fleet) -> list[str]:
    """Objects of other systems that there is nothing to convert about."""
    left = [each for each in fleet.snapshot.objects if not _is_ours(each)]
    return sorted({f"{each.ref.kind} {each.ref.name}" for each in left})


def losses(fleet: Fleet) -> list[Diagnostic]:
    """What the other system says and a native file cannot, or may not."""
    codes = ("foreign-note", "unknown-field", "bad-expression", "undeclared-option")
    found = [each for each in fleet.findings.of_objects if each.code in codes]
    return [*found, *ocm_losses(fleet), *fleeet_losses(fleet)]


def native_tree(object_: Object[Any]) -> dict[str, Any]:
    """The object as a native manifest."""
    metadata = {key: value for key, value in msgspec.to_builtins(object_.metadata).items() if key in _KEPT_METADATA}
    metadata = {**metadata, "name": object_.ref.name, "namespace": object_.ref.organization}
    metadata = {key: metadata[key] for key in ("name", "namespace", *metadata)}
    tree = {"apiVersion": API_VERSION, "kind": object_.ref.kind, "metadata": metadata}
    spec = msgspec.to_builtins(object_.spec)
    return {**tree, "spec": spec} if spec else tree


def _path(object_: Object[Any]) -> str:
    ref = object_.ref
    version = f"-{object_.spec.version}" if ref.kind == "PluginDefinition" else ""
    plural = re.sub("ys$", "ies", f"{ref.kind.lower()}s")
    return f"{ref.organization}/{plural}/{native_name(ref)}{version}.yaml"
