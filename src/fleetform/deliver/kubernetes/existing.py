"""An object that is there already, and what becomes of it when it is taken over.

Fields that kubectl, Helm, Flux or Argo CD wrote stay theirs for ever, also when nobody names them any more. Taken over,
they are ours: those that we do not name leave with our first apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fleetform.clusters.fields import FieldSet, our_fields, paths_beyond
from fleetform.clusters.ownership import LEFT_BY, MANAGER, Manifest
from fleetform.deliver.kubernetes.helm_records import MANAGED_BY, NAME, NAMESPACE
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ObjectError

# Tools that bring objects to clusters; controllers, which change what is there, are none of them.
_TOOLS = (
    "kubectl-client-side-apply",
    "kubectl-create",
    "kubectl",
    "before-first-apply",
    "helm",
    "Helm",
    "helm-controller",
    "kustomize-controller",
    "argocd-controller",
    "argocd-application-controller",
)
# What the server writes itself, what says whose an object is, and what kubectl notes for itself.
_NOT_TOLD = (
    ".metadata.managedFields",
    ".metadata.resourceVersion",
    ".metadata.generation",
    ".metadata.labels.fleetform.dev/",
    ".metadata.annotations.fleetform.dev/",
    f".metadata.labels.{MANAGED_BY}",
    f".metadata.annotations.{NAME}",
    f".metadata.annotations.{NAMESPACE}",
    ".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    ".status",
)


class Difference(NamedTuple):
    """The fields of an object that would be others or new, and those that would leave, by path."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def taken_over(client: Client, wanted: Manifest, live: Manifest) -> None:
    """Makes the fields of earlier tools ours, and removes what says whose an object is or was: a Helm release's, say.

    Conditional: who changed it meanwhile is not overruled.
    """
    metadata = live["metadata"]
    entries = metadata.get("managedFields") or []
    renamed = [_as_ours(each) if _is_of_tools(each) else each for each in entries]
    patch: dict[str, Any] = _without_release(wanted, live)
    if LEFT_BY in (metadata.get("annotations") or {}):
        patch["annotations"] = {**patch.get("annotations", {}), LEFT_BY: None}
    if renamed != entries:
        patch["managedFields"] = _merged(renamed)
    if patch:
        patch["resourceVersion"] = metadata["resourceVersion"]
        resource = client.resource_of(live)
        client.merge(resource, metadata.get("namespace", ""), metadata["name"], {"metadata": patch})


def difference(client: Client, wanted: Manifest, live: Manifest) -> Difference:
    """What taking an object over would change of it, as the server says; nothing if it cannot say."""
    try:
        after = client.apply(wanted, force=True, dry_run=True)
    except ObjectError:
        return Difference()
    entries = live["metadata"].get("managedFields") or []
    # What a plugin before us applied leaves with our apply as well: both apply under one name.
    leaves = [each for each in entries if _is_of_tools(each) or _is_our_apply(each)]
    tools = _union_of(leaves)
    stays = _union(our_fields(after), _union_of(each for each in entries if each not in leaves))
    removed = paths_beyond(tools, stays)
    return Difference(_told(each for each in _changed(live, after) if each not in removed), _told(removed))


def _told(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in paths if not each.startswith(_NOT_TOLD))


def _without_release(wanted: Manifest, live: Manifest) -> dict[str, Any]:
    """What takes the marks of a Helm release away. A chart may set the label itself, and even select by it: it stays
    then, and without the annotations Helm does not go by it."""
    annotations, labels = live["metadata"].get("annotations") or {}, live["metadata"].get("labels") or {}
    found: dict[str, Any] = {}
    marks = [each for each in (NAME, NAMESPACE) if each in annotations]
    if marks:
        found["annotations"] = dict.fromkeys(marks)
    if marks and labels.get(MANAGED_BY) == "Helm" and MANAGED_BY not in (wanted["metadata"].get("labels") or {}):
        found["labels"] = {MANAGED_BY: None}
    return found


# ---- Fields and managers


def _is_of_tools(entry: dict[str, Any]) -> bool:
    return entry.get("manager") in _TOOLS and not entry.get("subresource")


def _is_our_apply(entry: dict[str, Any]) -> bool:
    return entry.get("manager") == MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource")


def _as_ours(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "manager": MANAGER, "operation": "Apply"}


def _merged(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry of ours: the server takes no two of one manager and operation."""
    ours = [each for each in entries if each.get("manager") == MANAGER and each.get("operation") == "Apply"]
    others = [each for each in entries if each not in ours]
    return [*others, {**ours[0], "fieldsV1": _union_of(ours)}]


def _union_of(entries: Iterable[dict[str, Any]]) -> FieldSet:
    fields: FieldSet = {}
    for each in entries:
        fields = _union(fields, each.get("fieldsV1") or {})
    return fields


def _union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Two sets of fields: trees whose leaves are empty."""
    found = dict(one)
    for name, below in other.items():
        found[name] = _union(found.get(name) or {}, below or {})
    return found


def _changed(one: Any, other: Any, path: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(each for each in other if each not in one)]
        return [found for name in names for found in _changed(one.get(name), other.get(name), f"{path}.{name}")]
    if isinstance(other, dict) and one is None:
        return [found for name, below in other.items() for found in _changed(None, below, f"{path}.{name}")]
    return [path] if one != other else []
