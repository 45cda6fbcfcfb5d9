"""convert: native files from manifests of other systems, and what is lost on the way."""

from __future__ import annotations

import copy
import os
import re
from dataclasses import dataclass

import msgspec

from fleetform.app.converting.fleeet_to_native import fleeet_losses, native_from_fleeet
from fleetform.app.converting.native_files import is_native_kind, native_name
from fleetform.app.converting.ocm_to_native import native_from_ocm, ocm_losses
from fleetform.app.fleet import Fleet
from fleetform.dialects.native.read import INJECTS
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.yaml_out import write_documents

_KEPT_METADATA = ("name", "namespace", "labels", "annotations", "creationTimestamp")
_LOCAL_PATHS = (("helm", "repository"), ("kustomize", "path"), ("manifests", "path"))


@dataclass(frozen=True, slots=True)
class Converted:
    """A native manifest: where it goes below the output folder, and what it holds."""

    path: str
    object: Object[object]
    changed: bool
    tree: JsonMap
    release: tuple[str, str] | None = None

    def text(self, folder: str | None = None) -> str:
        """The manifest; local paths of its source are rewritten for the folder that it is written to."""
        tree = copy.deepcopy(self.tree)
        if self.release is not None:
            # What a release is called by default differs from system to system: written out, it stays the same.
            template = tree["spec"].get("plugin", tree["spec"])
            template.setdefault("releaseName", self.release[0])
            template.setdefault("releaseNamespace", self.release[1])
        source = (tree.get("spec", {}).get("source") or {}) if folder is not None else {}
        before, after = os.path.dirname(self.object.origin.file), os.path.dirname(os.path.join(folder or "", self.path))
        for kind, field in _LOCAL_PATHS:
            path = source.get(kind, {}).get(field)
            if path is not None and "://" not in path and not os.path.isabs(path):
                source[kind][field] = os.path.relpath(os.path.join(before or ".", path), after or ".")
        return write_documents([tree])


def convert(fleet: Fleet) -> list[Converted]:
    """One file per object; changed says that the object was not native, or not spelt as it should be."""
    respelt = {each.object for each in fleet.reading if each.code == "deprecated-field"}
    releases: dict[Object[object], tuple[str, str]] = {
        plugin.target.owner: (plugin.target.release_name, plugin.target.release_namespace)
        for plugin in fleet.decisions.plugins.values()
        if plugin.target.owner.dialect != "native"
    }
    converted = []
    for each in fleet.snapshot.objects:
        if not _is_converted(each) or each.origin.file in fleet.catalog_definitions.files:
            continue
        version = f"-{each.spec.version}" if isinstance(each.spec, PluginDefinitionSpec) else ""
        plural = re.sub("ys$", "ies", f"{each.ref.kind.lower()}s")
        path = f"{each.ref.organization}/{plural}/{native_name(each.ref)}{version}.yaml"
        tree = native_tree(each)
        if each.dialect == "ocm":
            tree = native_from_ocm(fleet, each, tree)
        elif each.dialect == "fleeet":
            tree = native_from_fleeet(each, tree)
        changed = each.dialect != "native" or each.ref in respelt
        converted.append(Converted(path, each, changed, tree, releases.get(each)))
    return sorted(converted, key=lambda each: each.path)


def _is_converted(object_: Object[object]) -> bool:
    """Clusters of Cluster API stay as they are: bindings read more of them than a native one could hold."""
    return object_.spec is not None and is_native_kind(object_) and object_.dialect != "cluster-api"


def left_out(fleet: Fleet) -> list[str]:
    """Objects of other systems that there is nothing to convert about."""
    left = [each for each in fleet.snapshot.objects if not _is_converted(each)]
    return sorted({f"{each.ref.kind} {each.ref.name}" for each in left})


def losses(fleet: Fleet) -> list[Diagnostic]:
    """What manifests of the other system say and a native file cannot, or may not."""
    codes = ("foreign-note", "unknown-field", "bad-expression", "undeclared-option")
    found = [each for each in fleet.findings.of_objects if each.code in codes]
    return [*found, *ocm_losses(fleet), *fleeet_losses(fleet)]


def native_tree(object_: Object[object]) -> JsonMap:
    """The object as a native manifest."""
    metadata = {key: value for key, value in msgspec.to_builtins(object_.metadata).items() if key in _KEPT_METADATA}
    metadata = {**metadata, "name": object_.ref.name, "namespace": object_.ref.organization}
    metadata = {key: metadata[key] for key in ("name", "namespace", *metadata)}
    if object_.conventions.injected is not None and object_.ref.kind in ("PluginPreset", "Plugin"):
        # Charts and expressions go on reading what the other system adds by itself.
        metadata["annotations"] = {**metadata.get("annotations", {}), INJECTS: "greenhouse"}
    tree = {"apiVersion": API_VERSION, "kind": object_.ref.kind, "metadata": metadata}
    spec = msgspec.to_builtins(object_.spec)
    return {**tree, "spec": spec} if spec else tree
