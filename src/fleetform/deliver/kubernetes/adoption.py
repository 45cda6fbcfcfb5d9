"""Taking over objects that somebody applied before us.

Fields that kubectl or Helm wrote in the old way stay theirs for ever, also when nobody names them any more. Taken over,
they are ours: those that we do not name leave with our first apply.
"""

from __future__ import annotations

from typing import Any

from fleetform.clusters.ownership import MANAGER, Manifest
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.resources import Resource

_LEGACY = ("kubectl-client-side-apply", "kubectl-create", "kubectl", "before-first-apply", "helm", "Helm")


def taken_over(client: Client, resource: Resource, live: Manifest) -> Manifest:
    """The object with the fields of earlier tools as ours. Conditional: who changed it meanwhile is not overruled."""
    entries = live["metadata"].get("managedFields") or []
    renamed = [_ours(each) if _is_legacy(each) else each for each in entries]
    if renamed == entries:
        return live
    metadata = live["metadata"]
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "managedFields": _merged(renamed)}}
    return client.merge(resource, metadata.get("namespace", ""), metadata["name"], patch)


def _is_legacy(entry: dict[str, Any]) -> bool:
    return entry.get("manager") in _LEGACY and not entry.get("subresource")


def _ours(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "manager": MANAGER, "operation": "Apply"}


def _merged(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry of ours: the server takes no two of one manager and operation."""
    ours = [each for each in entries if each.get("manager") == MANAGER and each.get("operation") == "Apply"]
    others = [each for each in entries if each not in ours]
    fields: dict[str, Any] = {}
    for each in ours:
        fields = _union(fields, each.get("fieldsV1") or {})
    return [*others, {**ours[0], "fieldsV1": fields}]


def _union(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two sets of fields: trees whose leaves are empty."""
    found = dict(one)
    for name, below in other.items():
        found[name] = _union(found.get(name) or {}, below or {})
    return found


def would_change(client: Client, wanted: Manifest, live: Manifest) -> list[str]:
    """The fields that taking an object over would change or add, by path, as the server says; none if it cannot say."""
    try:
        after = client.apply(wanted, force=True, dry_run=True)
    except OutsideError:
        return []
    return [each for each in _changed(live, after) if not each.startswith(_OURS_ANYWAY)]


# What the server writes itself, and what says whose an object is.
_OURS_ANYWAY = (
    ".metadata.managedFields",
    ".metadata.resourceVersion",
    ".metadata.generation",
    ".metadata.labels.fleetform.dev/",
    ".metadata.annotations.fleetform.dev/",
    ".status",
)


def _changed(one: Any, other: Any, path: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(each for each in other if each not in one)]
        return [found for name in names for found in _changed(one.get(name), other.get(name), f"{path}.{name}")]
    if isinstance(other, dict) and one is None:
        return [found for name, below in other.items() for found in _changed(None, below, f"{path}.{name}")]
    return [path] if one != other else []
