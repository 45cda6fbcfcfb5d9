"""Values written for older versions: which retype concerns them, also where they are secret."""

from __future__ import annotations

import pytest

from fleetform.engine.versions.migrations import retyped
from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import Secret

TEXT, NUMBER = Option("size", "string"), Option("size", "int")
REF = SecretKey("keys", "size")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        ("3", 3),
        # What no expression can turn into the type stays as it is, and is refused where it is decided.
        ("many", "many"),
        ([1], [1]),
    ],
)
def test_a_value_is_converted_if_it_does_not_fit_and_the_result_does(value: object, expected: object) -> None:
    assert retyped(NUMBER, [(NUMBER, "int(value)")], value) == expected


def test_an_expression_that_fails_leaves_the_value_to_the_next() -> None:
    retypes = [(NUMBER, "value.nothing"), (NUMBER, "int(value) + 1")]
    assert retyped(NUMBER, retypes, "3") == 4


def test_what_fits_a_version_on_the_way_is_not_converted_there() -> None:
    # Written for the version in which it was text already: only the second step concerns it.
    retypes = [(TEXT, "'old ' + string(value)"), (NUMBER, "int(value)")]
    assert retyped(NUMBER, retypes, "3") == 3
    assert retyped(NUMBER, [(None, "value + '0'"), (NUMBER, "int(value)")], "3") == 30


def test_a_secret_is_converted_inside_and_stays_one() -> None:
    known, unknown = Secret(REF, "3"), Secret(REF, None)
    converted = retyped(NUMBER, [(NUMBER, "int(value)")], known)
    assert isinstance(converted, Secret)
    # What the Secret itself holds is another value: it no longer stands for this one.
    assert (converted.ref, converted.plain) == (None, 3)
    assert retyped(NUMBER, [(NUMBER, "int(value)")], unknown) is unknown
    fits = Secret(REF, 3)
    assert retyped(NUMBER, [(NUMBER, "int(value)")], fits) is fits
