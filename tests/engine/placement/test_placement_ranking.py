"""Which of the qualifying clusters a placement takes: scores, earlier choices, spread."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engine.placement.test_placement import chosen, cluster, placement, reason
from fleetform.engine.placement.pool import ClusterPool
from fleetform.engine.placement.scores import Coordinate, total_scores, weights
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.syntax.quantities import parse_quantity

A, B, C, D = cluster("a"), cluster("b"), cluster("c"), cluster("d")
ABC = (A, B, C)
BOTH = {"builtIn": "Steady", "addOn": {"resourceName": "load", "scoreName": "cpu"}}


def built_in(name: str, weight: int = 1) -> dict[str, Any]:
    return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}


def published(resource: str = "load", score: str = "cpu", weight: int = 1) -> dict[str, Any]:
    coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": score}}
    return {"scoreCoordinate": coordinate, "weight": weight}


def exactly(*configurations: dict[str, Any]) -> dict[str, Any]:
    return {"mode": "Exact", "configurations": list(configurations)}


def load_of(**scores: int) -> dict[tuple[str, str, str], int]:
    return {(name, "load", "cpu"): score for name, score in scores.items()}


def scored(
    prioritizers: Any, *clusters: Object[ClusterSpec], scores: Any = None, earlier: Any = (), load: Any = None
) -> dict[str, int]:
    pool = ClusterPool(clusters, scores)
    names = [each.ref.name for each in clusters]
    return total_scores(
        placement(prioritizers=prioritizers).prioritizers, names, pool, earlier=earlier, load=load or {}
    )


# ---- Scores


@pytest.mark.parametrize(
    ("prioritizers", "expected"),
    [
        (None, {"Balance": 1, "Steady": 1}),
        ([], {"Balance": 1, "Steady": 1}),
        ({}, {"Balance": 1, "Steady": 1}),
        ({"mode": "Additive"}, {"Balance": 1, "Steady": 1}),
        ({"mode": "Exact"}, {}),
        ([built_in("Steady", 3)], {"Balance": 1, "Steady": 3}),
        ([built_in("Balance", 0), published(weight=-2)], {"Steady": 1, ("load", "cpu"): -2}),
        (exactly(built_in("ResourceAllocatableCPU", 5)), {"ResourceAllocatableCPU": 5}),
        (exactly(published(weight=1), published(weight=4)), {("load", "cpu"): 4}),
        (exactly({"scoreCoordinate": {"builtIn": "Steady"}}), {"Steady": 1}),
        (exactly({"scoreCoordinate": {**BOTH, "type": "BuiltIn"}}), {"Steady": 1}),
        (exactly({"scoreCoordinate": {**BOTH, "type": "AddOn"}}), {("load", "cpu"): 1}),
    ],
)
def test_defaults_count_beside_what_is_configured_unless_the_mode_is_exact(
    prioritizers: Any, expected: dict[Coordinate, int]
) -> None:
    assert weights(placement(prioritizers=prioritizers).prioritizers) == expected


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ({}, [100, 100, 100]),
        ({"a": 4, "b": 2}, [-100, 0, 100]),
        ({"a": 1, "elsewhere": 4}, [50, 100, 100]),
        ({"a": 3, "b": 1}, [-100, 32, 100]),  # 100 × (1/2 − 1/3) is 16.6: cut off, then doubled
        ({"a": 0}, [100, 100, 100]),
    ],
)
def test_balance_prefers_clusters_that_other_placements_chose_less(load: dict[str, int], expected: list[int]) -> None:
    assert list(scored(exactly(built_in("Balance")), *ABC, load=load).values()) == expected


def test_steady_prefers_clusters_that_were_chosen_earlier() -> None:
    assert scored(exactly(built_in("Steady", 2)), *ABC, earlier=["b"]) == {"a": 0, "b": 200, "c": 0}


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([4, "8", "6000m"], [-100, 100, 0]),
        (["1", "2", "4"], [-100, -33, 100]),
        (["4", "4", "4"], [100, 100, 100]),
        (["4", "8", None], [-100, 100, 0]),
        ([None, None, None], [0, 0, 0]),
        (["4", "8", "lots"], [-100, 100, 0]),
        (["4", "8", "9" * 400], [-100, 100, 0]),
        (["0", "4", "10"], [-100, -19, 100]),  # as floating point has it: -19.99
    ],
)
@pytest.mark.parametrize("resource", ["CPU", "Memory"])
def test_allocatable_resources_count_from_the_least_to_the_most(
    resource: str, amounts: list[Any], expected: list[int]
) -> None:
    facts = [{"allocatable": {resource.lower(): amount}} if amount else {} for amount in amounts]
    several = [cluster(name, facts=each) for name, each in zip("abc", facts, strict=True)]
    assert list(scored(exactly(built_in(f"ResourceAllocatable{resource}")), *several).values()) == expected


def test_a_published_score_that_is_missing_counts_nothing() -> None:
    assert scored(exactly(published(weight=-3)), *ABC, scores=load_of(a=10, b=-20)) == {"a": -30, "b": 60, "c": 0}


def test_a_built_in_score_that_does_not_exist_counts_nothing() -> None:
    unnamed: list[dict[str, Any]] = [{"scoreCoordinate": {}}, {"scoreCoordinate": {"type": "AddOn"}}]
    assert scored(exactly(built_in("Spread"), *unnamed), A) == {"a": 0}


def test_weighted_scores_are_added() -> None:
    ranking = [built_in("Balance", 2), published(weight=3)]
    totals = scored(ranking, *ABC, scores=load_of(a=10, c=-10), earlier=["a"], load={"b": 1})
    assert totals == {"a": 200 + 100 + 30, "b": -200, "c": 200 - 30}


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("4", "4"), ("500m", "0.5"), ("1.5", "1.5"), (".5", "0.5"), ("5.", "5"), ("+3", "3"), ("-3", "-3"),
        ("2k", "2000"), ("2Ki", "2048"), ("1.5Gi", "1610612736"), ("3E", "3e18"), ("3e3", "3000"), ("3E-2", "0.03"),
        ("1n", "1e-9"), ("1u", "1e-6"), ("1T", "1e12"), ("1Ei", "1152921504606846976"),
    ],
)  # fmt: skip
def test_quantities_are_read_as_kubernetes_reads_them(text: str, amount: str) -> None:
    assert parse_quantity(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "m", "1 Gi", "1gi", "1K", "1mi", "e3", ".", "1e", "0x1", "1,5", "١"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(text)


# ---- How many


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, []), (1, ["b"]), (2, ["b", "c"]), (3, ["a", "b", "c"]), (9, ["a", "b", "c"]), (None, ["a", "b", "c"])],
)
def test_the_highest_scores_are_chosen(number: int | None, expected: list[str]) -> None:
    spec = placement(numberOfClusters=number, prioritizers=[published()])
    assert chosen(spec, *ABC, scores=load_of(a=1, b=3, c=2)) == expected


def test_names_decide_between_equal_scores() -> None:
    assert chosen(placement(numberOfClusters=2), C, B, A) == ["a", "b"]


def test_a_cluster_with_a_taint_that_prefers_others_is_chosen_if_there_are_not_enough() -> None:
    shy = cluster("a", taints=[{"key": "old", "effect": "PreferNoSelect"}])
    scores = load_of(a=100)
    spec = placement(numberOfClusters=2, prioritizers=[published()])
    assert chosen(spec, shy, B, C, scores=scores) == ["b", "c"]
    assert reason(spec, "a", shy, B, C, scores=scores) == "taint old (PreferNoSelect), and there are enough others"
    assert chosen(spec, shy, B, scores=scores) == ["a", "b"]
    tolerant = placement(numberOfClusters=1, prioritizers=[published()], tolerations=[{"key": "old"}])
    assert chosen(tolerant, shy, B, C, scores=scores) == ["a"]


def test_words_for_a_cluster_that_others_outrank() -> None:
    spec, scores = placement(numberOfClusters=2, prioritizers=exactly(published())), load_of(a=40, b=60, c=90)
    assert reason(spec, "a", *ABC, scores=scores) == "score 40, the last chosen has 60"
    even = "score 100, as the last chosen, b, which comes first by name"
    assert reason(placement(numberOfClusters=2), "c", *ABC) == even
    assert reason(placement(numberOfClusters=0), "c", *ABC) == "the placement asks for no cluster"


# ---- Memory


@pytest.mark.rule("B32")
def test_a_better_score_does_not_drive_out_a_cluster_that_was_chosen_earlier() -> None:
    spec, scores = placement(numberOfClusters=1, prioritizers=exactly(published())), load_of(a=0, b=100)
    assert chosen(spec, A, B, scores=scores) == ["b"]
    assert chosen(spec, A, B, scores=scores, earlier=["a"]) == ["a"]
    said = "score 100, but clusters that were chosen earlier keep their places"
    assert reason(spec, "b", A, B, scores=scores, earlier=["a"]) == said


@pytest.mark.rule("B32")
def test_newcomers_fill_the_places_that_are_left_by_score() -> None:
    spec, scores = placement(numberOfClusters=2, prioritizers=exactly(published())), load_of(a=0, b=50, c=100)
    assert chosen(spec, *ABC, scores=scores, earlier=["a"]) == ["a", "c"]
    assert reason(spec, "b", *ABC, scores=scores, earlier=["a"]) == "score 50, the last chosen has 100"


@pytest.mark.rule("B32")
@pytest.mark.parametrize(
    "left",
    [
        cluster("a", {"env": "dev"}),
        cluster("a", {"env": "prod"}, taints=[{"key": "x", "effect": "NoSelect"}]),
    ],
    ids=["no predicate holds", "a taint"],
)
def test_a_cluster_leaves_when_it_no_longer_qualifies(left: Object[ClusterSpec]) -> None:
    spec = placement(
        numberOfClusters=1,
        predicates=[{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
    )
    other = cluster("b", {"env": "prod"})
    assert chosen(spec, cluster("a", {"env": "prod"}), other, earlier=["a"]) == ["a"]
    assert chosen(spec, left, other, earlier=["a"]) == ["b"]


@pytest.mark.rule("B32")
def test_where_fewer_are_wanted_the_lowest_scored_leave() -> None:
    spec, scores = placement(numberOfClusters=2, prioritizers=exactly(published())), load_of(a=1, b=3, c=2, d=9)
    assert chosen(spec, A, B, C, D, scores=scores, earlier=["a", "b", "c"]) == ["b", "c"]
    assert reason(spec, "a", A, B, C, D, scores=scores, earlier=["a", "b", "c"]) == "score 1, the last chosen has 2"


@pytest.mark.rule("B32")
def test_a_taint_that_prefers_others_drives_out_nothing_that_was_chosen_earlier() -> None:
    shy = cluster("a", taints=[{"key": "old", "effect": "PreferNoSelect"}])
    assert chosen(placement(numberOfClusters=1), shy, B, earlier=["a"]) == ["a"]
    assert chosen(placement(numberOfClusters=1), shy, B, earlier=["a", "b"]) == ["b"]


def test_names_of_earlier_choices_that_no_longer_exist_do_not_matter() -> None:
    assert chosen(placement(numberOfClusters=1), A, B, earlier=["gone", "b"]) == ["b"]


# ---- Spread


def spread(*constraints: dict[str, Any]) -> dict[str, Any]:
    return {"spreadConstraints": list(constraints)}


def over(key: str, skew: int = 1, unsatisfiable: str | None = None, kind: str = "Label") -> dict[str, Any]:
    return {"topologyKey": key, "topologyKeyType": kind, "maxSkew": skew, "whenUnsatisfiable": unsatisfiable}


def in_regions(**counts: int) -> list[Object[ClusterSpec]]:
    return [
        cluster(f"{region}-{number}", {"region": region}, facts={"claims": {"region": region}})
        for region, count in counts.items()
        for number in range(count)
    ]


@pytest.mark.parametrize("kind", ["Label", "Claim"])
@pytest.mark.parametrize(
    ("number", "skew", "unsatisfiable", "expected"),
    [
        (3, 1, None, ["ap-0", "eu-0", "us-0"]),
        (4, 1, None, ["ap-0", "ap-1", "eu-0", "us-0"]),
        (4, 2, None, ["ap-0", "ap-1", "eu-0", "eu-1"]),
        (4, 9, None, ["ap-0", "ap-1", "ap-2", "ap-3"]),
        (6, 1, "DoNotSelect", ["ap-0", "ap-1", "eu-0", "eu-1", "us-0"]),
        (6, 1, "ScheduleAnyway", ["ap-0", "ap-1", "ap-2", "eu-0", "eu-1", "us-0"]),
        (None, 1, "DoNotSelect", ["ap-0", "ap-1", "eu-0", "eu-1", "us-0"]),
        (None, 2, "DoNotSelect", ["ap-0", "ap-1", "ap-2", "eu-0", "eu-1", "us-0"]),
        (None, 1, None, ["ap-0", "ap-1", "ap-2", "ap-3", "eu-0", "eu-1", "us-0"]),
        (20, 1, None, ["ap-0", "ap-1", "ap-2", "ap-3", "eu-0", "eu-1", "us-0"]),
    ],
)
def test_the_chosen_are_spread_evenly(
    kind: str, number: int | None, skew: int, unsatisfiable: str | None, expected: list[str]
) -> None:
    spec = placement(numberOfClusters=number, spread=spread(over("region", skew, unsatisfiable, kind)))
    assert chosen(spec, *in_regions(ap=4, eu=2, us=1)) == expected


def test_the_best_of_each_region_is_chosen() -> None:
    spec = placement(numberOfClusters=2, spread=spread(over("region")), prioritizers=exactly(published()))
    scores = {("eu-1", "load", "cpu"): 90, ("eu-0", "load", "cpu"): 80, ("us-1", "load", "cpu"): 10}
    assert chosen(spec, *in_regions(eu=2, us=2), scores=scores) == ["eu-1", "us-1"]


def test_earlier_constraints_matter_more() -> None:
    several = [
        cluster(name, {"region": region, "provider": provider})
        for name, region, provider in [("a", "eu", "x"), ("b", "eu", "y"), ("c", "us", "x"), ("d", "eu", "z")]
    ]
    spec = placement(numberOfClusters=2, spread=spread(over("region"), over("provider")))
    assert chosen(spec, *several) == ["a", "c"]
    spec = placement(numberOfClusters=2, spread=spread(over("provider"), over("region")))
    assert chosen(spec, *several) == ["a", "b"]


def test_a_cluster_without_a_value_satisfies_no_constraint() -> None:
    bare = cluster("a")
    spec = placement(numberOfClusters=2, spread=spread(over("region", unsatisfiable="DoNotSelect")))
    assert chosen(spec, bare, *in_regions(eu=1)) == ["eu-0"]
    assert reason(spec, "a", bare, *in_regions(eu=1)) == "spread: it has no label region"
    spec = placement(numberOfClusters=2, spread=spread(over("region")))
    assert chosen(spec, bare, *in_regions(eu=1, us=1)) == ["eu-0", "us-0"]
    assert chosen(spec, bare, *in_regions(eu=1)) == ["a", "eu-0"]


@pytest.mark.rule("B32")
def test_spread_drives_out_nothing_that_was_chosen_earlier_and_evens_out_with_newcomers() -> None:
    spec = placement(numberOfClusters=4, spread=spread(over("region", unsatisfiable="DoNotSelect")))
    regions = in_regions(eu=3, us=3)
    assert chosen(spec, *regions, earlier=["eu-0", "eu-1", "eu-2"]) == ["eu-0", "eu-1", "eu-2", "us-0"]
    fewer = placement(numberOfClusters=2, spread=spread(over("region", unsatisfiable="DoNotSelect")))
    assert chosen(fewer, *regions, earlier=["eu-0", "eu-1", "us-2"]) == ["eu-0", "us-2"]
    assert chosen(fewer, *regions, earlier=["eu-0", "eu-1", "eu-2"]) == ["eu-0", "eu-1"]


def test_taints_that_prefer_others_come_before_spread() -> None:
    shy = cluster("us-0", {"region": "us"}, taints=[{"key": "old", "effect": "PreferNoSelect"}])
    soft, hard = over("region"), over("region", unsatisfiable="DoNotSelect")
    regions = [shy, *in_regions(eu=3)]
    assert chosen(placement(numberOfClusters=3, spread=spread(soft)), *regions) == ["eu-0", "eu-1", "eu-2"]
    assert chosen(placement(numberOfClusters=3, spread=spread(hard)), *regions) == ["eu-0", "eu-1", "us-0"]


def test_words_for_a_cluster_that_would_be_one_too_many() -> None:
    regions = in_regions(eu=3, us=1)
    strict = placement(spread=spread(over("region", unsatisfiable="DoNotSelect")))
    said = "spread: label region: 2 of the chosen have eu, 1 us (maxSkew 1)"
    assert reason(strict, "eu-2", *regions) == said
    even = placement(numberOfClusters=2, spread=spread(over("region")))
    assert reason(even, "eu-1", *regions) == "spread: label region: 1 of the chosen have eu, 1 us (maxSkew 1)"
    assert (
        reason(even, "us-1", *in_regions(eu=1, us=2))
        == "score 100, as the last chosen, us-0, which comes first by name"
    )
