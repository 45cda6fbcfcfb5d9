"""Values are held to the rules that their option states."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.definition import Option, OptionType
from fleetform.model.results.decisions import Secret
from fleetform.syntax.option_rules import breaks_rules

VALUES: dict[OptionType, Any] = {
    "string": "text",
    "bool": True,
    "int": 3,
    "list": [1],
    "map": {"a": 1},
    "secret": "hunter2",
}
WANTED: dict[OptionType, str] = {
    "string": "a string option and must be text",
    "bool": "a bool option and must be true or false",
    "int": "an int option and must be a whole number",
    "list": "a list option and must be a list",
    "map": "a map option and must be a map",
    "secret": "a secret option and must be text",
}
# A secret is text, so that these two take each other's values.
PAIRS = [
    (kind, other) for kind in VALUES for other in VALUES if kind != other and {kind, other} != {"string", "secret"}
]


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_of_its_options_type_is_fine(kind: OptionType) -> None:
    assert breaks_rules(Option("o", kind), VALUES[kind]) is None


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_a_value_of_any_other_type_breaks_the_rules(kind: OptionType, other: OptionType) -> None:
    problem = breaks_rules(Option("o", kind), VALUES[other])
    assert problem is not None
    assert problem.startswith(f"o is {WANTED[kind]}, not ")


@pytest.mark.parametrize("kind", VALUES)
def test_null_is_of_no_type(kind: OptionType) -> None:
    assert breaks_rules(Option("o", kind), None) is not None


@pytest.mark.parametrize("value", [1.5, "3", True, False])
def test_only_whole_numbers_are_whole_numbers(value: Any) -> None:
    assert breaks_rules(Option("o", "int"), value) is not None


@pytest.mark.parametrize("value", [0, 1, "true", "false"])
def test_only_booleans_are_booleans(value: Any) -> None:
    assert breaks_rules(Option("o", "bool"), value) is not None


# ---- Regex


@pytest.mark.parametrize(("regex", "value"), [("^a+$", "aaa"), ("a", "xax"), ("", "anything"), ("^$", "")])
def test_text_that_matches_is_fine(regex: str, value: str) -> None:
    assert breaks_rules(Option("o", "string", regex=regex), value) is None


def test_text_that_does_not_match_breaks_the_rules() -> None:
    problem = breaks_rules(Option("o", "string", regex="^a+$"), "aab")
    assert problem == 'o must match ^a+$, and the text "aab" does not'


def test_a_regex_that_cannot_be_read_is_reported_elsewhere() -> None:
    assert breaks_rules(Option("o", "string", regex="["), "x") is None


def test_a_regex_says_nothing_about_other_types() -> None:
    assert breaks_rules(Option("o", "list", regex="^a$"), ["b"]) is None


def test_the_end_of_a_regex_is_the_end_of_the_text() -> None:
    assert breaks_rules(Option("o", "string", regex="^a$"), "a\n") is not None


def test_a_character_class_of_go_is_not_read_as_something_else() -> None:
    assert breaks_rules(Option("o", "string", regex="^[[:alpha:]]+$"), "abc") is None


# ---- Enum and bounds


@pytest.mark.parametrize(
    ("kind", "enum", "value"), [("string", ["a", "b"], "b"), ("int", [1, 2], 2), ("list", [[1], [2]], [2])]
)
def test_a_value_of_the_enum_is_fine(kind: OptionType, enum: list[Any], value: Any) -> None:
    assert breaks_rules(Option("o", kind, enum=enum), value) is None


def test_a_value_outside_the_enum_breaks_the_rules() -> None:
    problem = breaks_rules(Option("o", "string", enum=["a", "b"]), "c")
    assert problem == 'o must be one of a, b, not the text "c"'


def test_a_value_is_not_taken_for_an_equal_one_of_another_type() -> None:
    assert breaks_rules(Option("o", "bool", enum=[1]), True) is not None


@pytest.mark.parametrize("value", [2, 3, 4])
def test_a_number_within_its_bounds_is_fine(value: int) -> None:
    assert breaks_rules(Option("o", "int", minimum=2, maximum=4), value) is None


@pytest.mark.parametrize(("value", "problem"), [(1, "o must be at least 2, not 1"), (5, "o must be at most 4, not 5")])
def test_a_number_outside_its_bounds_breaks_the_rules(value: int, problem: str) -> None:
    assert breaks_rules(Option("o", "int", minimum=2, maximum=4), value) == problem


def test_a_bound_may_be_a_fraction() -> None:
    assert breaks_rules(Option("o", "int", minimum=0.5), 0) == "o must be at least 0.5, not 0"


# ---- Secrets


@pytest.mark.parametrize("kind", VALUES)
def test_a_reference_to_a_secret_is_not_judged(kind: OptionType) -> None:
    option = Option("o", kind, regex="^never$", enum=["never"], minimum=5)
    assert breaks_rules(option, Secret(SecretKey("s", "k"))) is None


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (Option("o", "secret"), 20261101),
        (Option("o", "secret"), ["hunter2"]),
        (Option("o", "secret"), {"password": "hunter2"}),
        (Option("o", "secret"), True),
        (Option("o", "secret", regex="^a+$"), "hunter2"),
        (Option("o", "secret", enum=["a", "b"]), "hunter2"),
        (Option("o", "secret", regex="^h", enum=["a"]), "hunter2"),
    ],
)
def test_the_text_of_a_secret_never_reaches_a_message(option: Option, value: Any) -> None:
    problem = breaks_rules(option, value)
    assert problem is not None
    assert not any(part in problem for part in ("hunter2", "20261101", "password", "true"))
