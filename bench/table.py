"""Tables of figures, each beside its goal and the time of the calibration loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One figure. met is None where there is no goal; loop is given for absolute figures, in seconds."""

    what: str
    figure: str
    goal: str = ""
    met: bool | None = None
    loop: float | None = None


def at_most(what: str, value: float, goal: float, unit: str, loop: float | None = None) -> Row:
    return Row(what, f"{_number(value)} {unit}", f"≤ {_number(goal)} {unit}", value <= goal, loop)


def at_least(what: str, value: float, goal: float) -> Row:
    return Row(what, f"{_number(value)}×", f"≥ {_number(goal)}×", value >= goal)


def plainly(what: str, value: float, unit: str, loop: float | None = None) -> Row:
    """A figure without a goal."""
    return Row(what, f"{_number(value)} {unit}", loop=loop)


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def print_table(title: str, rows: Sequence[Row]) -> None:
    lines = [("", "figure", "goal", "", "loop")]
    for row in rows:
        verdict = {True: "met", False: "MISSED", None: ""}[row.met]
        lines.append((row.what, row.figure, row.goal, verdict, f"{row.loop * 1000:.0f} ms" if row.loop else ""))
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    print(title)
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        print(f"  {'  '.join(cells)}".rstrip())
    print(flush=True)
