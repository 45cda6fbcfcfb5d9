"""Cluster API's clusters: clusters with their labels, reached by the kubeconfig that its controllers keep.

Nothing else of one is interpreted. The whole manifest is kept, so that bindings can read any field of it.
"""

from __future__ import annotations

from fleetform.dialects.envelope import Reading, read_metadata
from fleetform.dialects.manifest import check_envelope, metadata_text
from fleetform.dialects.native.spellings import Pair
from fleetform.model.conventions import Conventions
from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.fleet import Access, ClusterSpec, KubeconfigAccess
from fleetform.model.objects import Object, Origin, Ref
from fleetform.syntax.trees import YamlMap

CONVENTIONS = Conventions(lenient=True, own_namespace=True)
_MOVED: tuple[Pair, ...] = ((("spec", "access"), ("metadata", "name")),)


def read_cluster(tree: YamlMap, origin: Origin, organization: str) -> Reading:
    """A Cluster of any version; it belongs to the organization whatever its namespace is (S7)."""
    ref = Ref("Cluster", organization, metadata_text(tree, "name") or "")
    metadata, diagnostics = read_metadata(tree, origin, ref)
    diagnostics += check_envelope(tree, origin, ref)
    if metadata is None or not ref.name:
        return Reading(None, tuple(diagnostics))
    kubeconfig = KubeconfigAccess(SecretKey(f"{ref.name}-kubeconfig", "value"))
    spec = ClusterSpec(access=Access(kubeconfig=kubeconfig))
    return Reading(
        Object(ref, metadata, spec, origin, "cluster-api", _MOVED, content=tree, conventions=CONVENTIONS),
        tuple(diagnostics),
    )
