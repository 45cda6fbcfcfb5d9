"""Decision groups: named ones take their clusters in order, the rest has no name, and all are cut to a size."""

from __future__ import annotations

from typing import Any

import pytest

from engine.placement.test_placement import cluster, placed, placement

CLUSTERS = [cluster(f"{region}-{number}", {"region": region}) for region in ("eu", "us") for number in range(3)]
EU = {"groupName": "europe", "groupClusterSelector": {"labelSelector": {"matchLabels": {"region": "eu"}}}}
FIRST = {"groupName": "first", "groupClusterSelector": {"clusterNames": ["eu-0", "us-0"]}}


def groups(decision_groups: Any, **more: Any) -> list[tuple[str, str]]:
    answer = placed(placement(decisionGroups=decision_groups, **more), *reversed(CLUSTERS))
    return [(name, " ".join(each.ref.name for each in clusters)) for name, clusters in answer.groups]


ALL = "eu-0 eu-1 eu-2 us-0 us-1 us-2"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, [("", ALL)]),
        ({}, [("", ALL)]),
        ({"decisionGroups": [EU]}, [("europe", "eu-0 eu-1 eu-2"), ("", "us-0 us-1 us-2")]),
        ({"decisionGroups": [FIRST, EU]}, [("first", "eu-0 us-0"), ("europe", "eu-1 eu-2"), ("", "us-1 us-2")]),
        ({"decisionGroups": [EU, FIRST]}, [("europe", "eu-0 eu-1 eu-2"), ("first", "us-0"), ("", "us-1 us-2")]),
        ({"decisionGroups": [{"groupName": "all"}, EU]}, [("all", ALL)]),
        ({"decisionGroups": [{"groupName": "all", "groupClusterSelector": {}}]}, [("all", ALL)]),
        (
            {"decisionGroups": [{"groupName": "some", "groupClusterSelector": {"ignoreClusters": ["eu-0"]}}]},
            [("some", "eu-1 eu-2 us-0 us-1 us-2"), ("", "eu-0")],
        ),
        ({"decisionGroups": [{"groupName": "none", "groupClusterSelector": {"clusterNames": ["x"]}}]}, [("", ALL)]),
        (
            {"decisionGroups": [{"groupName": "bad", "groupClusterSelector": {"matchLabels": {"-": "x"}}}]},
            [("", ALL)],
        ),
    ],
)
def test_named_groups_take_what_none_before_them_took(wanted: Any, expected: list[tuple[str, str]]) -> None:
    assert groups(wanted) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (4, ["eu-0 eu-1 eu-2 us-0", "us-1 us-2"]),
        (6, [ALL]),
        (99, [ALL]),
        (0, ALL.split()),
        ("50%", ["eu-0 eu-1 eu-2", "us-0 us-1 us-2"]),
        ("51%", ["eu-0 eu-1 eu-2 us-0", "us-1 us-2"]),
        ("1%", ALL.split()),
        ("0%", ALL.split()),
        ("100%", [ALL]),
    ],
)
def test_groups_are_cut_to_a_number_or_a_share_of_all_that_are_chosen(size: int | str, expected: list[str]) -> None:
    assert groups({"clustersPerDecisionGroup": size}) == [("", each) for each in expected]


def test_a_named_group_is_cut_too_and_keeps_its_name() -> None:
    wanted = {"decisionGroups": [EU], "clustersPerDecisionGroup": 2}
    assert groups(wanted) == [("europe", "eu-0 eu-1"), ("europe", "eu-2"), ("", "us-0 us-1"), ("", "us-2")]


def test_a_share_is_counted_in_whole_numbers() -> None:
    hundred = [cluster(f"c{number:03}") for number in range(100)]
    answer = placed(placement(decisionGroups={"clustersPerDecisionGroup": "7%"}), *hundred)
    assert [len(group.clusters) for group in answer.groups] == [7] * 14 + [2]


@pytest.mark.parametrize(
    ("share", "sizes"),
    [("100%", [230]), ("99%", [228, 2]), ("50%", [115, 115]), ("34%", [79, 79, 72]), ("30%", [69, 69, 69, 23])],
)
def test_a_share_of_many_is_rounded_up_and_by_no_more(share: str, sizes: list[int]) -> None:
    many = [cluster(f"c{number:03}") for number in range(230)]
    answer = placed(placement(decisionGroups={"clustersPerDecisionGroup": share}), *many)
    assert [len(group.clusters) for group in answer.groups] == sizes


@pytest.mark.parametrize("wanted", [None, {"decisionGroups": [EU]}])
def test_nothing_chosen_is_no_group(wanted: Any) -> None:
    assert groups(wanted, numberOfClusters=0) == []


def test_only_chosen_clusters_are_grouped() -> None:
    assert groups({"decisionGroups": [FIRST]}, numberOfClusters=2) == [("first", "eu-0"), ("", "eu-1")]


def test_claims_narrow_a_group_and_labels_beside_them_count_too() -> None:
    def of(name: str, region: str, channel: str) -> Any:
        return cluster(name, {"region": region}, facts={"claims": {"channel": channel}})

    fleet = [of("a", "eu", "fast"), of("b", "eu", "slow"), of("c", "us", "fast")]
    fast = {"claimSelector": {"matchExpressions": [{"key": "channel", "operator": "In", "values": ["fast"]}]}}

    def named(selector: dict[str, Any]) -> list[tuple[str, str]]:
        wanted = {"decisionGroups": [{"groupName": "canary", "groupClusterSelector": selector}]}
        answer = placed(placement(decisionGroups=wanted), *fleet)
        return [(name, " ".join(each.ref.name for each in clusters)) for name, clusters in answer.groups]

    assert named(fast) == [("canary", "a c"), ("", "b")]
    assert named({**fast, "labelSelector": {"matchLabels": {"region": "eu"}}}) == [("canary", "a"), ("", "b c")]
    unreadable = {"claimSelector": {"matchExpressions": [{"key": "channel", "operator": "In"}]}}
    assert named(unreadable) == [("", "a b c")]
