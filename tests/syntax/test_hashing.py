"""Canonical JSON and the hashes over it: fixed for good, whoever computes them."""

from __future__ import annotations

import hashlib
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.oracles.tables import number_forms, table
from fleetform.syntax.hashing import canonical_json, content_hash, input_hash, number_text
from fleetform.syntax.yaml_in import read_one

_TEXT = st.text(st.characters(codec="utf-8"))
_LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | _TEXT
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
        max_leaves=12,
    )


def shuffled(tree: Any, chance: random.Random) -> Any:
    """The same tree, with the keys of all its maps in another order."""
    if isinstance(tree, dict):
        keys = list(tree)
        chance.shuffle(keys)
        return {key: shuffled(tree[key], chance) for key in keys}
    return [shuffled(item, chance) for item in tree] if isinstance(tree, list) else tree


# ---- Canonical JSON


@settings(max_examples=200, deadline=None)
@given(trees(_LEAVES | _FLOATS), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(tree: Any, chance: random.Random) -> None:
    assert canonical_json(shuffled(tree, chance)) == canonical_json(tree)


@settings(max_examples=200, deadline=None)
@given(trees(_LEAVES))
def test_canonical_json_reads_back_as_the_tree(tree: Any) -> None:
    assert json.loads(canonical_json(tree)) == tree


@settings(max_examples=200, deadline=None)
@given(trees(_LEAVES))
def test_a_float_beside_a_tree_does_not_change_how_the_tree_is_written(tree: Any) -> None:
    assert canonical_json([tree, 0.5]) == b"[" + canonical_json(tree) + b",0.5]"


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({}, "{}"),
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"a": {"z": {}, "y": []}}, '{"a":{"y":[],"z":{}}}'),
        ("<ü>&\u2028/", '"<ü>&\u2028/"'),
        ('"\\\n\x01', '"\\"\\\\\\n\\u0001"'),
        ({"\U0001f600": 1, "\uffff": 2}, '{"\uffff":2,"\U0001f600":1}'),
        (18446744073709551615, "18446744073709551615"),
    ],
)
def test_canonical_json_is_compact_sorted_utf_8(tree: Any, text: str) -> None:
    assert canonical_json(tree) == text.encode()


# ---- Numbers as Go writes them


@pytest.mark.rule("B3")
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (0.0, "0"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1.5, "1.5"),
        (100.0, "100"),
        (123456789.0, "123456789"),
        (0.000001, "0.000001"),
        (0.0000001, "1e-7"),
        (-9.9e-7, "-9.9e-7"),
        (1e20, "100000000000000000000"),
        (123456789012345678901.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (5e-324, "5e-324"),
    ],
)
def test_a_float_is_written_as_go_writes_it(number: float, text: str) -> None:
    assert number_text(number) == text


NUMBERS = [
    pytest.param(row.given["yaml"], row.answer["json"], id=row.id)
    for row in table("yaml").values()
    if re.fullmatch(r'\{"a":-?[0-9][-+.0-9e]*\}', row.answer.get("json", ""))
]


@pytest.mark.rule("B3")
@pytest.mark.parametrize(("text", "json_text"), NUMBERS)
def test_a_number_of_a_manifest_is_hashed_in_the_form_go_gives_it(text: str, json_text: str) -> None:
    assert canonical_json(read_one(text)).decode() == json_text


@settings(max_examples=300, deadline=None)
@given(_FLOATS)
def test_any_float_is_written_as_json_and_reads_back(number: float) -> None:
    text = number_text(number)
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+][1-9][0-9]*)?", text)
    assert float(text) == number


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_what_is_no_json_number_has_no_form(number: float) -> None:
    with pytest.raises(ValueError):
        canonical_json({"a": number})


# ---- Hashes


@pytest.mark.rule("B3")
def test_an_input_hash_is_its_prefix_and_the_sha256_of_the_parts() -> None:
    parts = {"values": {"b": "<ü>", "a": [1, 0.5, 1e-7]}, "releaseName": "web"}
    written = '{"releaseName":"web","values":{"a":[1,0.5,1e-7],"b":"<ü>"}}'
    assert input_hash(parts) == "h1:" + hashlib.sha256(written.encode()).hexdigest()


@pytest.mark.rule("B3")
@pytest.mark.parametrize(
    ("parts", "digest"),
    [
        ({}, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        (
            {"values": {"a": [1, 0.5, 1e-7], "b": "<ü>"}, "releaseName": "web"},
            "9eed785063de54922f09b7c658bfdeb81f5c208833a1a43d64304ccf416ed1e7",
        ),
    ],
)
def test_input_hashes_never_change(parts: dict[str, Any], digest: str) -> None:
    assert input_hash(parts) == f"h1:{digest}"


@pytest.mark.rule("B3")
@pytest.mark.parametrize("absent", [None, [], {}])
def test_parts_that_are_not_used_do_not_count(absent: Any) -> None:
    assert input_hash({"values": {"a": 1}, "secrets": absent}) == input_hash({"values": {"a": 1}})


@pytest.mark.parametrize("value", [None, [], {}, False, 0, ""])
def test_empty_values_inside_a_part_do_count(value: Any) -> None:
    assert input_hash({"values": {"a": value}}) != input_hash({"values": {"b": 1}})
    assert input_hash({"values": {"a": value, "b": 1}}) != input_hash({"values": {"b": 1}})


@pytest.mark.parametrize("part", [False, 0, ""])
def test_a_part_that_is_merely_false_counts(part: Any) -> None:
    assert input_hash({"delivery": part}) != input_hash({})


def test_a_content_hash_is_plain_sha256() -> None:
    assert (
        content_hash({"b": [True, None], "a": 1}) == "1cc69c7fa23616ca2ec3ee70d24390a6225c8832db8a4c814c7e0e7f942f8668"
    )


def test_a_whole_float_hashes_as_the_integer_it_is() -> None:
    assert content_hash({"a": 1.0}) == content_hash({"a": 1})
    assert number_forms(canonical_json({"a": 1.0})) == {"a": ("number", "1")}
