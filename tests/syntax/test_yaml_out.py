"""Writing YAML: whatever is written reads back as the same tree."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.yaml_in import YamlDocument, read_one, read_stream
from fleetform.syntax.yaml_out import write_documents, write_unfolded, write_yaml

# Lone surrogates are not characters. Short texts of YAML's own signs are where a writer goes wrong.
_TEXT = st.text(st.characters(codec="utf-8")) | st.text("-+.0123456789eExXoOnNyYtT_:~<=|>&*!%@`#'\" \n\t\r")
# Minus zero is zero after reading, here and in Go.
_NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False).map(lambda n: n or 0)
_TREES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(_TREES)
def test_any_tree_reads_back_as_it_was(tree: Any) -> None:
    # As canonical JSON: a great whole float reads back as the integer with the same digits.
    assert canonical_json(read_one(write_yaml(tree))) == canonical_json(tree)


@settings(max_examples=100, deadline=None)
@given(_TEXT)
def test_any_text_reads_back_as_that_text_as_key_and_as_value(text: str) -> None:
    assert read_one(write_yaml({text: text})) == {text: text}


def test_several_documents_are_separated() -> None:
    written = write_documents([{"a": 1}, {"b": 2}])
    assert written == "a: 1\n---\nb: 2\n"
    assert [each.tree for each in read_stream(written) if isinstance(each, YamlDocument)] == [{"a": 1}, {"b": 2}]


def test_keys_keep_their_order() -> None:
    assert write_yaml({"b": 1, "a": 2}) == "b: 1\na: 2\n"


def test_what_stands_twice_is_written_twice() -> None:
    shared = {"x": [1]}
    assert "&" not in write_yaml({"a": shared, "b": shared})


def test_text_of_several_lines_is_written_as_a_block() -> None:
    assert write_yaml({"a": "one\ntwo\n"}) == "a: |\n  one\n  two\n"


def test_letters_of_all_languages_stay_readable() -> None:
    assert write_yaml({"a": "größer 中"}) == "a: größer 中\n"


def test_half_a_character_is_written_as_an_escape() -> None:
    assert write_yaml({"file": "a\udcff.yaml"}) == 'file: "a\\\\udcff.yaml"\n'


def test_lines_are_folded_at_120_characters_unless_they_must_not_be() -> None:
    words = ["x" * 59, "y" * 59, "z"]
    assert write_yaml({"a": " ".join(words)}) == f"a: {words[0]} {words[1]}\n  z\n"
    assert write_yaml({"a": " ".join(["x" * 56, "y" * 59, "z"])}) == f"a: {'x' * 56} {words[1]} z\n"
    assert write_unfolded({"a": " ".join(words * 9)}) == f"a: {' '.join(words * 9)}\n"
