"""Text for people: tables, values, colours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from msgspec import UnsetType

from fleetform.cli.terminal import own
from fleetform.model.answers.base import Json, MaskedSecret
from fleetform.model.results.diagnostics import Place
from fleetform.syntax.addresses import with_masked_logins
from fleetform.syntax.printable import one_line

_RESET = "\x1b[0m"


# No column is made narrower than the first of these to fit a terminal; only if that is not enough, than the second.
_LEAST = (8, 4)
# Of these the end tells more than the beginning.
_KNOWN_BY_THEIR_END = ("OPTION", "WHERE", "FILE")
_WARNING_COLUMNS = {"BLOCKED": "red", "FINDINGS": "yellow"}


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    indent: str = "",
    width: int | None = None,
    paint: Painter | None = None,
) -> list[str]:
    """Columns as wide as their longest cell, two blanks apart; the last one is not padded.

    width is what a line may have: then the widest columns are cut. paint makes findings, and what is blocked, stand
    out.
    """
    rows = [[one_line(cell, 100_000) for cell in row] for row in rows]
    lines = [header, *rows] if header else rows
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(len(lines[0]) if lines else 0)]
    if width is not None:
        _shrink(widths, width - len(indent))
    found = []
    cuts = [cut_before if name in _KNOWN_BY_THEIR_END else cut for name in header or [""] * len(widths)]
    for number, line in enumerate(lines):
        cells = [cut_(cell, room).ljust(room) for cut_, cell, room in zip(cuts, line, widths, strict=True)]
        if cells:
            cells[-1] = cells[-1].rstrip()
        if paint is not None and header and number:
            cells = [_warning(name, cell, paint) for name, cell in zip(header, cells, strict=True)]
        found.append(indent + "  ".join(cells).rstrip())
    return found


def _shrink(widths: list[int], room: int) -> None:
    """Make the widest columns narrower until a line fits."""
    for least in _LEAST:
        while sum(widths) + 2 * (len(widths) - 1) > room and max(widths) > least:
            widths[widths.index(max(widths))] -= 1


def _warning(column: str, cell: str, paint: Painter) -> str:
    color = _WARNING_COLUMNS.get(column)
    return paint(cell, fg=color, bold=True) if color is not None and cell.strip() not in ("", "-", "0") else cell


def value_text(value: Json, limit: int = 60) -> str:
    """A value on one line, cut where it is long; secrets by a word."""
    if is_masked(value):
        return "(secret)"
    if isinstance(value, dict) and set(value) == {"expression"}:
        return cut(f"= {with_masked_logins(str(value['expression']))}", limit)
    if isinstance(value, str):
        value = with_masked_logins(value)
        plain = value and value.isprintable() and value == value.strip()
        return cut(value if plain else json.dumps(value, ensure_ascii=False), limit)
    return cut(with_masked_logins(json.dumps(without_masks(value), ensure_ascii=False)), limit)


def is_masked(value: Json) -> bool:
    """Whether it stands for a secret; a server's answers have masks as JSON has them."""
    return isinstance(value, MaskedSecret) or (
        isinstance(value, dict) and set(value) == {"secret", "digest"} and value["secret"] is True
    )


def without_masks(value: Json) -> Json:
    if is_masked(value):
        return "(secret)"
    if isinstance(value, dict):
        return {key: without_masks(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_masks(each) for each in value]
    return value


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def cut_before(text: str, limit: int) -> str:
    """The end of a text that is too long."""
    return text if len(text) <= limit else f"…{text[len(text) - limit + 1 :]}"


def with_place(text: str, place: str, width: int | None, below: str) -> str:
    """A text and where that stands; on a line of its own, behind `below`, if both together are too wide."""
    line = f"{text}{place}"
    return line if width is None or not place or len(line) <= width else f"{text.rstrip()}\n{below}{place}"


def place_text(place: Place | UnsetType | None) -> str:
    """`presets/web.yaml:7`, or nothing."""
    return f"{place.file}:{place.line}" if isinstance(place, Place) else ""


def count(number: int, noun: str) -> str:
    """`1 error`, `1,200 clusters`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Painter:
    """Colours, where they are wanted."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, **style: Any) -> str:
        return f"{own(click.style('', reset=False, **style))}{text}{own(_RESET)}" if self._color else text
