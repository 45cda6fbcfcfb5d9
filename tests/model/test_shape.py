"""A tree that does not fit a record is told all that is wrong with it, at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from fleetform.model.kinds.base import Count, Duration, Name, PercentOrCount, Record, Text
from fleetform.model.shape import Misfit, describe, did_you_mean, nearest, read_record, what_there_is


class Door(Record, frozen=True):
    colour: Literal["Red", "Green"] = "Red"
    width: Annotated[int, Meta(ge=1, le=9)] = 1
    handles: list[Text] | None = None


class House(Record, frozen=True):
    name: Name
    doors: Door | list[Door] | None = None
    labels: dict[str, str] | None = None
    wait: Duration | None = None
    share: PercentOrCount | None = None
    rooms: Count | None = None
    area: float | None = None
    lit: bool = False
    address_line: str | None = None
    anything: Any = None


def misfits(tree: Any) -> list[Misfit]:
    found = read_record(tree, House)
    assert isinstance(found, list)
    return found


def messages(tree: Any) -> list[str]:
    return [each.message for each in misfits({"name": "h", **tree})]


def test_a_tree_that_fits_is_the_record() -> None:
    tree = {"name": "h", "doors": [{"width": 2}], "addressLine": "x", "anything": {"at": ["all"]}}
    assert read_record(tree, House) == House("h", [Door(width=2)], address_line="x", anything={"at": ["all"]})


def test_all_misfits_are_found_at_once_each_with_its_path() -> None:
    found = misfits({"doors": [{"width": 0}, {"colour": "Blue"}, 3], "labels": {"a": 1}, "lit": "yes", "nme": "h"})
    assert [(each.code, each.path) for each in found] == [
        ("bad-value", ("doors", 0, "width")),
        ("bad-value", ("doors", 1, "colour")),
        ("bad-value", ("doors", 2)),
        ("bad-value", ("labels", "a")),
        ("bad-value", ("lit",)),
        ("unknown-field", ("nme",)),
    ]


def test_an_unknown_field_gets_the_nearest_known_one() -> None:
    (misfit,) = misfits({"name": "h", "adressLine": "x"})
    assert (misfit.message, misfit.hint) == ("it has no field adressLine", "did you mean addressLine?")


def test_an_unknown_field_without_a_near_one_gets_all_that_are_known() -> None:
    (misfit,) = misfits({"name": "h", "doors": {"zzz": 1}})
    assert (misfit.message, misfit.hint) == ("doors has no field zzz", "known here: colour, handles, width")


def test_a_missing_field_stands_at_its_parent() -> None:
    assert misfits({}) == [Misfit("missing-field", (), "it needs the field name", "add name")]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"\0": 1}, "spec has no field \0"),
        ({"doors": {"\0": 1}}, "doors has no field \0"),
        ({"lit": "\0"}, 'lit must be true or false, not the text "\0"'),
        ({"labels": {"\0": 1}}, "\0 must be text, not the number 1"),
        ([], "spec must be a map, not a list"),
    ],
)
def test_a_message_names_the_whole_and_repeats_what_is_written_as_it_is(tree: Any, message: str) -> None:
    found = read_record({"name": "h", **tree} if isinstance(tree, dict) else tree, House, "spec")
    assert isinstance(found, list)
    assert [each.message for each in found] == [message]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"doors": 3}, "doors must be a map or a list, not a number"),
        ({"doors": {"width": "x"}}, 'width must be a whole number, not the text "x"'),
        ({"doors": [{"width": True}]}, "width must be a whole number, not true"),
        ({"doors": {"width": 10}}, "width must be at most 9, not 10"),
        ({"doors": {"colour": 1}}, "colour must be one of Green, Red, not the number 1"),
        ({"doors": {"handles": ["a", ""]}}, "an item of handles must not be empty"),
        ({"doors": {"handles": "a"}}, "handles must be a list, not text"),
        ({"labels": {"a": None}}, "a must be text, not null"),
        ({"lit": None}, "lit must be true or false, not null"),
        ({"area": "x"}, 'area must be a number, not the text "x"'),
        ({"rooms": -1}, "rooms must be at least 0, not -1"),
        ({"share": []}, "share must be a whole number or text, not a list"),
        ({"share": "120%"}, "share cannot be '120%'"),
        ({"wait": "5x"}, "wait cannot be '5x'"),
        ({"name": "A"}, "name cannot be 'A'"),
        ({"name": "a" * 254}, "name must have at most 253 characters"),
    ],
)
def test_a_misfit_is_told_in_words(tree: dict[str, Any], message: str) -> None:
    assert messages(tree) == [message]


@pytest.mark.parametrize(("tree", "kind"), [(None, "null"), ([], "a list"), ("hunter2", "text"), (1234, "a number")])
def test_what_is_no_map_is_no_record_and_is_not_quoted(tree: Any, kind: str) -> None:
    assert misfits(tree) == [Misfit("bad-value", (), f"it must be a map, not {kind}", "")]


def test_a_wrong_word_gets_the_nearest_one_allowed() -> None:
    (misfit,) = misfits({"name": "h", "doors": {"colour": "red"}})
    assert (misfit.message, misfit.hint) == ("colour must be one of Green, Red, not 'red'", "did you mean Red?")


def test_a_wrong_duration_gets_an_example() -> None:
    (misfit,) = misfits({"name": "h", "wait": "soon"})
    assert misfit.hint == "write a duration such as 90s, 30m, 24h or 14d"


@pytest.mark.parametrize("share", [0, 3, "0%", "25%", "100%"])
def test_either_kind_of_a_union_fits(share: int | str) -> None:
    assert read_record({"name": "h", "share": share}, House) == House("h", share=share)


def test_whole_numbers_fit_where_numbers_are_asked_for() -> None:
    assert read_record({"name": "h", "area": 3}, House) == House("h", area=3)


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("MATCHLABELS", ["matchLabels", "x"], "matchLabels"),
        ("replica", ["replicas", "repository"], "replicas"),
        ("zzz", ["replicas"], None),
        ("a", [], None),
    ],
)
def test_the_nearest_word(word: str, known: list[str], found: str | None) -> None:
    assert nearest(word, known) == found


def test_without_a_near_word_something_else_is_said() -> None:
    assert did_you_mean("zzz", ["replicas"], "there are no others") == "there are no others"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("", "there is none"),
        ("a", "there is a"),
        ("ab", "there are a, b"),
        ("abcdefgh", "there are a, b, c, d, e, f, g, h"),
        ("abcdefghi", "there are a, b, c, d, e, f, g, h, …"),
    ],
)
def test_of_what_there_is_the_first_eight_are_named_and_that_there_are_more(names: str, said: str) -> None:
    assert what_there_is(list(names)) == said


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ({}, "a map"),
        ([], "a list"),
        ("x", 'the text "x"'),
        ("x" * 40, f'the text "{"x" * 40}"'),
        ("x" * 41, f'the text "{"x" * 37}…"'),
        (1, "the number 1"),
        (1.5, "the number 1.5"),
    ],
)
def test_a_value_in_words(tree: Any, words: str) -> None:
    assert describe(tree) == words


def test_nobody_looks_for_the_nearest_of_thousands_nor_of_texts() -> None:
    many = [f"word-{number:04}" for number in range(1_999)]
    assert nearest("replcas", [*many, "replicas"]) == "replicas"
    assert nearest("replcas", [*many, "replicas", "one-more"]) is None
    assert nearest("a" * 300, ["a" * 299]) == "a" * 299
    assert nearest("a" * 301, ["a" * 299]) is None
    assert nearest("a" * 299, ["a" * 301, "b"]) is None
    assert nearest("a" * 299, ["a" * 300, "b"]) == "a" * 300
