"""Operations, written by name; a path is a JSON pointer (pointer_to escapes keys)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetform.syntax.json_patch import Operation, parse_patch, parse_pointer
from fleetform.syntax.tree_diff import patch_between
from fleetform.transform.views import plain, unwrapped


def add(path: str, value: Any) -> Operation:
    """Set a key of a map, or insert an item into a list; `-` is behind its last."""
    parse_pointer(path)
    return Operation(op="add", path=path, value=unwrapped(value))


def remove(path: str) -> Operation:
    """Remove what is at a path."""
    parse_pointer(path)
    return Operation(op="remove", path=path)


def replace(path: str, value: Any) -> Operation:
    """Replace what is at a path; something must be."""
    parse_pointer(path)
    return Operation(op="replace", path=path, value=unwrapped(value))


def move(source: str, path: str) -> Operation:
    """Move what is at a place to a path."""
    for pointer in (source, path):
        parse_pointer(pointer)
    return Operation(op="move", from_=source, path=path)


def copy(source: str, path: str) -> Operation:
    """Copy what is at a place to a path."""
    for pointer in (source, path):
        parse_pointer(pointer)
    return Operation(op="copy", from_=source, path=path)


def require(path: str, value: Any) -> Operation:
    """Make all operations of a plugin depend on a value: a test, in the words of JSON patch."""
    parse_pointer(path)
    return Operation(op="test", path=path, value=unwrapped(value))


def operations_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Operation, ...]:
    """The operations that make one tree of another."""
    return parse_patch(list(patch_between(plain(before), plain(after))))
