"""Reading YAML: what is wrong, where, and what still is read."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fleetform.syntax.yaml_in import MAX_DEPTH, YamlDocument, YamlError, read_foreign, read_one, read_stream


def error_of(text: str) -> YamlError:
    with pytest.raises(YamlError) as caught:
        read_one(text)
    return caught.value


def place_of(text: str) -> tuple[int, int]:
    error = error_of(text)
    return error.line, error.column


def trees(text: str) -> list[Any]:
    """The trees of a stream's readable documents."""
    return [found.tree for found in read_stream(text) if isinstance(found, YamlDocument)]


def errors(text: str) -> list[tuple[str, int, int]]:
    """Message, line and column of everything that is wrong with a stream."""
    return [(found.message, found.line, found.column) for found in read_stream(text) if isinstance(found, YamlError)]


# ---- What is wrong, and where


@pytest.mark.rule("R1-21")
def test_a_missing_separator_is_named_with_the_line_where_it_is_missing() -> None:
    error = error_of("apiVersion: v1\nkind: A\n\napiVersion: v1\nkind: B\n")
    assert error.message == "duplicate key apiVersion; is `---` missing?"
    assert (error.line, error.column) == (4, 1)


def test_a_duplicate_kind_inside_a_document_is_no_missing_separator() -> None:
    assert error_of("kind: A\nspec:\n  kind: x\n  kind: y\n").message == "duplicate key kind"


def test_a_duplicate_key_stands_at_its_second_place() -> None:
    assert place_of("a:\n  b: 1\n  c: 2\n  b: 3\n") == (4, 3)


def test_a_tab_as_indentation_is_refused_with_advice() -> None:
    error = error_of("a:\n\tb: 1\n")
    assert (error.line, error.column) == (2, 1)
    assert "indent with spaces, not tabs" in error.hint


@pytest.mark.parametrize("text", ['a: "x\nb: 1\n', "a: 'x\nb: 1\n"], ids=["double", "single"])
def test_an_unclosed_quote_is_refused_with_advice(text: str) -> None:
    assert error_of(text).hint == "a quote or bracket is not closed"


def test_an_unclosed_bracket_is_refused_with_advice() -> None:
    assert error_of("a: [1, 2\nb: 1\n").hint == "a bracket is not closed"


def test_a_colon_inside_plain_text_is_refused_at_its_place() -> None:
    error = error_of("a: 1\nb: x: y\n")
    assert (error.line, error.column) == (2, 5)
    assert error.hint.startswith("quote text that contains a colon")


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x0c", "\x7f"], ids=ascii)
def test_control_characters_are_refused(character: str) -> None:
    error = error_of(f"a: x{character}y\n")
    assert error.message == "control characters are not allowed"
    assert "escape inside double quotes" in error.hint


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ("a: \x01\n", ["error"]),
        ("a: 1\nb: \x01\n", ["error"]),
        ("a: 1\n---\nb: \x01\n", [{"a": 1}, "error"]),
        ("a: 1\n---\nb: 2\n---\nc: \x01\n---\nd: 4\n", [{"a": 1}, {"b": 2}, "error", {"d": 4}]),
    ],
)
def test_documents_beside_one_with_a_control_character_are_read(text: str, trees: list[object]) -> None:
    assert [each.tree if isinstance(each, YamlDocument) else "error" for each in read_stream(text)] == trees


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: x: y\n---\nb: 1\n", [1, 2]),
        ("\na: x: y\n---\nb: 1\n", [2, 3]),
        ("\n\na: x: y\n---\nb: x: y\n---\n\nc: 1\n", [3, 5, 6]),
    ],
)
def test_lines_are_counted_from_the_top_also_behind_documents_that_cannot_be_read(text: str, lines: list[int]) -> None:
    found = [each.line if isinstance(each, YamlError) else each.first_line for each in read_stream(text)]
    assert found == lines


@pytest.mark.parametrize(
    ("text", "place"),
    [("\x01", (1, 1)), ("a: \x01\n", (1, 4)), ("a: 1\nb: 2\nc: \x01\n", (3, 4)), ("a: 1\n---\n\x01: 2\n", (3, 1))],
    ids=ascii,
)
def test_a_control_character_is_reported_at_its_place(text: str, place: tuple[int, int]) -> None:
    error = next(each for each in read_stream(text) if isinstance(each, YamlError))
    assert (error.line, error.column) == place


def test_control_characters_may_stand_as_escapes_in_quotes() -> None:
    assert read_one('a: "\\x01\\e"\n') == {"a": "\x01\x1b"}


def test_a_null_key_is_refused() -> None:
    assert error_of("a: 1\n~: 2\n").message == "a map key must be text"


def test_a_list_as_key_is_refused() -> None:
    assert error_of("? [a]\n: 1\n").message == "a map key must be text"


def test_a_tag_that_does_not_fit_is_refused_at_its_place() -> None:
    error = error_of("a: 1\nb: !!int x\n")
    assert (error.message, error.line, error.column) == ("!!int cannot hold this", 2, 4)


def test_a_number_that_json_does_not_know_is_refused() -> None:
    error = error_of("a: .inf\n")
    assert (error.message, error.hint) == (".inf is not a JSON number", "quote it to make it text")


def test_a_number_too_great_for_a_float_is_text_however_long() -> None:
    digits = "9" * 5000
    assert read_one(f"a: {digits}\n") == {"a": digits}


def test_nesting_is_allowed_up_to_the_limit() -> None:
    tree = read_one("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for _ in range(MAX_DEPTH - 1):
        (tree,) = tree
    assert tree == []


def test_nesting_beyond_the_limit_is_refused_where_it_begins() -> None:
    deep = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    assert errors(deep) == [(f"nested more than {MAX_DEPTH} levels deep", 1, MAX_DEPTH + 1)]


# ---- Anchors and merges


def test_an_alias_is_the_value_of_its_anchor() -> None:
    assert read_one("a: &x {b: [1]}\nc: *x\n") == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_an_unknown_anchor_is_refused() -> None:
    assert error_of("a: *x\n").message.startswith("unknown anchor 'x'")


def test_an_anchor_that_contains_itself_is_refused() -> None:
    assert place_of("a: &x [*x]\n") == (1, 8)


def test_anchors_end_with_their_document() -> None:
    text = "a: &x 1\n---\nb: *x\n"
    assert trees(text) == [{"a": 1}]
    assert errors(text)[0][1:] == (3, 4)


def bomb(line: str) -> str:
    """Eleven levels, each ten times the one before."""
    levels = [line.format(level=level, before=", ".join([f"*a{level - 1}"] * 10)) for level in range(1, 12)]
    return "a0: &a0 {k: x}\n" + "".join(levels)


@pytest.mark.parametrize(
    "line", ["a{level}: &a{level} [{before}]\n", "a{level}: &a{level} {{<<: [{before}]}}\n"], ids=["lists", "merges"]
)
def test_aliases_that_multiply_beyond_reason_are_refused_at_once(line: str) -> None:
    text = bomb(line)
    start = time.perf_counter()
    assert error_of(text).message == "aliases expand to more than 1,000,000 nodes"
    assert time.perf_counter() - start < 1


def test_aliases_count_by_the_nodes_they_stand_for() -> None:
    def thousands_of(one: str) -> str:
        return f"a: &a {one}\nb: &b [{'*a, ' * 999}]\nc: [{'*b, ' * 450}]\n"

    assert len(read_one(thousands_of("x"))["c"]) == 450
    assert error_of(thousands_of("[x]")).message == "aliases expand to more than 1,000,000 nodes"


def test_a_key_written_out_beats_a_merged_one_before_and_after_it() -> None:
    text = "base: &b {x: 1, y1: 2}\nbefore: {x: 3, <<: *b}\nafter: {<<: *b, x: 3}\n"
    read = read_one(text)
    assert read["before"] == read["after"] == {"x": 3, "y1": 2}


def test_of_several_merged_maps_the_first_wins() -> None:
    assert read_one("m: {<<: [{a: 1}, {a: 2, b: 2}]}\n") == {"m": {"a": 1, "b": 2}}


def test_only_maps_can_be_merged() -> None:
    error = error_of("a: 1\n<<: 3\n")
    assert (error.message, error.line) == ("<< takes a map or a list of maps", 2)


def test_a_quoted_merge_key_is_a_key() -> None:
    assert read_one('"<<": 1\n') == {"<<": 1}


# ---- Odd keys and values


def test_a_key_that_reads_as_a_boolean_is_remarked_on() -> None:
    (document,) = [found for found in read_stream("x: 1\nin:\n  y: 2\n") if isinstance(found, YamlDocument)]
    assert document.tree == {"x": 1, "in": {"true": 2}}
    (remark,) = document.remarks
    assert (remark.message, remark.line, remark.column) == ('the key y is read as "true"', 3, 3)
    assert remark.hint == 'quote it: "y"'


@pytest.mark.parametrize("text", ['"y": 1\n', "true: 1\n", "yes1: 1\n"])
def test_keys_that_are_what_they_look_like_need_no_remark(text: str) -> None:
    (document,) = read_stream(text)
    assert isinstance(document, YamlDocument)
    assert document.remarks == ()


@pytest.mark.parametrize(("key", "text"), [("1", "1"), ("0x10", "16"), ("1.50", "1.5"), ("1e21", "1e+21")])
def test_a_number_as_key_becomes_its_json_text(key: str, text: str) -> None:
    assert read_one(f"{key}: a\n") == {text: "a"}


def test_a_bare_equals_sign_is_text() -> None:
    assert read_one("a: =\n=: b\n") == {"a": "=", "=": "b"}


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert read_one("\ufeffa: 1\n") == {"a": 1}


# ---- Streams


def test_documents_know_their_lines() -> None:
    found = [
        (document.tree, document.first_line, document.last_line)
        for document in read_stream("# about\na: 1\n---\nb: 2\n\n---\nc: 3\n")
        if isinstance(document, YamlDocument)
    ]
    assert [tree for tree, _, _ in found] == [{"a": 1}, {"b": 2}, {"c": 3}]
    lines = [range(first, last + 1) for _, first, last in found]
    assert all(line in within for line, within in zip((2, 4, 7), lines, strict=True))


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n"])
def test_a_text_without_a_document_holds_none(text: str) -> None:
    assert list(read_stream(text)) == []
    assert read_one(text) is None


def test_after_a_broken_document_reading_goes_on_at_the_next() -> None:
    text = "a: 1\n---\nb: x: y\nz: 2\n---\nc: 3\n---\nd: @\n---\ne: 5\n"
    assert trees(text) == [{"a": 1}, {"c": 3}, {"e": 5}]
    assert [place[1:] for place in errors(text)] == [(3, 5), (8, 4)]


def test_after_a_duplicate_key_reading_goes_on_at_the_next_document() -> None:
    text = "a: 1\na: 2\n---\nb: 3\n"
    assert trees(text) == [{"b": 3}]
    assert errors(text) == [("duplicate key a", 2, 1)]


@pytest.mark.parametrize("broken", ["b: [", 'b: "x', "b: 'x", "b: {c: 1"])
def test_what_is_left_open_hides_no_document_behind_it(broken: str) -> None:
    assert trees(f"a: 1\n---\n{broken}\n---\nc: 3\n---\nd: 4\n") == [{"a": 1}, {"c": 3}, {"d": 4}]


def test_a_control_character_hides_no_other_document() -> None:
    text = "a: 1\n---\nb: 2\n---\nc: \x01\n---\nd: 4\n"
    assert trees(text) == [{"a": 1}, {"b": 2}, {"d": 4}]
    assert [place[1] for place in errors(text)] == [5]


def test_only_a_separator_ends_a_broken_document() -> None:
    assert trees("a: @\n-----END CERTIFICATE-----\n---\nb: 2\n") == [{"b": 2}]


def test_lines_that_end_with_crlf_are_counted_once() -> None:
    text = "a: 1\r\n---\r\nb: @\r\n---\r\nc: 3\r\n"
    assert trees(text) == [{"a": 1}, {"c": 3}]
    assert errors(text)[0][1:] == (3, 4)


def test_an_error_after_a_broken_document_has_its_line_in_the_whole_text() -> None:
    text = "a: @\n---\nb: 1\n---\nc: 1\nc: 2\n"
    assert errors(text)[1] == ("duplicate key c", 6, 1)


def test_remarks_after_a_broken_document_have_their_line_in_the_whole_text() -> None:
    (document,) = [found for found in read_stream("a: @\n---\nno: 1\n") if isinstance(found, YamlDocument)]
    assert [remark.line for remark in document.remarks] == [3]


def test_one_document_is_expected_where_one_is_asked_for() -> None:
    error = error_of("a: 1\n---\nb: 2\n")
    assert (error.message, error.line) == ("more than one document where one is expected", 2)


# ---- Keys that are numbers, as sigs.k8s.io/yaml writes them


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("1e6", "1e+06"),
        ("1e21", "1e+21"),
        ("1.0", "1"),
        ("0.1", "0.1"),
        ("123456.0", "123456"),
        ("1234567.0", "1.234567e+06"),
        ("0.00001", "1e-05"),
        ("3.14159265358979", "3.1415927"),
        ("1e300", ".inf"),
        (".inf", ".inf"),
        ("+.INF", ".inf"),
        ("-.inf", "-.inf"),
        (".NaN", ".nan"),
        ("9223372036854775807", "9223372036854775807"),
        ("18446744073709551616", "1.8446744e+19"),
        ("0x10", "16"),
        ("1_000", "1000"),
        ("1e400", "1e400"),
        ("12:30", "12:30"),
    ],
)
def test_a_key_that_is_a_number_is_the_text_that_go_makes_of_it(written: str, key: str) -> None:
    assert read_one(f"{written}: a\n") == {key: "a"}


def test_a_whole_number_that_only_fits_64_bits_without_a_sign_is_no_key() -> None:
    assert error_of("9223372036854775808: a\n").message == "a whole number beyond 64 bits cannot be a key"


# ---- Files of others


def test_a_separator_at_the_end_begins_no_document() -> None:
    assert read_one("a: 1\n---\n") == {"a": 1}
    assert read_one("---\na: 1\n---\n# the end\n") == {"a": 1}
    error = error_of("a: 1\n---\nb: 2\n")
    assert (error.message, error.hint) == (
        "more than one document where one is expected",
        "keep one document in the file",
    )


def test_a_key_twice_in_a_file_of_others_is_a_remark() -> None:
    document = read_foreign("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert document.tree == {"a": 3, "b": {"c": 2}}
    assert [(each.message, each.line) for each in document.remarks] == [
        ("the key c is there twice, and the last value counts", 2),
        ("the key a is there twice, and the last value counts", 3),
    ]
