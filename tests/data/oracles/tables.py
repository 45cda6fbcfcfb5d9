"""The rows of the tables beside this file, as pytest parameters."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


class Row(NamedTuple):
    """One question and the library's answer to it."""

    id: str
    given: dict[str, Any]
    answer: dict[str, Any]


@cache
def table(name: str) -> dict[str, Row]:
    """A table's rows by id."""
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    _header, *rows = map(json.loads, lines)
    return {row["id"]: Row(row["id"], row["in"], row["out"]) for row in rows}


def rows_of(name: str, without: Container[str] = ()) -> list[ParameterSet]:
    """The rows of a table but for those we answer in our own way."""
    return [pytest.param(row, id=row.id) for row in table(name).values() if row.id not in without]


def rows_named(name: str, ids: Iterable[str]) -> list[ParameterSet]:
    """These rows of a table."""
    return [pytest.param(table(name)[each], id=each) for each in ids]


def number_forms(text: str | bytes) -> Any:
    """JSON with every number as its text: 1, 1.0 and 1e0 are three answers."""
    return json.loads(text, parse_int=_as_written, parse_float=_as_written)


def _as_written(number: str) -> tuple[str, str]:
    return "number", number
