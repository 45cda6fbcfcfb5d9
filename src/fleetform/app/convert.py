"""convert: native files from manifests of other systems, and what is lost on the way."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from fleetform.app.converting.converted import Converted
from fleetform.app.converting.fleeet_to_native import fleeet_losses, native_from_fleeet
from fleetform.app.converting.native_files import declare_used_options, is_native_kind, native_name
from fleetform.app.converting.ocm_to_native import NativeConfigs, is_what_runs, native_from_ocm, ocm_losses
from fleetform.app.converting.releases import known_releases
from fleetform.app.converting.validity import valid_files
from fleetform.app.fleet import Fleet
from fleetform.dialects.injections import INJECTS
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic

_KEPT_METADATA = ("name", "namespace", "labels", "annotations", "creationTimestamp")


class Conversion(NamedTuple):
    """The native files of a fleet, and what is lost or different in them."""

    files: list[Converted]
    losses: list[Diagnostic]


def convert(fleet: Fleet) -> Conversion:
    """One file per object. What would not be valid is left out, and said: what is written always validates."""
    configs = NativeConfigs(fleet)
    respelt = {each.object for each in fleet.reading if each.code == "deprecated-field"}
    releases = known_releases(fleet)
    written = []
    for each in fleet.snapshot.objects:
        of_catalog = each.origin.file in fleet.catalog_definitions.files
        if not _is_converted(each) or of_catalog or is_what_runs(fleet, each):
            continue
        version = f"-{each.spec.version}" if isinstance(each.spec, PluginDefinitionSpec) else ""
        plural = re.sub("ys$", "ies", f"{each.ref.kind.lower()}s")
        path = f"{each.ref.organization}/{plural}/{native_name(each.ref)}{version}.yaml"
        tree = native_tree(each)
        if each.dialect == "ocm":
            tree = native_from_ocm(fleet, each, tree, configs)
        elif each.dialect == "fleeet":
            tree = native_from_fleeet(fleet, each, tree)
        elif each.dialect == "greenhouse" and isinstance(each.spec, PluginDefinitionSpec):
            declare_used_options(fleet, each, tree)
        changed = each.dialect != "native" or each.ref in respelt
        written.append(Converted(path, each, changed, tree, releases.of(each)))
    copies = [Converted(path, config, True, tree) for path, (config, tree) in configs.copies.items()]
    files, invalid = valid_files(fleet, [*written, *copies], [each for each in fleet.snapshot.objects if _stays(each)])
    codes = ("foreign-note", "unknown-field", "bad-expression", "undeclared-option")
    found = [each for each in fleet.findings.of_objects if each.code in codes]
    lost = [*found, *ocm_losses(fleet, configs), *fleeet_losses(fleet), *releases.losses(), *invalid]
    return Conversion(sorted(files, key=lambda each: each.path), lost)


def _is_converted(object_: Object[object]) -> bool:
    return object_.spec is not None and is_native_kind(object_) and not _stays(object_)


def _stays(object_: Object[object]) -> bool:
    """Clusters of Cluster API stay as they are, as bindings read more of them than a native one could hold; so do
    objects of kinds that are not ours."""
    return object_.dialect == "cluster-api" or object_.foreign_version is not None


def left_out(fleet: Fleet) -> list[str]:
    """Objects of other systems that there is nothing to convert about."""
    left = [each for each in fleet.snapshot.objects if not _is_converted(each)]
    return sorted({f"{each.ref.kind} {each.ref.name or '(no name)'}" for each in left})


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
