"""Open Cluster Management's manifests: clusters, sets, placements, scores and add-ons, with their meaning on the hub.

Its objects belong to one organization whatever their namespace is (S7), so the namespace is a part of the name of those
that have one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fleetform.dialects.envelope import Reading, read_metadata
from fleetform.dialects.manifest import Manifest, check_envelope, metadata_text
from fleetform.dialects.ocm.addons import read_add_on, read_add_on_of_cluster
from fleetform.dialects.ocm.clusters import (
    read_cluster_set,
    read_cluster_set_binding,
    read_managed_cluster,
    read_placement,
    read_score,
)
from fleetform.dialects.ocm.conventions import CONVENTIONS
from fleetform.model.conventions import LENIENT
from fleetform.model.kinds.base import Metadata
from fleetform.model.objects import At, Object, Origin, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import nearest, read_record
from fleetform.syntax.trees import YamlMap

CLUSTER_GROUP = "cluster.open-cluster-management.io"
ADDON_GROUP = "addon.open-cluster-management.io"
_VERSIONS = {CLUSTER_GROUP: ("v1", "v1beta2", "v1beta1", "v1alpha1"), ADDON_GROUP: ("v1beta1", "v1alpha1")}
_KEPT = {
    CLUSTER_GROUP: ("PlacementDecision", "ClusterClaim"),
    ADDON_GROUP: ("AddOnDeploymentConfig", "AddOnTemplate"),
}
# Other projects have kinds in these groups, too: only a name that is almost equal counts as a typo.
_TYPO = 0.9
_DEFAULT_NAMESPACE = "default"


class _OcmKind(NamedTuple):
    """A kind that is read: its versions, its native kind and name (by name and namespace), and how it is translated."""

    group: str
    versions: tuple[str, ...]
    native: str
    named: Callable[[str, str], str]
    translate: Callable[[Manifest], list[Object[object]]]
    of_cluster: bool = False


def read_ocm(tree: YamlMap, origin: Origin, organization: str) -> Reading:
    """A document of one of Open Cluster Management's API groups, whatever kind it is."""
    problem = _unreadable(tree, origin)
    if problem is not None:
        return Reading(None, (problem,))
    kind = _KINDS.get(tree["kind"])
    if kind is None:
        return Reading(_kept(tree, origin, organization))
    name, namespace = metadata_text(tree, "name"), metadata_text(tree, "namespace")
    ref = Ref(kind.native, organization, kind.named(name or "", namespace or _DEFAULT_NAMESPACE))
    metadata, diagnostics = read_metadata(tree, origin, ref)
    diagnostics += check_envelope(tree, origin, ref)
    if kind.of_cluster and name and not namespace:
        message = f"the {tree['kind']} has no namespace, which names its cluster"
        hint = "write the cluster's name as metadata.namespace"
        at = At(origin, (*origin.base, "metadata"))
        diagnostics.append(Diagnostic("missing-field", message, hint, object=ref, at=at))
    if metadata is None or not name or (kind.of_cluster and not namespace):
        return Reading(None, tuple(diagnostics))
    manifest = Manifest(tree, origin, ref, metadata, "ocm", CONVENTIONS, namespace or _DEFAULT_NAMESPACE)
    objects = kind.translate(manifest)
    found = (*diagnostics, *manifest.found)
    return Reading(objects[0], found, tuple(objects[1:])) if objects else Reading(None, found)


# ---- Kinds that are not read


def _unreadable(tree: YamlMap, origin: Origin) -> Diagnostic | None:
    """Why a document cannot be read at all: a typo, or an unknown version."""
    name = tree.get("kind")
    if not isinstance(name, str) or not name:
        return Diagnostic("missing-field", "the manifest has no kind", "add kind", at=At(origin, origin.base))
    group, _, version = str(tree.get("apiVersion")).partition("/")
    kind = _KINDS.get(name)
    at = At(origin, (*origin.base, "apiVersion"))
    if kind is not None and kind.group != group:
        hint = f"write apiVersion: {kind.group}/{kind.versions[0]}"
        return Diagnostic("unknown-kind", f"{group} has no kind {name}", hint, at=at)
    versions = kind.versions if kind is not None else _VERSIONS[group]
    if version not in versions:
        hint = f"there {'is' if len(versions) == 1 else 'are'} {', '.join(versions)}"
        return Diagnostic("unsupported-version", f"{name} of {group}/{version} cannot be read", hint, at=at)
    kinds = [*(each for each in _KINDS if _KINDS[each].group == group), *_KEPT[group]]
    known = {each.lower(): each for each in kinds}
    close = nearest(name.lower(), known, _TYPO)
    if name not in kinds and close:
        hint = f"did you mean {known[close]}?"
        return Diagnostic("unknown-kind", f"{group} has no kind {name}", hint, at=At(origin, (*origin.base, "kind")))
    return None


def _kept(tree: YamlMap, origin: Origin, organization: str) -> Object[object]:
    """A kind that is kept as it is, so that configs and earlier decisions can be found."""
    kind, name, namespace = tree["kind"], metadata_text(tree, "name") or "", metadata_text(tree, "namespace")
    if kind == "PlacementDecision":
        namespace = namespace or _DEFAULT_NAMESPACE
    ref = Ref(kind, organization, f"{namespace}/{name}" if namespace and name else name)
    metadata = read_record({"name": name or None}, Metadata)
    if not isinstance(metadata, Metadata):
        metadata = Metadata()
    return Object(ref, metadata, None, origin, f"foreign:{tree['apiVersion']}", content=tree, conventions=LENIENT)


# ---- Kinds that are read


def _by_name(name: str, namespace: str) -> str:
    return name


def _by_namespace_and_name(name: str, namespace: str) -> str:
    return f"{namespace}/{name}"


_SET_VERSIONS = ("v1beta2", "v1beta1", "v1alpha1")
_PLACEMENT_VERSIONS = ("v1beta1", "v1alpha1")
_KINDS: dict[str, _OcmKind] = {
    "ManagedCluster": _OcmKind(CLUSTER_GROUP, ("v1",), "Cluster", _by_name, read_managed_cluster),
    "ManagedClusterSet": _OcmKind(CLUSTER_GROUP, _SET_VERSIONS, "ManagedClusterSet", _by_name, read_cluster_set),
    "ManagedClusterSetBinding": _OcmKind(
        CLUSTER_GROUP, _SET_VERSIONS, "ManagedClusterSetBinding", _by_namespace_and_name, read_cluster_set_binding
    ),
    "Placement": _OcmKind(CLUSTER_GROUP, _PLACEMENT_VERSIONS, "Placement", _by_namespace_and_name, read_placement),
    "AddOnPlacementScore": _OcmKind(
        CLUSTER_GROUP, ("v1alpha1",), "AddOnPlacementScore", _by_namespace_and_name, read_score, of_cluster=True
    ),
    "ClusterManagementAddOn": _OcmKind(ADDON_GROUP, _VERSIONS[ADDON_GROUP], "PluginDefinition", _by_name, read_add_on),
    "ManagedClusterAddOn": _OcmKind(
        ADDON_GROUP, _VERSIONS[ADDON_GROUP], "Plugin", _by_namespace_and_name, read_add_on_of_cluster, of_cluster=True
    ),
}
