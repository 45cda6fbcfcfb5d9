"""Spans of time that overlap or touch are one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fleetform.engine.plan.windows.openings import Opening
from fleetform.engine.plan.windows.spans import joined
from support.fleets import NOW


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], []),
        ([(0, 2), (3, 4)], [(0, 2), (3, 4)]),
        ([(3, 4), (0, 2)], [(0, 2), (3, 4)]),
        ([(0, 2), (2, 4)], [(0, 4)]),
        ([(0, 5), (1, 2), (4, 6), (8, 9)], [(0, 6), (8, 9)]),
        ([(0, 1), (0, 3)], [(0, 3)]),
    ],
)
def test_spans_in_order(spans: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    def openings(pairs: list[tuple[int, int]]) -> list[Opening]:
        return [Opening(NOW + timedelta(hours=begin), NOW + timedelta(hours=end)) for begin, end in pairs]

    assert joined(openings(spans)) == openings(expected)
