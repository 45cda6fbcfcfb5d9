"""Label selectors answer as apimachinery does; cluster selectors add names and exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.model.kinds.base import ClusterSelector, LabelRequirement, LabelSelector
from fleetform.model.shape import read_record
from fleetform.syntax.selectors import (
    SelectorError,
    any_matches,
    compile_clusters,
    compile_labels,
    matches_all,
    parse_selector,
)
from support.fleets import PRESET, fleet_with

# Whether an absent selector selects everything or nothing is for the kind to say, not for the selector.
ABSENT = [f"labelselector-00{number}" for number in range(1, 9)]
# A null label value is an error here; there it reads as the empty text, which hardly anybody means.
# So is an unknown field: there a misspelt matchlabels selects every cluster.
REFUSED_HERE = {
    "labelselector-187": "env must be text, not null",
    "labelselector-188": "env must be text, not null",
    "labelselector-189": "env must be text, not null",
    "labelselector-199": "it has no field matchlabels",
    "labelselector-200": "it has no field matchlabels",
    "labelselector-201": "it has no field matchlabels",
    "labelselector-204": "it has no field MatchLabels",
    "labelselector-205": "it has no field extra",
    "labelselector-206": "it has no field extra",
    "labelselector-207": "it has no field extra",
    "labelselector-208": "it has no field env",
    "labelselector-210": "it has no field env",
}


def matches(selector: Any, labels: dict[str, str] | None) -> bool:
    """Whether a selector as it stands in a manifest matches; SelectorError where it cannot be read."""
    read = read_record(selector, LabelSelector)
    if isinstance(read, list):
        raise SelectorError(read[0].message)
    return matches_all(compile_labels(read), labels or {})


@pytest.mark.rule("R0-2")
@pytest.mark.parametrize("row", rows_of("labelselector", without={*ABSENT, *REFUSED_HERE}))
def test_a_label_selector_matches_as_in_kubernetes(row: Row) -> None:
    if "matches" in row.answer:
        assert matches(row.given["selector"], row.given["labels"]) is row.answer["matches"]
    else:
        with pytest.raises(SelectorError):
            matches(row.given["selector"], row.given["labels"])


@pytest.mark.parametrize("row", rows_named("labelselector", REFUSED_HERE))
def test_a_label_selector_that_only_fleetform_refuses(row: Row) -> None:
    assert "matches" in row.answer
    with pytest.raises(SelectorError, match=REFUSED_HERE[row.id]):
        matches(row.given["selector"], row.given["labels"])


@pytest.mark.rule("R0-4")
@pytest.mark.parametrize("row", rows_named("labelselector", ABSENT))
def test_an_absent_selector_of_an_override_selects_every_cluster(row: Row) -> None:
    assert row.answer["matches"] is False
    assert any_matches(compile_clusters(None), "eu-1", row.given["labels"] or {})


@pytest.mark.parametrize("selector", ["", "  clusterSelector: null\n"], ids=["absent", "null"])
def test_an_absent_selector_of_a_preset_is_rejected(selector: str) -> None:
    fleet = fleet_with(preset=PRESET.replace("  clusterSelector: {}\n", selector))
    messages = [each.message for each in fleet.findings.all if each.code == "missing-field"]
    assert messages == ["a preset must say which clusters it selects"]


@pytest.mark.parametrize("row", rows_of("labelselector_text"))
def test_a_selector_text_matches_as_with_kubectl(row: Row) -> None:
    if "matches" in row.answer:
        assert matches_all(parse_selector(row.given["text"]), row.given["labels"] or {}) is row.answer["matches"]
    else:
        with pytest.raises(SelectorError):
            parse_selector(row.given["text"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env=prod,", "nothing after the last ,"),
        ("env in prod", "expected ( after in or notin"),
        ("env in (prod", "the ( is not closed"),
        ("size>big", "> compares whole numbers, not 'big'"),
        ("env~prod", "'env~prod' is not a label key"),
        ("env prod", "'prod' is not an operator"),
        ("env=(", "expected a value, not '('"),
    ],
)
def test_a_broken_selector_text_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("selector", "where"),
    [
        (LabelSelector(match_labels={"-a": "b"}), ("matchLabels", "-a")),
        (LabelSelector(match_labels={"a": "-"}), ("matchLabels", "a")),
        (LabelSelector(match_expressions=[LabelRequirement("a", "In")]), ("matchExpressions", 0)),
        (LabelSelector(match_expressions=[LabelRequirement("a", "Exists", ["b"])]), ("matchExpressions", 0, "values")),
        (
            LabelSelector(match_expressions=[LabelRequirement("a", "In", ["b", "-"])]),
            ("matchExpressions", 0, "values", 1),
        ),
    ],
)
def test_a_broken_selector_says_where_it_is_broken(selector: LabelSelector, where: tuple[str | int, ...]) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_labels(selector)
    assert caught.value.where == where


# ---- Cluster selectors

EU = LabelSelector(match_labels={"region": "eu"})
CLUSTERS = {"eu-1": {"region": "eu"}, "eu-2": {"region": "eu"}, "us-1": {"region": "us"}}


def selected(selector: ClusterSelector | list[ClusterSelector] | None) -> list[str]:
    matchers = compile_clusters(selector)
    return [name for name, labels in CLUSTERS.items() if any_matches(matchers, name, labels)]


@pytest.mark.rule("R0-4")
@pytest.mark.parametrize(
    "selector",
    [None, ClusterSelector(), [], ClusterSelector(label_selector=LabelSelector()), ClusterSelector(cluster_names=[])],
)
def test_selectors_that_say_nothing_select_everything_and_name_no_cluster(
    selector: ClusterSelector | list[ClusterSelector] | None,
) -> None:
    assert selected(selector) == ["eu-1", "eu-2", "us-1"]
    assert not any(matcher.names_clusters for matcher in compile_clusters(selector))


@pytest.mark.rule("R0-2")
def test_labels_and_names_add_up() -> None:
    assert selected(ClusterSelector(label_selector=EU, cluster_names=["us-1"])) == ["eu-1", "eu-2", "us-1"]


def test_names_alone_select_only_those_clusters() -> None:
    assert selected(ClusterSelector(cluster_names=["us-1"])) == ["us-1"]


@pytest.mark.rule("R0-2")
def test_ignored_clusters_are_left_out_by_label_and_by_name() -> None:
    assert selected(ClusterSelector(label_selector=EU, ignore_clusters=["eu-2"])) == ["eu-1"]
    assert selected(ClusterSelector(cluster_names=["eu-1", "us-1"], ignore_clusters=["us-1"])) == ["eu-1"]


def test_ignored_clusters_alone_mean_all_but_these() -> None:
    selector = ClusterSelector(ignore_clusters=["eu-1"])
    assert selected(selector) == ["eu-2", "us-1"]
    assert compile_clusters(selector)[0].names_clusters


@pytest.mark.rule("R0-3")
def test_a_bare_label_selector_is_a_cluster_selector() -> None:
    assert selected(ClusterSelector(match_labels={"region": "eu"})) == ["eu-1", "eu-2"]


@pytest.mark.rule("R0-3")
def test_a_list_of_selectors_is_their_union() -> None:
    both = [ClusterSelector(match_labels={"region": "us"}), ClusterSelector(cluster_names=["eu-2"])]
    assert selected(both) == ["eu-2", "us-1"]


@pytest.mark.rule("S17")
def test_ignored_clusters_count_within_their_own_element() -> None:
    ignoring = ClusterSelector(label_selector=EU, ignore_clusters=["eu-1"])
    assert selected([ignoring]) == ["eu-2"]
    assert selected([ignoring, ClusterSelector(cluster_names=["eu-1"])]) == ["eu-1", "eu-2"]


def test_labels_given_twice_are_refused() -> None:
    with pytest.raises(SelectorError, match="labels are given twice"):
        compile_clusters(ClusterSelector(match_labels={"a": "b"}, label_selector=EU))


def test_an_error_in_a_list_of_selectors_names_its_element() -> None:
    broken = ClusterSelector(label_selector=LabelSelector(match_labels={"-": "b"}))
    with pytest.raises(SelectorError) as caught:
        compile_clusters([ClusterSelector(), broken])
    assert caught.value.where == (1, "labelSelector", "matchLabels", "-")
