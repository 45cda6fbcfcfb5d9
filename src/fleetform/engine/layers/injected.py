"""Values that a system puts into every plugin by itself: charts get them, and expressions may read them."""

from __future__ import annotations

from typing import Any

from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.syntax.option_paths import PathError, set_in_tree


def injected_values(owner: Object[Any], cluster: Object[ClusterSpec]) -> dict[str, Any]:
    """The values that an owner's system adds to its plugin on a cluster; a tree with one root, or none."""
    names = owner.conventions.injected
    if names is None:
        return {}
    below: dict[str, Any] = {names.organization: owner.ref.organization, names.cluster: cluster.ref.name}
    below |= names.constants
    if owner.labels.get(names.owner_label):
        below[names.owner] = owner.labels[names.owner_label]
    labels: dict[str, Any] = {}
    for key, value in sorted(cluster.labels.items()):
        if key.startswith(names.label_prefix) and key != names.label_prefix:
            # A label with dots becomes maps inside maps; one inside the value of another has no place.
            steps = tuple(key.removeprefix(names.label_prefix).split("."))
            try:
                set_in_tree(labels, steps, value)
            except PathError:
                continue
    if labels:
        below[names.labels] = labels
    tree: dict[str, Any] = below
    for step in reversed(names.at):
        tree = {step: tree}
    return tree


def with_injected(tree: dict[str, Any], injected: dict[str, Any]) -> dict[str, Any]:
    """A tree of values with those of the system over it; nothing that is given is changed."""
    merged = dict(tree)
    for key, value in injected.items():
        below = merged.get(key)
        merged[key] = with_injected(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
