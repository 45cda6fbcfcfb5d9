"""Which of many maps fulfil requirements: found value by value, and the same as asking each map."""

from __future__ import annotations

import pytest

from fleetform.engine.placement.pool import ValueIndex
from fleetform.syntax.selectors import Operator, Requirement

MAPS: list[dict[str, str]] = [{}, {"n": "5"}, {"n": "6"}, {"n": "x"}, {"n": ""}, {"m": "6"}, {"n": "6", "m": "5"}]
ASKED: list[tuple[Operator, list[str]]] = [
    ("In", ["5", "x"]),
    ("In", ["7"]),
    ("NotIn", ["5", "x"]),
    ("Exists", []),
    ("DoesNotExist", []),
    ("Gt", ["5"]),
    ("Lt", ["6"]),
]


def positions(index: ValueIndex, *asked: Requirement) -> list[int]:
    group = index.fulfilling(asked)
    return [position for position in range(len(MAPS)) if f"{group:0{len(MAPS)}b}"[position] == "1"]


@pytest.mark.parametrize(("operator", "values"), ASKED, ids=lambda each: str(each))
def test_one_requirement(operator: Operator, values: list[str]) -> None:
    asked = Requirement("n", operator, frozenset(values))
    assert positions(ValueIndex(MAPS), asked) == [at for at, each in enumerate(MAPS) if asked.matches(each)]


def test_several_requirements_all_hold() -> None:
    index = ValueIndex(MAPS)
    above, there = Requirement("n", "Gt", frozenset({"5"})), Requirement("m", "Exists")
    assert positions(index, above, there) == [6]
    assert positions(index, above) == [2, 6]
    assert positions(index) == list(range(len(MAPS)))
