"""`$(NAME)` is expanded: the table of what Kubernetes and Fleeet answer, and what is ours alone."""

from __future__ import annotations

import base64
from collections import ChainMap
from typing import Any

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.model.conventions import VariableSyntax
from fleetform.syntax.variables import ExpandError, escape, variable_references, variable_references_in
from support.expanding import expand

# A binding has a name, so that an empty mention is text even where something answers to it.
EMPTY_NAME = {"expansion-027": "$()", "expansion-100": "$()"}
# Bytes that are no text never get here.
NO_TEXT = ("expansion-087",)
# Fleeet's older copy of the code breaks the character behind a dollar; we answer as Kubernetes does.
GARBLED_BY_FLEEET = ("expansion-046", "expansion-048", "expansion-049", "expansion-050", "expansion-085")
# B6: in our own manifests a dollar that is not before a parenthesis is text.
OTHERWISE_NATIVELY = {
    "expansion-017": "$$",
    "expansion-070": "$$ONLY2",
    "expansion-072": "$(VAR_A)A$$",
    "expansion-081": "a$$b$$$c",
}
# R3-26: what is not bound is an error here; there it stays as it is written.
UNBOUND = {
    "expansion-011": "VAR_DNE",
    "expansion-032": "$(VAR_A",
    "expansion-033": "VAR_$(VAR_A",
    "expansion-034": "VAR_A $(VAR_B",
    "expansion-058": "VAR_B:-x",
    "expansion-059": "var_a",
    "expansion-061": "VAR\n_A",
    "expansion-089": "VAR_A",
    "expansion-092": "VAR_EMPTY",
    "expansion-095": "ONLY2",
}
VALUES = {
    "NAME": "web",
    "PORT": 3030,
    "RATIO": 1e21,
    "HALF": 0.5,
    "ON": True,
    "OFF": False,
    "NOTHING": None,
    "MAP": {"a": 1},
    "LIST": [1],
    "NAN": float("nan"),
    "REF": "$(NAME) $$(NAME)",
    "cluster.labels.example.com/zone": "a",
}


def text_of(fields: dict[str, Any], name: str) -> str:
    """A field of a row; in base 64, a text in which a stray byte is a lone surrogate."""
    if f"{name}_b64" in fields:
        return base64.b64decode(fields[f"{name}_b64"]).decode("utf-8", "surrogateescape")
    return str(fields[name])


def as_there(row: Row, syntax: VariableSyntax) -> Any:
    """The row's answer if unknown names stood for themselves."""
    names = ChainMap(*row.given["contexts"])
    return expand(text_of(row.given, "input"), lambda name: names.get(name, f"$({name})"), syntax=syntax)


@pytest.mark.parametrize("row", rows_of("expansion", without={*EMPTY_NAME, *NO_TEXT}))
def test_fleeet_manifests_expand_as_in_kubernetes(row: Row) -> None:
    assert as_there(row, "kubernetes") == text_of(row.answer, "result")
    if row.id in GARBLED_BY_FLEEET:
        assert text_of(row.answer, "fleeet") != text_of(row.answer, "result")


@pytest.mark.parametrize("row", rows_of("expansion", without={*EMPTY_NAME, *NO_TEXT, *OTHERWISE_NATIVELY}))
def test_native_manifests_expand_as_in_kubernetes(row: Row) -> None:
    assert as_there(row, "native") == text_of(row.answer, "result")


@pytest.mark.parametrize("row", rows_named("expansion", OTHERWISE_NATIVELY))
def test_natively_other_dollars_are_text(row: Row) -> None:
    assert text_of(row.answer, "result") != OTHERWISE_NATIVELY[row.id]
    assert as_there(row, "native") == OTHERWISE_NATIVELY[row.id]


@pytest.mark.parametrize("row", rows_named("expansion", EMPTY_NAME))
def test_an_empty_name_is_text(row: Row) -> None:
    assert row.answer["result"] == "emptyname"
    assert as_there(row, "native") == as_there(row, "kubernetes") == EMPTY_NAME[row.id]


@pytest.mark.parametrize("row", rows_named("expansion", UNBOUND))
def test_a_name_that_is_not_bound_is_asked_for_as_it_is_written(row: Row) -> None:
    names = dict(ChainMap(*row.given["contexts"]))
    with pytest.raises(KeyError) as caught:
        expand(row.given["input"], names.__getitem__)
    assert caught.value.args == (UNBOUND[row.id],)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "NAN"])
def test_a_whole_mention_keeps_the_type(name: str) -> None:
    assert expand(f"$({name})", VALUES.__getitem__) is VALUES[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(NAME)-1", "web-1"),
        (" $(PORT)", " 3030"),
        ("$(PORT)$(PORT)", "30303030"),
        ("$(RATIO) $(HALF)", "1e+21 0.5"),
        ("$(ON)/$(OFF)", "true/false"),
        ("$(cluster.labels.example.com/zone).", "a."),
        ("$$(PORT)", "$(PORT)"),
        ("$$$(PORT)", "$3030"),
        ("$$(PORT) costs $$5", "$(PORT) costs $$5"),
        ("$$(A$(NAME))", "$(Aweb)"),
        ("${NAME} $NAME", "${NAME} $NAME"),
    ],
)
def test_an_embedded_mention_becomes_text(text: str, expected: str) -> None:
    assert expand(text, VALUES.__getitem__) == expected


def test_what_a_mention_stands_for_is_not_expanded_again() -> None:
    assert expand("$(REF)", VALUES.__getitem__) == "$(NAME) $$(NAME)"
    assert expand("<$(REF)>", VALUES.__getitem__, syntax="kubernetes") == "<$(NAME) $$(NAME)>"


@pytest.mark.parametrize(
    ("name", "what"), [("NOTHING", "null"), ("MAP", "a map"), ("LIST", "a list"), ("NAN", "no text")]
)
def test_what_has_no_text_cannot_be_embedded(name: str, what: str) -> None:
    with pytest.raises(ExpandError, match=f"is used within text, but is {what}") as caught:
        expand(f"a$({name})", VALUES.__getitem__)
    assert f"$({name}) " in caught.value.message
    assert ("as: json" in caught.value.hint) is (name in ("MAP", "LIST"))


def test_mentions_are_named_in_order() -> None:
    assert variable_references("$(B) $$(C) $$$(A)$(B) $() $(D") == ["B", "A", "B"]
    assert variable_references_in({"$(KEY)": "$(A)", "b": [1, {"c": "x$(B)"}]}) == ["A", "B"]


def test_a_tree_is_expanded_in_its_values() -> None:
    tree = {"$(NAME)": ["$(PORT)", "$(NAME)-$(PORT)", 1, None], "b": {"c": "$(MAP)"}}
    assert expand(tree, VALUES.__getitem__) == {"$(NAME)": [3030, "web-3030", 1, None], "b": {"c": {"a": 1}}}


def test_escaped_text_has_only_the_dollars_it_needs() -> None:
    assert escape("$(A) $5 $$") == "$$(A) $5 $$"
    assert escape("$(A) $5 $$", syntax="kubernetes") == "$$(A) $$5 $$$$"


@pytest.mark.parametrize("parts", [[0] * 249_998, [[0] * 124_998, *[0] * 124_999]], ids=["flat", "nested"])
def test_a_value_has_a_quarter_of_a_million_parts_at_most(parts: list[Any]) -> None:
    """Names that double with every step end there, and no manifest comes near."""
    assert expand({"all": "$(PARTS)"}, lambda _: parts) == {"all": parts}
    with pytest.raises(ExpandError, match="larger than any manifest"):
        expand({"all": "$(PARTS)"}, lambda _: [*parts, 0])


def test_a_text_has_twenty_million_characters_at_most() -> None:
    half = "x" * 10_000_000
    assert expand("$(HALF)$(HALF)", lambda _: half) == half * 2
    with pytest.raises(ExpandError, match="larger than any manifest"):
        expand("$(HALF)$(HALF)x", lambda _: half)
