"""From documents to objects: each is read by the dialect it is written in."""

from __future__ import annotations

from typing import Any

import msgspec

from fleetform.dialects.envelope import Reading
from fleetform.dialects.native.read import is_native, looks_misspelt, read_native
from fleetform.model.conventions import LENIENT
from fleetform.model.kinds import KINDS
from fleetform.model.kinds.base import Metadata
from fleetform.model.objects import At, Object, Origin, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import nearest
from fleetform.ports.inputs import Document

_OCM = ("cluster.open-cluster-management.io/", "addon.open-cluster-management.io/")


def read_document(document: Document, organization: str) -> Reading:
    """The object of a document; organization is where it belongs if it names none (S7)."""
    tree, origin = document.tree, document.origin
    if _is_ours(tree):
        return Reading(None)
    if is_native(tree):
        return read_native(tree, origin, organization)
    if str(tree.get("apiVersion")).startswith("greenhouse.sap/"):
        # Imported where it is needed: most fleets have none of these, and start-up time counts.
        from fleetform.dialects.greenhouse.read import read_greenhouse

        return read_greenhouse(tree, origin, organization)
    if str(tree.get("apiVersion")).startswith(_OCM):
        from fleetform.dialects.ocm.read import read_ocm

        return read_ocm(tree, origin, organization)
    if str(tree.get("apiVersion")).startswith("fleet.squaremo.dev/"):
        from fleetform.dialects.fleeet.read import read_fleeet

        return read_fleeet(tree, origin, organization)
    if str(tree.get("apiVersion")).startswith("cluster.x-k8s.io/") and tree.get("kind") == "Cluster":
        from fleetform.dialects.fleeet.cluster_api import read_cluster

        return read_cluster(tree, origin, organization)
    return _read_foreign(tree, origin, organization)


def _is_ours(tree: dict[str, Any]) -> bool:
    """A state export or a feed that lies among the fleet's files: written by us, and no object of it."""
    if "apiVersion" in tree:
        return False
    return (tree.get("kind") == "State" and "stamps" in tree) or tree.keys() == {"releases"}


def _read_foreign(tree: dict[str, Any], origin: Origin, organization: str) -> Reading:
    """A kind of somebody else's: kept as it is, so that configs and bindings can refer to it."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    problem = _misspelt_envelope(tree, origin)
    if problem is not None:
        return Reading(None, (problem,))
    written = tree.get("metadata") if isinstance(tree.get("metadata"), dict) else {}
    name, namespace = (written or {}).get("name"), (written or {}).get("namespace")
    ref = Ref(
        f"{kind}", namespace if isinstance(namespace, str) else organization, name if isinstance(name, str) else ""
    )
    try:
        metadata = msgspec.convert({"name": ref.name or None}, Metadata)
    except msgspec.ValidationError:
        metadata = Metadata()
    return Reading(Object(ref, metadata, None, origin, f"foreign:{version}", content=tree, conventions=LENIENT))


def _misspelt_envelope(tree: dict[str, Any], origin: Origin) -> Diagnostic | None:
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        near = nearest("kind", [key for key in tree if key not in ("apiVersion", "metadata", "spec")])
        message = "the document has no kind, so it is no manifest"
        hint = f"is {near} meant to be kind?" if near else "add apiVersion and kind"
        return Diagnostic("missing-field", message, hint, at=At(origin, origin.base))
    if not isinstance(version, str) or not version:
        native = "fleetform.dev/v1alpha1" if kind in KINDS else "v1"
        message = f"the {kind} has no apiVersion"
        return Diagnostic("missing-field", message, f"add apiVersion: {native}", at=At(origin, origin.base))
    meant = looks_misspelt(version)
    if meant:
        at = At(origin, (*origin.base, "apiVersion"))
        return Diagnostic("unsupported-version", f"{version} is not known", f"did you mean {meant}?", at=at)
    return None
