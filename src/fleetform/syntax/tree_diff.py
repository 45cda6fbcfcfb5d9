"""The difference of two trees as an RFC 6902 patch that turns the one into the other."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.syntax.trees import YamlMap, YamlValue, same_value

Operation = YamlMap


def patch_between(one: YamlValue, other: YamlValue, pointer: str = "") -> Iterator[Operation]:
    """Operations in an order in which they can be applied; true is not 1. A replacement also has the old value."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one:
            if key not in other:
                yield {"op": "remove", "path": f"{pointer}/{_escaped(key)}"}
        for key, value in other.items():
            below = f"{pointer}/{_escaped(key)}"
            if key in one:
                yield from patch_between(one[key], value, below)
            else:
                yield {"op": "add", "path": below, "value": value}
    elif isinstance(one, list) and isinstance(other, list):
        yield from _between_lists(one, other, pointer)
    elif not same_value(one, other):
        yield {"op": "replace", "path": pointer, "value": other, "was": one}


def _between_lists(one: list[YamlValue], other: list[YamlValue], pointer: str) -> Iterator[Operation]:
    """Item by item between the items that both lists begin and end with: an insertion does not move the others."""
    start = 0
    while start < min(len(one), len(other)) and same_value(one[start], other[start]):
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and same_value(one[-1 - end], other[-1 - end]):
        end += 1
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    both = min(len(left), len(right))
    for index in range(both):
        yield from patch_between(left[index], right[index], f"{pointer}/{start + index}")
    for index in range(len(left) - 1, both - 1, -1):
        yield {"op": "remove", "path": f"{pointer}/{start + index}"}
    for index in range(both, len(right)):
        yield {"op": "add", "path": f"{pointer}/{start + index}", "value": right[index]}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
