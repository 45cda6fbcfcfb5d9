"""Flux's objects that bring others to a cluster, and whether they are still at it: two that apply would not end."""

from __future__ import annotations

from typing import NamedTuple

from fleetform.clusters.ownership import Manifest
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import NoKindError

_KINDS = {
    "helm.toolkit.fluxcd.io": ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
    "kustomize.toolkit.fluxcd.io": ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
}


class FluxOwner(NamedTuple):
    """A HelmRelease or Kustomization."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"Flux's {self.kind} {self.namespace}/{self.name}"


def flux_owner_of(live: Manifest) -> FluxOwner | None:
    """Which of Flux's objects brought an object, as its labels say."""
    labels = live["metadata"].get("labels") or {}
    for group, (version, kind) in _KINDS.items():
        if labels.get(f"{group}/name"):
            return FluxOwner(version, kind, labels.get(f"{group}/namespace", ""), labels[f"{group}/name"])
    return None


def is_at_work(client: Client, owner: FluxOwner) -> bool:
    """Whether it is on this cluster and not suspended; one on another cluster cannot be seen from here."""
    try:
        found = client.get(client.resource(owner.api_version, owner.kind), owner.namespace, owner.name)
    except NoKindError:
        return False
    return found is not None and not (found.get("spec") or {}).get("suspend")
