"""`${NAME}` is substituted as Flux does it: the tables of what its own code answers, and what is ours alone."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.oracles.tables import Row, number_forms, rows_named, rows_of
from fleetform.syntax.envsubst import (
    MAX_DEPTH,
    Only,
    SubstitutionError,
    is_opted_out,
    substitute,
    substitute_resource,
)
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.yaml_in import YamlError, read_one
from fleetform.syntax.yaml_out import write_yaml

# Flux goes on with halves of characters, and then finds that the whole document is no UTF-8.
CUT_IN_TWO = ("envsubst-292", "envsubst-344")
# Whole numbers stay exact here; there they become floats.
EXACT = {"flux_substitute-093": 12345678901234567890, "flux_substitute-095": 12345678901234567890}
# Kustomize reads a key `y` as text; here resources are read as kubectl reads them, and to it `y` is true.
ODD_KEY = ("flux_substitute-173",)


def texts(fields: dict[str, Any]) -> dict[str, str]:
    """The fields of a row, those in base 64 as texts in which a stray byte is a lone surrogate."""
    return {
        key.removesuffix("_b64"): base64.b64decode(value).decode("utf-8", "surrogateescape")
        if key.endswith("_b64")
        else value
        for key, value in fields.items()
    }


@pytest.mark.parametrize("row", rows_of("envsubst", without=CUT_IN_TWO))
def test_a_text_becomes_what_flux_makes_of_it(row: Row) -> None:
    template, variables, strict = texts(row.given)["template"], texts(row.given["vars"]), row.given["strict"]
    if "error" in row.answer:
        with pytest.raises(SubstitutionError):
            substitute(template, variables, strict=strict)
    else:
        assert substitute(template, variables, strict=strict) == texts(row.answer)["result"]


@pytest.mark.parametrize("row", rows_named("envsubst", CUT_IN_TWO))
def test_half_a_character_is_an_error(row: Row) -> None:
    assert "result_b64" in row.answer
    with pytest.raises(SubstitutionError, match="cuts a character in two"):
        substitute(row.given["template"], row.given["vars"])


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("${v:1:${e}}", "alpha", "alpha"),
        ("${v:1::2}", "alpha", "lp"),
        ("${v/a//x}", "abc", "xbc"),
        ("${v//${e}/-}", "ab", "-a-b-"),
        ("${v#${e}}", "ab", "ab"),
        ("${v,,}", "ΑΣ", "ασ"),
        ("${v^^}", "ᾳß", "ᾼß"),
        ("${v#[a-c]?}", "abc", "c"),
        ("${v##[^x-z]*[b]}", "abab", ""),
        ("${v##*??本}", "日本x", "x"),
        ("${v##*[^é]}", "aéb", ""),
        ("${v#[x]}", "é", "é"),
        ("${v%\\*}", "a*", "a*"),
        ("${v#[ab]}", "]x", "]x"),
        ("${v#[^ab]}", "]x", "x"),
    ],
)
def test_flux_answers_that_no_row_asks_for(text: str, value: str, expected: str) -> None:
    assert substitute(text, {"v": value, "e": ""}) == expected


def round_trip(row: Row) -> Any:
    return substitute_resource(
        read_one(row.given["resource"]),
        row.given["vars"] or {},
        write=write_yaml,
        read=read_one,
        strict=row.given["strict"],
        always=row.given["always"],
    )


@pytest.mark.parametrize("row", rows_of("flux_substitute", without={*EXACT, *ODD_KEY}))
def test_a_resource_becomes_what_flux_makes_of_it(row: Row) -> None:
    if "error" in row.answer:
        with pytest.raises((SubstitutionError, YamlError)):
            round_trip(row)
    elif "skipped" in row.answer:
        resource = read_one(row.given["resource"])
        assert is_opted_out(resource)
        assert round_trip(row) == resource
    else:
        assert number_forms(canonical_json(round_trip(row))) == number_forms(row.answer["json"])


@pytest.mark.parametrize("row", rows_named("flux_substitute", EXACT))
def test_whole_numbers_stay_exact(row: Row) -> None:
    assert "12345678901234567000" in row.answer["json"]
    assert round_trip(row)["data"]["k"] == EXACT[row.id]


@pytest.mark.parametrize("row", rows_named("flux_substitute", ODD_KEY))
def test_a_key_that_kubectl_reads_as_true(row: Row) -> None:
    expected = row.answer["json"].replace('"y":', '"true":')
    assert expected != row.answer["json"]
    assert number_forms(canonical_json(round_trip(row))) == number_forms(expected)


@pytest.mark.parametrize(
    ("metadata", "opted_out"),
    [
        ({"labels": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}, True),
        ({"annotations": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}, True),
        ({"labels": {"kustomize.toolkit.fluxcd.io/substitute": "enabled"}}, False),
        ({"labels": None, "annotations": []}, False),
        (None, False),
    ],
)
def test_a_label_or_annotation_opts_a_resource_out(metadata: Any, opted_out: bool) -> None:
    assert is_opted_out({"metadata": metadata}) is opted_out


def test_what_is_no_resource_opts_out_of_nothing() -> None:
    assert not is_opted_out(["metadata"])


def test_a_resource_without_dollars_is_not_read_again() -> None:
    resource = {"data": {"k": "v"}}
    assert substitute_resource(resource, {"a": "b"}, write=write_yaml, read=read_one) is resource


DECLARED = {"A": "alpha", "E": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A} ${U}", "alpha ${U}"),
        ("${U:-x} ${U=x} ${#U} ${U^^} ${U/a/b}", "${U:-x} ${U=x} ${#U} ${U^^} ${U/a/b}"),
        ("${A:0:2} ${#A} ${A^} ${E:-x} ${E}", "al 5 Alpha x "),
        ("${U:-${A}}", "${U:-alpha}"),
        ("${E:-${U}}", "${U}"),
        ("${E:-${U:-${A}}}", "${U:-${A}}"),
        ("$A $(A) $ {A}", "$A $(A) $ {A}"),
        # What a shell reads and Flux does not.
        ("${!U} ${U[@]} ${U-x} ${} ${U", "${!U} ${U[@]} ${U-x} ${} ${U"),
        ("kill $$; echo $$$ $$U", "kill $$; echo $$$ $$U"),
        ("$${A} $${U} $$${A} $$${U} $$$${A}", "${A} ${U} $alpha $${U} $${A}"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_only_declared_names_are_touched(text: str, expected: str, strict: bool) -> None:
    assert substitute(text, DECLARED, strict=strict, only="Declared") == expected


def test_a_declared_name_in_a_mention_that_is_not_understood_is_an_error() -> None:
    with pytest.raises(SubstitutionError, match=r"\$\{A-x\} is not understood"):
        substitute("${U-x} ${A-x}", DECLARED, only="Declared")


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a\nb: ${missing}", "the variable missing is not set", 2, 4),
        ("${a:-\n ${missing^}}", "the variable missing is not set", 2, 2),
        ("a\n\n${a", r"\$\{a is not closed", 3, 1),
        ("${a-b}", r"\$\{a-b\} is not understood", 1, 1),
        ("${a " + "b" * 100, r"\$\{a b{26}… is not understood", 1, 1),
        ("${a:1:9223372036854775807}", "beyond all numbers", 1, 1),
        ("${a:-" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} levels", 1, MAX_DEPTH * 5 + 1),
        ("${big#é?}", "too long", 1, 1),
        ("${big//é/${big}}", "too long", 1, 1),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(SubstitutionError, match=message) as caught:
        substitute(text, {"a": "x", "big": "é" * 10_000}, strict=True)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_name_that_no_variable_can_have_has_no_place() -> None:
    with pytest.raises(SubstitutionError, match="'a-b' cannot be the name of a variable") as caught:
        substitute_resource({}, {"a-b": "x"}, write=write_yaml, read=read_one)
    assert caught.value.line is None


def test_a_value_with_a_stray_surrogate_is_an_error_where_it_is_cut() -> None:
    with pytest.raises(SubstitutionError):
        substitute("${a^}", {"a": "\ud800"})


SYNTAX = st.lists(
    st.sampled_from(
        ["${", "}", "$", "a", "b", ":", "-", "=", "#", "%", "/", "^", ",", "*", "?", "[", "]", "\\", "é", "1"]
    )
)
ONLY: list[Only] = ["All", "Declared"]


@given(SYNTAX.map("".join) | st.text(), st.text(), st.booleans(), st.sampled_from(ONLY))
def test_any_text_is_answered_or_refused(text: str, value: str, strict: bool, only: Only) -> None:
    with suppress(SubstitutionError):
        substitute(text, {"a": value}, strict=strict, only=only)


@given(st.text(), st.sampled_from(ONLY))
def test_values_are_not_substituted_again(value: str, only: Only) -> None:
    assert substitute("<${a}>", {"a": value, "b": "x"}, only=only) == f"<{value}>"


def test_a_pattern_that_may_cut_a_character_takes_values_up_to_a_length() -> None:
    fits = "a" * 9_998 + "é"
    assert substitute("${v#?}", {"v": fits}) == fits[1:]
    with pytest.raises(SubstitutionError, match="too long for such a pattern"):
        substitute("${v#?}", {"v": "a" + fits})
    assert substitute("${v#?}", {"v": "a" * 20_000}) == "a" * 19_999, "text of single bytes has no such limit"


def test_references_are_nested_a_hundred_levels_deep_and_no_deeper() -> None:
    def nested(levels: int) -> str:
        return "${a:-" * levels + "x" + "}" * levels

    assert substitute(nested(100), {}) == "x"
    with pytest.raises(SubstitutionError, match="is nested more than 100 levels deep"):
        substitute(nested(101), {})


def test_a_value_grows_to_ten_million_characters_by_replacing_and_no_further() -> None:
    long = "x" * 10_000
    assert len(substitute("${v//a/${w}}", {"v": "a" * 1_000, "w": long})) == 10_000_000
    with pytest.raises(SubstitutionError, match="becomes too long"):
        substitute("${v//a/${w}}", {"v": "a" * 1_001, "w": long})
    assert len(substitute("${v/a/${w}}", {"v": "a" * 1_001, "w": long})) == 11_000, "one of them only"
