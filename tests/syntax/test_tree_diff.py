"""The difference of two trees as a patch."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.syntax.tree_diff import patch_between
from fleetform.syntax.trees import same_value

TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("a/~", max_size=2),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text("a/~", max_size=2), inside, max_size=3),
    max_leaves=12,
)


def applied(tree: Any, patch: list[dict[str, Any]]) -> Any:
    """A patch applied as RFC 6902 says, by the shortest means."""
    whole = [deepcopy(tree)]
    for operation in patch:
        steps = [each.replace("~1", "/").replace("~0", "~") for each in operation["path"].split("/")[1:]]
        holder: Any = whole
        last: Any = 0
        for step in steps:
            holder = holder[last]
            last = int(step) if isinstance(holder, list) else step
        if operation["op"] == "remove":
            del holder[last]
        elif operation["op"] == "add" and isinstance(holder, list) and steps:
            holder.insert(last, deepcopy(operation["value"]))
        else:
            holder[last] = deepcopy(operation["value"])
    return whole[0]


@given(TREES, TREES)
def test_a_patch_makes_the_one_tree_the_other(one: Any, other: Any) -> None:
    assert same_value(applied(one, list(patch_between(one, other))), other)


@given(TREES)
def test_nothing_is_to_be_done_to_a_tree_that_is_the_same(tree: Any) -> None:
    assert list(patch_between(tree, deepcopy(tree))) == []


@pytest.mark.parametrize(
    ("one", "other", "patch"),
    [
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True, "was": 1}]),
        ([1, 2, 3], [1, 9, 2, 3], [{"op": "add", "path": "/1", "value": 9}]),
        ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}]),
        ([{"a": 1}, 2], [{"a": 3}, 2], [{"op": "replace", "path": "/0/a", "value": 3, "was": 1}]),
        ({"a/b~c": 1}, {}, [{"op": "remove", "path": "/a~1b~0c"}]),
        ([1], [True], [{"op": "replace", "path": "/0", "value": True, "was": 1}]),
    ],
)
def test_a_patch_says_no_more_than_it_must(one: Any, other: Any, patch: list[dict[str, Any]]) -> None:
    assert list(patch_between(one, other)) == patch
