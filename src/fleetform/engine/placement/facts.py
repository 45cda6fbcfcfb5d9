"""What placements read in a cluster's facts: claims, quantities, and the tree that CEL sees."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import msgspec

from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.syntax.cel import context_of
from fleetform.syntax.quantities import parse_quantity

Cluster = Object[ClusterSpec]
# The scores that add-ons published, by cluster, resource and score.
Scores = Mapping[tuple[str, str, str], int]

# Facts that a ManagedCluster has in its spec and its status, by the names that they have there.
SPEC_FACTS = ("hubAcceptsClient", "leaseDurationSeconds", "managedClusterClientConfigs")
STATUS_FACTS = ("allocatable", "capacity", "conditions", "managedNamespaces")
_AMOUNTS = ("allocatable", "capacity")
_LEASE_SECONDS = 60


def allocatable_of(cluster: Cluster, resource: str) -> float | None:
    """How much of cpu or memory a cluster says it can give; None if it says nothing that can be read."""
    amount = _part(cluster, "allocatable").get(resource)
    try:
        number = float(parse_quantity(str(amount)))
    except ValueError:
        return None
    return number if isfinite(number) else None


def claims_of(cluster: Cluster) -> dict[str, str]:
    """A cluster's claims as texts."""
    return {str(name): _text(value) for name, value in _part(cluster, "claims").items()}


def context_for(cluster: Cluster, scores: Mapping[str, Mapping[str, int]]) -> dict[str, object]:
    """What a placement's expression sees of one cluster; scores are those of the cluster, by resource."""
    own = context_of(cluster, "", None)
    managed = {
        "metadata": {
            "labels": {},
            "annotations": {},
            **msgspec.to_builtins(cluster.metadata),
            "name": cluster.ref.name,
        },
        "spec": _managed_spec(cluster),
        "status": _managed_status(cluster),
        "scores": {
            resource: [{"name": name, "value": value} for name, value in sorted(named.items())]
            for resource, named in scores.items()
        },
    }
    # Our own names, and the one that Open Cluster Management's expressions use.
    return {"cluster": own["cluster"], "organization": own["organization"], "managedCluster": managed}


def _managed_spec(cluster: Cluster) -> dict[str, object]:
    """A ManagedCluster's spec, with what the hub itself fills in."""
    facts = cluster.spec.facts or {}
    written = {field: facts[field] for field in SPEC_FACTS if field in facts}
    taints = {"taints": msgspec.to_builtins(cluster.spec.taints)} if cluster.spec.taints else {}
    return {"hubAcceptsClient": True, "leaseDurationSeconds": _LEASE_SECONDS, **written, **taints}


def _managed_status(cluster: Cluster) -> dict[str, object]:
    facts = cluster.spec.facts or {}
    status: dict[str, object] = {"version": {}, "conditions": None}
    for part in STATUS_FACTS:
        if part in facts:
            value = facts[part]
            is_amounts = part in _AMOUNTS and isinstance(value, Mapping)
            status[part] = {name: _text(each) for name, each in value.items()} if is_amounts else value
    if isinstance(facts.get("claims"), Mapping) and facts["claims"]:
        claims = claims_of(cluster)
        status["clusterClaims"] = [{"name": name, "value": value} for name, value in sorted(claims.items())]
    if "version" in facts:
        version = facts["version"]
        status["version"] = version if isinstance(version, Mapping) else {"kubernetes": _text(version)}
    return status


def _part(cluster: Cluster, name: str) -> Mapping[str, object]:
    part = (cluster.spec.facts or {}).get(name)
    return part if isinstance(part, Mapping) else {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
