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
