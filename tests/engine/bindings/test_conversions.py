"""How bound values become text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.bindings.conversions import Conversion, ConversionError, convert, without_marks
from fleetform.model.results.decisions import Secret
from fleetform.syntax.yaml_in import read_one
from properties.strategies import examples

HOWS: list[Conversion] = ["string", "json", "yaml"]


@pytest.mark.rule("R3-24")
@pytest.mark.parametrize(
    ("value", "string", "json_", "yaml"),
    [
        ("text", "text", '"text"', "text"),
        ("", "", '""', '""'),
        ("a: b", "a: b", '"a: b"', '"a: b"'),
        ("true", "true", '"true"', '"true"'),
        ("No", "No", '"No"', '"No"'),
        ("1.5", "1.5", '"1.5"', '"1.5"'),
        ("two\nlines", "two\nlines", '"two\\nlines"', '"two\\nlines"'),
        (3030, "3030", "3030", "3030"),
        (True, "true", "true", "true"),
        (1.0, "1", "1", "1"),
        (1e21, "1e+21", "1e+21", "1e+21"),
        ([], "[]", "[]", "[]"),
        ({}, "{}", "{}", "{}"),
        ([1, [2, {"a": 3}]], '[1,[2,{"a":3}]]', '[1,[2,{"a":3}]]', "- 1\n- - 2\n  - a: 3"),
        ({"b": [1], "a": {"x": {}}}, '{"a":{"x":{}},"b":[1]}', '{"a":{"x":{}},"b":[1]}', "a:\n  x: {}\nb:\n  - 1"),
        ({"yes": None, "1": "é"}, '{"1":"é","yes":null}', '{"1":"é","yes":null}', '"1": "é"\n"yes": null'),
    ],
)
def test_a_value_becomes_text(value: Any, string: str, json_: str, yaml: str) -> None:
    assert [convert(value, how) for how in HOWS] == [string, json_, yaml]


@pytest.mark.rule("R3-24")
def test_base64_is_decoded_to_text() -> None:
    assert convert("aGVsbG8=", "base64decode") == "hello"


@pytest.mark.parametrize(("value", "message"), [("!", "it is not base64 text"), ("/w==", "its bytes are not text")])
def test_what_cannot_be_decoded_is_told_without_its_content(value: str, message: str) -> None:
    with pytest.raises(ConversionError, match=message) as error:
        convert(value, "base64decode")
    assert value not in str(error.value)


def test_null_has_no_text() -> None:
    with pytest.raises(ConversionError, match="null has no text"):
        convert(None, "string")


@pytest.mark.rule("R3-18", "B18")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("value", [Secret(None, "hush"), {"a": [Secret(None, "hush")]}, [{"b": Secret(None, "hush")}]])
def test_text_made_of_a_secret_is_one(value: Any, how: Conversion) -> None:
    text = convert(value, how)
    assert isinstance(text, Secret)
    assert "hush" in text.plain
    assert "hush" not in repr(text)


def test_marks_come_off_at_any_depth_and_are_told() -> None:
    assert without_marks({"a": [1, Secret(None, "hush")]}) == ({"a": [1, "hush"]}, True)
    assert without_marks({"a": [1, None]}) == ({"a": [1, None]}, False)


ODD = [
    *("yes", "~", "- a", "a: b", "#", "1e3", "0x1", "0o7", "1_000", ".inf", "null", "2026-01-01", "=", "<<", "a #b"),
    *("\x7f", "\x85", "\u2028", "\ufeff", "\U0001f600", "\x00", "\t", "'", '"', "\\"),
]
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=6) | st.sampled_from(ODD)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


@pytest.mark.rule("R3-24")
@examples(300)
@given(TREES)
def test_json_and_yaml_read_back_as_the_same_value(tree: Any) -> None:
    assert json.loads(str(convert(tree, "json"))) == tree
    assert read_one(str(convert({"v": tree}, "yaml"))) == {"v": tree}
    assert read_one(str(convert([tree], "yaml"))) == [tree]
