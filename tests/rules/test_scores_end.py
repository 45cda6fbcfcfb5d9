"""Scores of add-ons end: what was chosen by them is looked at again right after, and only that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fleetform.model.objects import Ref
from rules import test_ocm as ocm

COORDINATE = "{type: AddOn, addOn: {resourceName: load, scoreName: free}}"
SCORED = f"{{prioritizerPolicy: {{configurations: [{{scoreCoordinate: {COORDINATE}}}]}}}}"
ENDS = datetime(2026, 11, 2, tzinfo=UTC)


def score(until: str) -> str:
    return (
        f"apiVersion: {ocm.CLUSTER}/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: load, namespace: c1}}\n"
        f'status: {{scores: [{{name: free, value: 3}}], validUntil: "{until}"}}\n'
    )


@pytest.mark.parametrize(
    ("spec", "until", "expected"),
    [
        (SCORED, "2026-11-02T00:00:00Z", ENDS + timedelta(microseconds=1)),
        # At its very end a score still counts.
        (SCORED, "2026-11-01T12:00:00Z", datetime(2026, 11, 1, 12, 0, 0, 1, UTC)),
        (SCORED, "2026-11-01T11:59:59Z", None),
        ("{}", "2026-11-02T00:00:00Z", None),
    ],
)
def test_a_placement_is_looked_at_again_when_a_score_that_it_reads_has_ended(
    spec: str, until: str, expected: datetime | None
) -> None:
    fleet = ocm.fleet(ocm.placement("by-score", spec), score(until))
    placed = fleet.index.placements.placed(Ref("Placement", "default", "ops/by-score"))
    assert placed is not None
    assert placed.look_again_at == expected
