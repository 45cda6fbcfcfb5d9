"""Scores by themselves, as tables: how often others chose a cluster, and what is weighed."""

from __future__ import annotations

import pytest

from fleetform.engine.placement.pool import ClusterPool
from fleetform.engine.placement.scores import total_scores, weights
from fleetform.model.kinds.placement import AddOnScore, Prioritizers, ScoreCoordinate, WeightedScore


@pytest.mark.rule("R1-13")
@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ({}, {"a": 100, "b": 100, "c": 100}),
        ({"a": 0}, {"a": 100, "b": 100, "c": 100}),
        ({"a": 1}, {"a": -100, "b": 100, "c": 100}),
        ({"a": 2, "b": 1}, {"a": -100, "b": 0, "c": 100}),
        # Halves are cut off before they are doubled.
        ({"a": 3, "b": 2, "c": 1}, {"a": -100, "b": -32, "c": 32}),
        ({"z": 4, "a": 1}, {"a": 50, "b": 100, "c": 100}),
    ],
)
def test_clusters_that_other_placements_chose_more_often_have_less(
    load: dict[str, int], expected: dict[str, int]
) -> None:
    balance = Prioritizers("Exact", [WeightedScore(ScoreCoordinate("BuiltIn", "Balance"))])
    assert total_scores(balance, ["a", "b", "c"], ClusterPool([]), earlier=(), load=load) == expected


def test_of_two_weights_for_one_score_the_last_counts_and_none_is_left_out() -> None:
    addon = ScoreCoordinate("AddOn", add_on=AddOnScore("cpu", "free"))
    given = [
        WeightedScore(ScoreCoordinate("BuiltIn", "Balance"), 0),
        WeightedScore(addon, 2),
        WeightedScore(addon, 3),
        WeightedScore(ScoreCoordinate("BuiltIn", "Steady"), -1),
    ]
    assert weights(None) == {"Balance": 1, "Steady": 1}
    assert weights(given) == {"Steady": -1, ("cpu", "free"): 3}
    assert weights(Prioritizers("Exact", given[1:2])) == {("cpu", "free"): 2}
