"""Random patches on random documents: what the package jsonpatch answers, and laws of our own."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonpointer import JsonPointerException

from fleetform.syntax.json_patch import (
    CRANE,
    OPERATIONS,
    Operation,
    PatchError,
    apply_patch,
    parse_patch,
    parse_pointer,
    pointer_to,
    read_patch,
    write_patch,
)
from fleetform.syntax.tree_diff import patch_between
from fleetform.syntax.trees import same_value

KEYS = st.sampled_from(["a", "b", "0", "1", "-", "x/y", "m~n", ""])
# No booleans beside numbers: the other library takes true for 1.
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["s", "t"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
POINTERS = st.lists(st.one_of(KEYS, st.sampled_from(["2", "3"])), min_size=1, max_size=3).map(
    lambda steps: pointer_to(*steps)
)


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    op, path = draw(st.sampled_from(OPERATIONS)), draw(POINTERS)
    if op in ("add", "replace", "test"):
        return Operation(op=op, path=path, value=draw(VALUES))
    return Operation(op=op, path=path) if op == "remove" else Operation(op=op, path=path, from_=draw(POINTERS))


def theirs(document: Any, patch: list[Operation]) -> Any:
    """What the other library answers; None where it fails."""
    try:
        return jsonpatch.apply_patch(copy.deepcopy(document), write_patch(patch).decode())
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, AttributeError, KeyError):
        # It lets errors of Python through where a step goes into a single value.
        return None


def ours(document: Any, patch: list[Operation]) -> Any:
    try:
        return apply_patch(document, patch)
    except PatchError:
        return None


@settings(max_examples=500)
@given(DOCUMENTS, st.lists(operations(), max_size=4))
def test_a_patch_gives_what_another_library_gives(document: Any, patch: list[Operation]) -> None:
    before = copy.deepcopy(document)
    assert ours(document, patch) == theirs(document, patch)
    assert document == before


@given(DOCUMENTS, st.lists(operations(), max_size=4))
def test_what_applies_strictly_applies_relaxed_with_the_same_result(document: Any, patch: list[Operation]) -> None:
    strictly = ours(document, patch)
    if strictly is not None:
        assert apply_patch(document, patch, CRANE) == strictly


@given(DOCUMENTS, DOCUMENTS)
def test_the_difference_of_two_trees_makes_the_one_of_the_other(one: Any, other: Any) -> None:
    assert same_value(apply_patch(one, parse_patch(list(patch_between(one, other)))), other)


@given(st.lists(operations(), max_size=4))
def test_a_patch_is_read_back_as_it_was_written(patch: list[Operation]) -> None:
    assert read_patch(write_patch(patch)) == tuple(patch)


@given(st.lists(st.text(max_size=4), max_size=4))
def test_a_pointer_is_read_back_as_it_was_written(steps: list[str]) -> None:
    assert parse_pointer(pointer_to(*steps)) == steps
