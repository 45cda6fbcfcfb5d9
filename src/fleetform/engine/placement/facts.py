"""What placements read in a cluster's facts: claims, quantities, and the tree that CEL sees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import isfinite

import msgspec

from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.syntax.cel import context_of

Cluster = Object[ClusterSpec]
# The scores that add-ons published, by cluster, resource and score.
Scores = Mapping[tuple[str, str, str], int]

_QUANTITY = re.compile(
    r"(?P<number>[-+]?([0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?\Z"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_STATUS = ("allocatable", "capacity", "conditions")


@lru_cache(maxsize=65_536)
def parse_quantity(text: str) -> Decimal:
    """A Kubernetes quantity such as 500m, 1.5Gi or 1e3. ValueError if it is none."""
    match = _QUANTITY.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m or 2Gi")
    suffix = match.group("suffix") or ""
    try:
        number = Decimal(match.group("number"))
        if suffix in _BINARY:
            return number * Decimal(2) ** _BINARY[suffix]
        return number.scaleb(_DECIMAL.get(suffix) or int(suffix[1:] or 0))
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is out of range") from error


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
    own, facts = context_of(cluster, "", None), cluster.spec.facts or {}
    status: dict[str, object] = {part: facts[part] for part in _STATUS if part in facts}
    status["clusterClaims"] = [{"name": name, "value": value} for name, value in sorted(claims_of(cluster).items())]
    if "version" in facts:
        version = facts["version"]
        status["version"] = version if isinstance(version, Mapping) else {"kubernetes": _text(version)}
    managed = {
        "metadata": {
            "name": cluster.ref.name,
            "labels": dict(cluster.labels),
            "annotations": dict(cluster.metadata.annotations or {}),
        },
        "spec": {"taints": msgspec.to_builtins(cluster.spec.taints or [])},
        "status": status,
        "scores": {
            resource: [{"name": name, "value": value} for name, value in sorted(named.items())]
            for resource, named in scores.items()
        },
    }
    # Our own names, and the one that Open Cluster Management's expressions use.
    return {"cluster": own["cluster"], "organization": own["organization"], "managedCluster": managed}


def _part(cluster: Cluster, name: str) -> Mapping[str, object]:
    part = (cluster.spec.facts or {}).get(name)
    return part if isinstance(part, Mapping) else {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
