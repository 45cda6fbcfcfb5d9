"""The expressions that invented fleets use, each with what it means; CEL itself is proved elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rulebook.trees import ABSENT, Hole, Reason

Tree = dict[str, Any]


def _labels(cluster: Tree) -> Tree:
    found: Tree = cluster["metadata"].get("labels", {})
    return found


OF_CLUSTERS: dict[str, Callable[[Tree, str, str], Any]] = {
    "cluster.labels.tier == 'gold' ? 3 : 1": lambda cluster, _, __: 3 if _labels(cluster)["tier"] == "gold" else 1,
    "cluster.labels.tier": lambda cluster, _, __: _labels(cluster)["tier"],
    "'h-' + cluster.name": lambda cluster, _, __: "h-" + cluster["metadata"]["name"],
    "definition.name + '-' + definition.version": lambda _, name, version: f"{name}-{version}",
    "{'at': cluster.name, 'tier': cluster.labels.tier}": lambda cluster, _, __: {
        "at": cluster["metadata"]["name"],
        "tier": _labels(cluster)["tier"],
    },
    "[cluster.name, organization.name]": lambda cluster, _, __: [
        cluster["metadata"]["name"],
        cluster["metadata"]["namespace"],
    ],
}

# Of migrations: an older value to a newer one.
OF_VALUES: dict[str, Callable[[Any], Any]] = {
    "value.map(k, {'name': k, 'of': value[k]})": lambda value: [
        {"name": key, "of": value[key]} for key in _sorted_keys(value)
    ],
    "{'was': value}": lambda value: {"was": value},
    "string(value)": lambda value: str(value).lower() if isinstance(value, bool) else str(_number_or_text(value)),
    "int(value)": lambda value: int(_number_or_text(value)),
    "[value]": lambda value: [value],
    "size(value)": lambda value: len(_sized(value)),
}


def evaluated(text: str, cluster: Tree, definition: str, version: str, option: str) -> Any:
    """An expression's value on a cluster; where it fails, a hole: a gate on that plugin alone."""
    try:
        return OF_CLUSTERS[text](cluster, definition, version)
    except KeyError:
        return Hole(frozenset({Reason("value-type", option)}))


def retyped(text: str, value: Any) -> Any:
    """What a migration makes of a value; ABSENT where it cannot."""
    try:
        return OF_VALUES[text](value)
    except (TypeError, ValueError, KeyError):
        return ABSENT


def _sorted_keys(value: Any) -> list[str]:
    if not isinstance(value, dict):
        raise TypeError
    return sorted(value)


def _number_or_text(value: Any) -> Any:
    if not isinstance(value, int | str):
        raise TypeError
    return value


def _sized(value: Any) -> Any:
    if not isinstance(value, str | list | dict):
        raise TypeError
    return value
