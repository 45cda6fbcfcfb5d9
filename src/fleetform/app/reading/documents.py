"""From documents to objects: each is read by the dialect it is written in."""

from __future__ import annotations

import msgspec

from fleetform.dialects.envelope import Reading
from fleetform.dialects.native.read import is_native, looks_misspelt, read_native
from fleetform.model.answers.base import JsonMap
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


def _read_foreign(tree: JsonMap, origin: Origin, organization: str) -> Reading:
    """A kind that no dialect reads: kept as it is, so that configs and bindings can refer to it."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        near = nearest("kind", [key for key in tree if key not in ("apiVersion", "metadata", "spec")])
        message = "the document has no kind, so it is no manifest"
        hint = f"is {near} meant to be kind?" if near else "add apiVersion and kind"
        return Reading(None, (Diagnostic("missing-field", message, hint, at=At(origin, origin.base)),))
    if not isinstance(version, str) or not version:
        hint = f"add apiVersion: {'fleetform.dev/v1alpha1' if kind in KINDS else 'v1'}"
        message = f"the {kind} has no apiVersion"
        return Reading(None, (Diagnostic("missing-field", message, hint, at=At(origin, origin.base)),))
    if meant := looks_misspelt(version):
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
