"""Strategic merge patches, as `kubectl patch` and kustomize read them.

Maps are merged and null removes, as in a JSON merge patch; lists of Kubernetes' own kinds are merged item by item where
its API types name a key that tells items apart, and replaced elsewhere. Directives: `$patch: replace` and
`$patch: delete` in a map or a list's item, `$deleteFromPrimitiveList/<field>`, `$retainKeys`;
`$setElementOrder/<field>` is read and has no effect: kept items stay in place and new ones come last. Kinds of custom
resources have no such types: they take a JSON merge patch.
"""

from __future__ import annotations

from typing import Any

from fleetform.syntax.json_merge import merge_patch
from fleetform.syntax.names import api_group

# The groups of Kubernetes itself; others that end in .k8s.io are custom resources.
BUILT_IN_GROUPS = frozenset(
    {
        "", "apps", "autoscaling", "batch", "extensions", "policy", "admissionregistration.k8s.io",
        "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
        "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
        "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io",
        "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
    }
)  # fmt: skip

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# Lists that are merged, by the field that holds them and their own name, with the key that tells items apart. A pod's
# spec is always called spec, so that this names it in every kind with a template.
MERGE_KEYS: dict[tuple[str, str], str] = {
    ("metadata", "ownerReferences"): "uid",
    **{("spec", each): "name" for each in _CONTAINERS},
    **{(each, "env"): "name" for each in _CONTAINERS},
    **{(each, "ports"): "containerPort" for each in _CONTAINERS},
    **{(each, "volumeMounts"): "mountPath" for each in _CONTAINERS},
    **{(each, "volumeDevices"): "devicePath" for each in _CONTAINERS},
    ("spec", "volumes"): "name",
    ("spec", "imagePullSecrets"): "name",
    ("spec", "hostAliases"): "ip",
    ("spec", "topologySpreadConstraints"): "topologyKey",
    ("spec", "schedulingGates"): "name",
    ("spec", "resourceClaims"): "name",
    # Of a Service; no other kind has ports in its spec.
    ("spec", "ports"): "port",
    ("spec", "taints"): "key",
    ("spec", "matchConditions"): "name",
    ("spec", "variables"): "name",
    ("status", "conditions"): "type",
    ("status", "addresses"): "type",
    ("status", "podIPs"): "ip",
    # At the top of an object.
    ("", "secrets"): "name",
    ("", "imagePullSecrets"): "name",
    ("", "webhooks"): "name",
    ("webhooks", "matchConditions"): "name",
}
# Lists of single values that are merged: each value once.
MERGED_VALUES = frozenset({("metadata", "finalizers"), ("spec", "finalizers")})

_PATCH, _RETAIN = "$patch", "$retainKeys"
_DELETE_VALUES, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


class StrategicMergeError(ValueError):
    """A strategic merge patch that cannot be read."""


def is_built_in(tree: dict[str, Any]) -> bool:
    """Whether an object is of one of Kubernetes' own kinds."""
    return api_group(str(tree.get("apiVersion", ""))) in BUILT_IN_GROUPS


def merge_into_object(tree: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any] | None:
    """An object with a merge patch applied as its kind takes it; None where the patch deletes the object."""
    if patch.get(_PATCH) == "delete":
        return None
    merged: dict[str, Any] = _merged_map(tree, patch, "") if is_built_in(tree) else merge_patch(tree, patch)
    return merged


def _merged_map(tree: Any, patch: dict[str, Any], field: str) -> Any:
    """A map with a patch; field is the one that holds it, or holds the list that it is an item of."""
    directive = patch.get(_PATCH, "merge")
    if directive not in ("merge", "replace"):
        raise StrategicMergeError(f"$patch is {directive!r}; there are merge, replace and delete")
    merged = dict(tree) if isinstance(tree, dict) and directive == "merge" else {}
    if _RETAIN in patch:
        merged = {key: each for key, each in merged.items() if key in _list_of(patch[_RETAIN], _RETAIN)}
    for key, value in patch.items():
        if key.startswith(_DELETE_VALUES):
            name = key.removeprefix(_DELETE_VALUES)
            gone = _list_of(value, key)
            if isinstance(merged.get(name), list):
                merged[name] = [each for each in merged[name] if each not in gone]
        elif key in (_PATCH, _RETAIN) or key.startswith(_ORDER):
            continue
        elif value is None or (isinstance(value, dict) and value.get(_PATCH) == "delete"):
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merged_map(merged.get(key), value, key)
        elif isinstance(value, list):
            merged[key] = _merged_list(merged.get(key), value, (field, key))
        else:
            merged[key] = value
    return merged


def _merged_list(items: Any, patch: list[Any], place: tuple[str, str]) -> list[Any]:
    before = items if isinstance(items, list) else []
    if place in MERGED_VALUES:
        return [*before, *(each for each in patch if each not in before)]
    key = MERGE_KEYS.get(place)
    if key is None:
        return [_without_directives(each, place[1]) for each in patch]
    if {_PATCH: "replace"} in patch:
        before, patch = [], [each for each in patch if each != {_PATCH: "replace"}]
    merged = list(before)
    places = {each.get(key): number for number, each in enumerate(merged) if isinstance(each, dict)}
    gone = set()
    for each in patch:
        if not isinstance(each, dict) or key not in each:
            raise StrategicMergeError(f"an item of {place[1]} in a strategic merge patch needs {key!r}")
        number = places.get(each[key])
        if each.get(_PATCH) == "delete":
            gone |= {number}
        elif number is None:
            places[each[key]] = len(merged)
            merged.append(_merged_map(None, each, place[1]))
        else:
            merged[number] = _merged_map(merged[number], each, place[1])
    return [each for number, each in enumerate(merged) if number not in gone]


def _without_directives(tree: Any, field: str) -> Any:
    return _merged_map(None, tree, field) if isinstance(tree, dict) else tree


def _list_of(tree: Any, directive: str) -> list[Any]:
    if not isinstance(tree, list):
        raise StrategicMergeError(f"{directive} takes a list")
    return tree
