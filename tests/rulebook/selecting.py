"""Which clusters a selector means, and how an override ranks."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]


def selects(selector: Any, cluster: Tree) -> bool:
    """Labels and names are a union, ignored clusters beat both; a list is a union of such (R0-2, R0-3, S17)."""
    if isinstance(selector, list):
        return not selector or any(selects(each, cluster) for each in selector)
    name = cluster["metadata"]["name"]
    labels = cluster["metadata"].get("labels", {})
    selector = selector or {}
    if name in selector.get("ignoreClusters", []):
        return False
    by_label = label_selector(selector)
    names = selector.get("clusterNames", [])
    if not by_label and not names:
        return True
    return name in names or (bool(by_label) and matches(by_label, labels))


def label_selector(selector: Tree) -> Tree:
    """The label selector, written under its name or straight; one that is empty says nothing (R0-3, S53)."""
    held = selector.get("labelSelector", selector)
    return {key: held[key] for key in ("matchLabels", "matchExpressions") if held.get(key)}


def matches(selector: Tree, labels: Tree) -> bool:
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for each in selector.get("matchExpressions", []):
        key, values = each["key"], each.get("values", [])
        held = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not held[each["operator"]]:
            return False
    return True


def names_clusters(selector: Any) -> bool:
    """All spellings of an empty selector name none (R0-4)."""
    if isinstance(selector, list):
        return bool(selector) and all(names_clusters(each) for each in selector)
    selector = selector or {}
    return bool(label_selector(selector) or selector.get("clusterNames") or selector.get("ignoreClusters"))


def rank_of(override: Tree) -> int:
    """1 names neither clusters nor definitions, 2 one of them, 3 both (R0-10, S16)."""
    spec = override["spec"]
    return 1 + bool(spec.get("pluginDefinitionNames")) + names_clusters(spec.get("clusterSelector"))


def reaches(override: Tree, cluster: Tree, definition: str) -> bool:
    spec = override["spec"]
    names = spec.get("pluginDefinitionNames") or [definition]
    return definition in names and selects(spec.get("clusterSelector"), cluster)


def created_of(document: Tree, stamps: dict[tuple[str, str], str]) -> tuple[int, str]:
    """When it was created; none is newest (B7)."""
    metadata = document["metadata"]
    annotation = metadata.get("annotations", {}).get("fleetform.dev/created")
    time = stamps.get((document["kind"], metadata["name"])) or annotation or metadata.get("creationTimestamp")
    return (0, time) if time else (1, "")


def age_of(document: Tree, stamps: dict[tuple[str, str], str]) -> tuple[tuple[int, str], str]:
    """Oldest first; equal times are settled by name (R0-11, S16)."""
    return created_of(document, stamps), document["metadata"]["name"]
