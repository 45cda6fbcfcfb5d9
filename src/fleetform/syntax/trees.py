"""Trees of values, as YAML and JSON have them."""

from __future__ import annotations

from typing import Any


def same_value(one: Any, other: Any) -> bool:
    """Equal as values: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def copied(tree: Any) -> Any:
    """A tree that shares no map and no list with another."""
    if isinstance(tree, dict):
        return {key: copied(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [copied(each) for each in tree]
    return tree


def kinds_in(tree: Any, *marks: type) -> set[type]:
    """Which of floats and some marks are in a tree: one walk for all who would ask."""
    found: set[type] = set()
    _add_kinds(tree, (float, *marks), found)
    return found


def _add_kinds(tree: Any, wanted: tuple[type, ...], found: set[type]) -> None:
    kind = tree.__class__
    if kind in wanted:
        found.add(kind)
    elif kind is dict or kind is list:
        for each in tree.values() if kind is dict else tree:
            # Most of what there is are texts.
            if each.__class__ is not str:
                _add_kinds(each, wanted, found)
