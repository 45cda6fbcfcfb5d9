"""From documents to objects: each is read by the dialect it is written in."""

from __future__ import annotations

import msgspec

from fleetform.dialects.envelope import Reading
from fleetform.dialects.native.read import GROUP, is_native, misspelt_version, nearest_kind, read_native
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.conventions import LENIENT
from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.base import Metadata
from fleetform.model.objects import At, Object, Origin, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import nearest
from fleetform.ports.inputs import Document
from fleetform.syntax.trees import as_map

NO_MANIFEST = Reading(None, is_manifest=False)
_OCM = ("cluster.open-cluster-management.io/", "addon.open-cluster-management.io/")
_TOP_LEVEL = ("apiVersion", "kind", "metadata", "spec")
# Kinds of these groups that nothing is decided by.
_WITHOUT_EFFECT = (
    "ClusterClaim",
    *("ClusterKubeconfig", "PluginConfig", "Team", "TeamMembership", "TeamRole", "TeamRoleBinding"),
)


def read_document(document: Document, organization: str) -> Reading:
    """The object of a document; organization is where it belongs if it names none (S7)."""
    tree, origin = document.tree, document.origin
    if not isinstance(tree, dict):
        return _read_no_map(tree, origin)
    version, kind = str(tree.get("apiVersion")), tree.get("kind")
    if "apiVersion" not in tree and ((kind == "State" and "stamps" in tree) or tree.keys() == {"releases"}):
        # A state export or a feed among the fleet's files: written by Fleetform, and no object of the fleet.
        return Reading(None)
    if is_native(tree):
        return read_native(tree, origin, organization)
    # Dialects are imported where they are needed: most fleets have none of these, and start-up time counts.
    if version.startswith("greenhouse.sap/"):
        from fleetform.dialects.greenhouse.read import read_greenhouse

        return read_greenhouse(tree, origin, organization)
    if version.startswith(_OCM):
        from fleetform.dialects.ocm.read import read_ocm

        return read_ocm(tree, origin, organization)
    if version.startswith("fleet.squaremo.dev/"):
        from fleetform.dialects.fleeet.read import read_fleeet

        return read_fleeet(tree, origin, organization)
    if version.startswith("cluster.x-k8s.io/") and kind == "Cluster":
        from fleetform.dialects.fleeet.cluster_api import read_cluster

        return read_cluster(tree, origin, organization)
    return _read_foreign(tree, origin, organization)


def is_read_by_dialect(version: str, kind: str) -> bool:
    """Whether an apiVersion and a kind are, or seem to be, those of something that has an effect, or a list of it."""
    if version.startswith("cluster.x-k8s.io/"):
        return kind in ("", "Cluster", "ClusterList")
    groups = (f"{GROUP}/", "greenhouse.sap/", *_OCM, "fleet.squaremo.dev/")
    ours = version.startswith(groups) and kind not in _WITHOUT_EFFECT
    return ours or kind in ("PluginOverride", "List") or misspelt_version(version, kind) is not None


def is_of_one_organization(version: str) -> bool:
    """Whether objects of an apiVersion belong to one organization whatever their namespaces are (S7)."""
    return version.startswith((*_OCM, "fleet.squaremo.dev/", "cluster.x-k8s.io/"))


def _read_no_map(tree: Json, origin: Origin) -> Reading:
    """A text, a list such as a JSON patch, or a document that was not read to the end; a list of manifests is wrong."""
    items = [as_map(each) for each in tree] if isinstance(tree, list) else []
    if not any("apiVersion" in each and "kind" in each for each in items):
        return NO_MANIFEST
    hint = "write them one by one, separated by a line `---`, or as items of kind: List"
    found = Diagnostic("bad-value", "a manifest must be a map, not a list of them", hint, at=At(origin, origin.base))
    return Reading(None, (found,))


def _read_incomplete(tree: JsonMap, origin: Origin) -> Reading:
    """A map without apiVersion or kind: a manifest with a mistake in it, or a file of another tool (S10)."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    others = [key for key in tree if key not in _TOP_LEVEL]
    near = next((key for key in others if nearest(key, ["kind"]) and nearest_kind(tree[key])), None)
    named = "name" in as_map(tree.get("metadata")) and (kind or version)
    # Other tools have files of a kind such as Plugin, too: with neither metadata nor spec, and with keys of their own.
    ours = tree.keys() & {"metadata", "spec"} or all(nearest(key, _TOP_LEVEL) for key in others)
    meant = bool(nearest_kind(kind)) and bool(ours)
    if near is None and not named and not meant and not {"metadata", "spec"} <= tree.keys():
        return NO_MANIFEST
    severity: Severity = "error"
    message, hint = "the document has no kind", f"is {near} meant to be kind?" if near else "add apiVersion and kind"
    if isinstance(kind, str) and kind:
        message, hint = f"the {kind} has no apiVersion", f"add apiVersion: {API_VERSION}"
        if not nearest_kind(kind):
            # Other tools have kinds and metadata, too. If it is meant for Kubernetes, it has no effect of its own.
            severity, hint = "warning", "add apiVersion, if it is meant for Kubernetes"
    return Reading(None, (Diagnostic("missing-field", message, hint, severity, at=At(origin, origin.base)),))


def _read_foreign(tree: JsonMap, origin: Origin, organization: str) -> Reading:
    """A kind that no dialect reads: kept as it is, so that configs and bindings can refer to it."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not kind or not isinstance(version, str) or not version:
        return _read_incomplete(tree, origin)
    if meant := misspelt_version(version, kind):
        message, at = f"{version} is not known", At(origin, (*origin.base, "apiVersion"))
        return Reading(None, (Diagnostic("unsupported-version", message, f"did you mean {meant}?", at=at),))
    written = tree.get("metadata")
    named: JsonMap = written if isinstance(written, dict) else {}
    name, namespace = named.get("name"), named.get("namespace")
    home = namespace if isinstance(namespace, str) else organization
    ref = Ref(kind, home, name if isinstance(name, str) else "")
    try:
        metadata = msgspec.convert({"name": ref.name or None}, Metadata)
    except msgspec.ValidationError:
        metadata = Metadata()
    return Reading(Object(ref, metadata, None, origin, f"foreign:{version}", content=tree, conventions=LENIENT))
