"""Trees of values, as YAML and JSON have them: the one place where a tree of unknown shape gets a type."""

from __future__ import annotations

from typing import Any, TypeAlias

# Whatever YAML can hold. Code that looks inside narrows it, by isinstance or by the functions below.
YamlValue: TypeAlias = Any
YamlMap: TypeAlias = dict[str, Any]


def as_map(tree: object) -> YamlMap:
    """The tree if it is a map, or an empty map."""
    return tree if isinstance(tree, dict) else {}


def as_list(tree: object) -> list[YamlValue]:
    """The tree if it is a list, or an empty list."""
    return tree if isinstance(tree, list) else []


def text_at(tree: object, key: str) -> str | None:
    """The text of a key, without blanks around it; None if there is none, or something else."""
    found = as_map(tree).get(key)
    return found.strip() or None if isinstance(found, str) else None


def same_value(one: YamlValue, other: YamlValue) -> bool:
    """Equal as values: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def copied(tree: YamlValue) -> YamlValue:
    """A tree that shares no map and no list with another."""
    if isinstance(tree, dict):
        return {key: copied(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [copied(each) for each in tree]
    return tree


def kinds_in(tree: YamlValue, *marks: type) -> set[type]:
    """Which of floats and some marks are in a tree: one walk for all who would ask."""
    found: set[type] = set()
    _add_kinds(tree, (float, *marks), found)
    return found


def _add_kinds(tree: YamlValue, wanted: tuple[type, ...], found: set[type]) -> None:
    kind = tree.__class__
    if kind in wanted:
        found.add(kind)
    elif kind is dict or kind is list:
        for each in tree.values() if kind is dict else tree:
            # Most of what there is are texts.
            if each.__class__ is not str:
                _add_kinds(each, wanted, found)
