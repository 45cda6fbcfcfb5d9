"""Which clusters qualify for a placement: sets, predicates, taints; and the words for those that do not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from fleetform.engine.placement.choice import PlacementChoice
from fleetform.engine.placement.place import Placed, place, why_not
from fleetform.engine.placement.pool import ClusterPool, Sets
from fleetform.model.kinds.base import LabelRequirement, LabelSelector, Metadata
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.placement import ClusterSetSpec, PlacementSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.syntax.selectors import compile_labels, matches_all

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
SET = "cluster.open-cluster-management.io/clusterset"
_ORIGIN = Origin("clusters.yaml", 1, 1)


def cluster(name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Object[ClusterSpec]:
    metadata = Metadata(name=name, namespace="acme", labels=dict(labels or {}))
    return Object(Ref("Cluster", "acme", name), metadata, msgspec.convert(spec, ClusterSpec), _ORIGIN)


def placement(**spec: Any) -> PlacementSpec:
    return msgspec.convert(spec, PlacementSpec)


def requiring(*selectors: Any) -> PlacementSpec:
    """A placement with a predicate for each selector."""
    return placement(predicates=[{"requiredClusterSelector": each} for each in selectors])


def with_expressions(*expressions: str) -> PlacementSpec:
    return requiring({"celSelector": {"celExpressions": list(expressions)}})


def chosen(spec: PlacementSpec, *clusters: Object[ClusterSpec], **given: Any) -> list[str]:
    return list(placed(spec, *clusters, **given).names)


def placed(spec: PlacementSpec, *clusters: Object[ClusterSpec], **given: Any) -> Placed:
    scores = given.pop("scores", None)
    return place(PlacementChoice(spec, ClusterPool(clusters, scores), **{"at": AT, **given}))


def reason(spec: PlacementSpec, name: str, *clusters: Object[ClusterSpec], **given: Any) -> str | None:
    scores = given.pop("scores", None)
    return why_not(PlacementChoice(spec, ClusterPool(clusters, scores), **{"at": AT, **given}), name)


def test_an_empty_placement_chooses_every_cluster_by_name() -> None:
    assert chosen(placement(), cluster("b"), cluster("a")) == ["a", "b"]


def test_no_clusters_no_choice() -> None:
    assert placed(placement(numberOfClusters=3)) == Placed((), ())


def test_a_cluster_that_does_not_exist_is_told_apart() -> None:
    assert reason(placement(), "z", cluster("a")) == "there is no such cluster"


# ---- Sets

IN_SETS = (
    cluster("eu", {SET: "eu", "region": "eu"}),
    cluster("us", {SET: "us", "region": "us"}),
    cluster("none", {"region": "eu"}),
    cluster("blank", {SET: ""}),
)
DECLARED = {
    "eu": ClusterSetSpec(),
    "us": ClusterSetSpec(),
    "europe": ClusterSetSpec(label_selector=LabelSelector(match_labels={"region": "eu"})),
    "all": ClusterSetSpec(label_selector=LabelSelector()),
    "broken": ClusterSetSpec(label_selector=LabelSelector(match_labels={"-": "eu"})),
}
EVERY = ["blank", "eu", "none", "us"]


@pytest.mark.parametrize(
    ("asked", "bound", "expected"),
    [
        (["eu"], None, ["eu"]),
        (["eu", "us"], None, ["eu", "us"]),
        (["europe"], None, ["eu", "none"]),
        (["all"], None, EVERY),
        (["global"], None, EVERY),
        (["default"], None, ["blank", "none"]),
        (["broken"], None, []),
        (["unheard-of"], None, []),
        (None, None, EVERY),
        ([], None, EVERY),
        (None, ["eu"], ["eu"]),
        (None, ["eu", "default"], ["blank", "eu", "none"]),
        (None, ["global"], EVERY),
        (["eu", "us"], ["us"], ["us"]),
        (["eu"], ["us"], []),
        (None, [], []),
        (None, ["undeclared"], []),
    ],
)
def test_clusters_come_from_the_sets_asked_for_that_are_bound(
    asked: list[str] | None, bound: list[str] | None, expected: list[str]
) -> None:
    assert chosen(placement(clusterSets=asked), *IN_SETS, sets=Sets(DECLARED, bound)) == expected


def test_a_set_that_is_bound_and_not_declared_does_not_exist() -> None:
    stray = cluster("stray", {SET: "stray"})
    assert chosen(placement(), stray, sets=Sets(DECLARED, ["stray"])) == []
    assert chosen(placement(clusterSets=["stray"]), stray, sets=Sets({}, None)) == ["stray"]


def test_words_for_a_cluster_of_no_set() -> None:
    spec = placement(clusterSets=["eu"])
    assert (
        reason(spec, "us", *IN_SETS, sets=Sets(DECLARED))
        == "no set of the placement holds it: it is in us, the placement chooses from eu"
    )
    expected = "no set of the placement holds it: none of them is bound"
    assert reason(spec, "us", *IN_SETS, sets=Sets(DECLARED, [])) == expected


# ---- Predicates

EU = {"labelSelector": {"matchLabels": {"region": "eu"}}}
LARGE = {"claimSelector": {"matchExpressions": [{"key": "size", "operator": "In", "values": ["large"]}]}}
LABELLED = (
    cluster("eu-large", {"region": "eu"}, facts={"claims": {"size": "large"}}),
    cluster("eu-small", {"region": "eu"}, facts={"claims": {"size": "small"}}),
    cluster("us-large", {"region": "us"}, facts={"claims": {"size": "large"}}),
    cluster("us-bare", {"region": "us"}),
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (requiring(EU), ["eu-large", "eu-small"]),
        (requiring(LARGE), ["eu-large", "us-large"]),
        (requiring({**EU, **LARGE}), ["eu-large"]),
        (requiring(EU, LARGE), ["eu-large", "eu-small", "us-large"]),
        (requiring({}), ["eu-large", "eu-small", "us-bare", "us-large"]),
        (requiring(EU, {}), ["eu-large", "eu-small", "us-bare", "us-large"]),
        (placement(predicates=[{}]), ["eu-large", "eu-small", "us-bare", "us-large"]),
        (placement(predicates=[]), ["eu-large", "eu-small", "us-bare", "us-large"]),
        (
            requiring({"claimSelector": {"matchExpressions": [{"key": "size", "operator": "DoesNotExist"}]}}),
            ["us-bare"],
        ),
        (requiring({"labelSelector": {"matchLabels": {"-": "eu"}}}), []),
        (requiring({"labelSelector": {"matchLabels": {"-": "eu"}}}, LARGE), ["eu-large", "us-large"]),
    ],
)
def test_one_predicate_must_hold_and_all_of_its_selectors(spec: PlacementSpec, expected: list[str]) -> None:
    assert chosen(spec, *LABELLED) == expected


@pytest.mark.parametrize(
    ("value", "text"), [("yes", "yes"), (True, "true"), (3, "3")], ids=["text", "true or false", "a number"]
)
def test_claims_are_compared_as_texts(value: object, text: str) -> None:
    selector = {"claimSelector": {"matchExpressions": [{"key": "gpu", "operator": "In", "values": [text]}]}}
    assert chosen(requiring(selector), cluster("a", facts={"claims": {"gpu": value}})) == ["a"]


@pytest.mark.parametrize("facts", [None, {"claims": None}, {"claims": ["size"]}])
def test_facts_without_a_map_of_claims_have_none(facts: Any) -> None:
    assert chosen(requiring(LARGE), cluster("a", facts=facts)) == []


@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist"])
def test_the_index_answers_as_selectors_do(operator: Any) -> None:
    values = ["x", ""] if operator in ("In", "NotIn") else None
    wanted = LabelSelector(match_expressions=[LabelRequirement("key", operator, values)])
    several = [cluster(f"c{number}", {"key": text}) for number, text in enumerate(["x", "y", "", "x"])]
    several.append(cluster("without", {"other": "x"}))
    expected = [each.ref.name for each in several if matches_all(compile_labels(wanted), each.labels)]
    assert chosen(requiring({"labelSelector": msgspec.to_builtins(wanted)}), *several) == expected


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ([EU], "label region must be eu, and it is us"),
        ([LARGE], "claim size must be large, and it is missing"),
        ([EU, LARGE], "label region must be eu, and it is us; claim size must be large, and it is missing"),
        (
            [{"labelSelector": {"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["us", "ap"]}]}}],
            "label region must not be ap or us, and it is us",
        ),
        (
            [{"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}],
            "label tier must be there, and it is missing",
        ),
        (
            [{"labelSelector": {"matchExpressions": [{"key": "region", "operator": "DoesNotExist"}]}}],
            "label region must not be there, and it is us",
        ),
        ([{"celSelector": {"celExpressions": ["1 == 2"]}}], "1 == 2 does not hold"),
    ],
)
def test_words_for_a_cluster_that_no_predicate_holds_for(selectors: list[Any], expected: str) -> None:
    assert reason(requiring(*selectors), "us-bare", *LABELLED) == f"no predicate holds: {expected}"


def test_words_for_a_selector_that_cannot_be_read() -> None:
    said = reason(requiring({"labelSelector": {"matchLabels": {"-": "eu"}}}), "us-bare", *LABELLED)
    assert said is not None
    assert said.startswith("no predicate holds: a selector cannot be read: '-' is not a label key")


# ---- Expressions

KNOWN = cluster(
    "a",
    {"env": "prod"},
    facts={
        "zone": "eu-1a",
        "claims": {"kube": "v1.31.2"},
        "allocatable": {"cpu": "3500m", "memory": "64Gi"},
        "version": {"kubernetes": "v1.31.2"},
    },
    taints=[{"key": "old", "effect": "PreferNoSelect"}],
)


@pytest.mark.parametrize(
    "expression",
    [
        'managedCluster.metadata.name == "a"',
        'managedCluster.metadata.labels["env"] == "prod"',
        'managedCluster.metadata.labels.env.startsWith("p")',
        'managedCluster.status.clusterClaims.exists(c, c.name == "kube" && c.value == "v1.31.2")',
        'managedCluster.status.version.kubernetes == "v1.31.2"',
        'semver(managedCluster.status.version.kubernetes, true).isGreaterThan(semver("1.31.1"))',
        'semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3',
        'semver("1.0.0-rc.1").isLessThan(semver("1.0.0")) && semver("1.0", true).compareTo(semver("1.0.0")) == 0',
        '!isSemver("v1.0") && isSemver("v1.0", true)',
        'quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("3"))',
        'quantity("1Gi").compareTo(quantity("1024Mi")) == 0 && isQuantity("5e2") && !isQuantity("five")',
        'managedCluster.scores("load").filter(s, s.name == "cpu").all(s, s.value > 80)',
        '"{\\"x\\": [1, 2]}".parseJSON().x.size() == 2',
        'managedCluster.spec.taints.exists(t, t.key == "old" && t.effect == "PreferNoSelect")',
        'managedCluster.metadata.?labels["tier"].orValue("gold") == "gold"',
        '"PROD".lowerAscii() == managedCluster.metadata.labels.env',
        'cluster.labels.env == "prod" && cluster.facts.zone == "eu-1a" && organization.name == "acme"',
    ],
)
def test_an_expression_sees_what_it_sees_in_open_cluster_management(expression: str) -> None:
    scores = {("a", "load", "cpu"): 90}
    assert reason(with_expressions(expression), "a", KNOWN, scores=scores) is None
    assert chosen(with_expressions(expression), KNOWN, scores=scores) == ["a"]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('managedCluster.metadata.labels["tier"] == "gold"', 'there is no key "tier"'),
        ("managedCluster.metadata.name", "it gives a value of type string, not true or false"),
        ("managedCluster.", "Syntax error: no viable alternative at input '.' (column 16)"),
        ("nowhere.expression", "undeclared reference to 'nowhere.expression' (column 8)"),
        ('managedCluster.scores("none").size() > 0', "there are no scores none"),
        ('semver("v1") == semver("1.0.0")', "v1 is not valid SemVer string"),
        ('quantity("1").isLessThan(semver("1.0.0"))', "a version and a quantity do not compare"),
        ("managedCluster.metadata.isLessThan(managedCluster)", "it is neither a version nor a quantity"),
    ],
)
def test_an_expression_that_fails_does_not_hold_and_says_why(expression: str, message: str) -> None:
    spec = with_expressions(expression)
    assert chosen(spec, KNOWN) == []
    assert reason(spec, "a", KNOWN) == f"no predicate holds: {expression} fails: {message}"


@pytest.mark.parametrize("version", ["v1.31.2", {"kubernetes": "v1.31.2"}])
def test_an_expression_sees_the_version_however_the_facts_have_it(version: object) -> None:
    spec = with_expressions('managedCluster.status.version.kubernetes == "v1.31.2"')
    assert chosen(spec, cluster("a", facts={"version": version})) == ["a"]


def test_every_expression_of_a_predicate_must_hold() -> None:
    assert chosen(with_expressions("true", "false"), KNOWN) == []
    assert chosen(with_expressions("true", "true"), KNOWN) == ["a"]
    assert chosen(with_expressions(), KNOWN) == ["a"]


def test_an_expression_is_asked_again_for_clusters_that_it_was_not_asked_for() -> None:
    both = ClusterPool([cluster("a", {"n": "1", "env": "prod"}), cluster("b", {"n": "2", "env": "prod"})])
    condition = {"celSelector": {"celExpressions": ['cluster.labels.env == "prod"']}}
    first = requiring({"labelSelector": {"matchLabels": {"n": "1"}}, **condition})
    assert place(PlacementChoice(first, both, at=AT)).names == ("a",)
    assert place(PlacementChoice(requiring(condition), both, at=AT)).names == ("a", "b")
    assert place(PlacementChoice(first, both, at=AT)).names == ("a",)


# ---- Taints


def tainted(name: str = "a", effect: str = "NoSelect", **more: Any) -> Object[ClusterSpec]:
    return cluster(name, taints=[{"key": "maintenance", "effect": effect, **more}])


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        ({"key": "maintenance"}, {}, True),
        ({"key": "maintenance", "operator": "Equal"}, {}, True),
        ({"key": "maintenance"}, {"value": ""}, True),
        ({"key": "maintenance"}, {"value": "yes"}, False),
        ({"key": "maintenance", "value": "yes"}, {"value": "yes"}, True),
        ({"key": "maintenance", "value": "yes"}, {"value": "no"}, False),
        ({"key": "maintenance", "operator": "Exists"}, {"value": "yes"}, True),
        ({"operator": "Exists"}, {"value": "yes"}, True),
        ({"key": "", "operator": "Exists"}, {}, True),
        ({"key": "other", "operator": "Exists"}, {}, False),
        ({"key": "other"}, {}, False),
        ({}, {}, False),
        ({"effect": "NoSelect"}, {}, False),
        ({"operator": "Exists", "effect": "NoSelect"}, {}, True),
        ({"operator": "Exists", "effect": "NoSelectIfNew"}, {}, False),
    ],
)
def test_a_toleration_concerns_a_taint_by_key_value_and_effect(toleration: Any, taint: Any, tolerated: bool) -> None:
    assert chosen(placement(tolerations=[toleration]), tainted(**taint)) == (["a"] if tolerated else [])


@pytest.mark.parametrize(
    ("effect", "earlier", "is_chosen"),
    [
        ("NoSelect", (), False),
        ("NoSelect", ("a",), False),
        ("NoSelectIfNew", (), False),
        pytest.param("NoSelectIfNew", ("a",), True, marks=pytest.mark.rule("B32")),
        ("PreferNoSelect", (), True),
        ("PreferNoSelect", ("a",), True),
    ],
)
def test_what_a_taint_keeps_away(effect: str, earlier: tuple[str, ...], is_chosen: bool) -> None:
    assert chosen(placement(), tainted(effect=effect), earlier=earlier) == (["a"] if is_chosen else [])


def test_every_taint_needs_its_toleration() -> None:
    two = cluster("a", taints=[{"key": "x", "effect": "NoSelect"}, {"key": "y", "effect": "NoSelectIfNew"}])
    assert chosen(placement(tolerations=[{"key": "x"}]), two) == []
    assert reason(placement(tolerations=[{"key": "x"}]), "a", two) == "taint y (NoSelectIfNew)"
    assert reason(placement(), "a", two) == "taint x (NoSelect); taint y (NoSelectIfNew)"
    assert reason(placement(), "a", two, earlier=["a"]) == "taint x (NoSelect)"
    assert chosen(placement(tolerations=[{"key": "x"}, {"key": "y"}]), two) == ["a"]


ADDED = "2026-11-01T11:00:00Z"
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("seconds", "added", "tolerated", "again"),
    [
        (None, ADDED, True, None),
        (3601, ADDED, True, AT + timedelta(seconds=1)),
        (3600, ADDED, False, None),
        (0, ADDED, False, None),
        (60, None, True, None),
        (60, "2026-13-01T00:00:00Z", True, None),
        (10**18, ADDED, True, None),
    ],
)
def test_a_toleration_lasts_from_the_time_the_taint_was_added(
    seconds: int | None, added: str | None, tolerated: bool, again: datetime | None
) -> None:
    spec = placement(tolerations=[{"key": "maintenance", "tolerationSeconds": seconds}])
    answer = placed(spec, tainted(timeAdded=added))
    assert (answer.names, answer.look_again_at) == (("a",) if tolerated else (), again)


@pytest.mark.parametrize(("seconds", "ended"), [(60, "11:01:00"), (3600, "12:00:00")])
def test_words_for_a_taint_say_when_its_toleration_ended(seconds: int, ended: str) -> None:
    """It may be over at this very instant."""
    spec = placement(tolerations=[{"key": "maintenance", "value": "x", "tolerationSeconds": seconds}])
    said = reason(spec, "a", tainted(value="x", timeAdded=ADDED))
    assert said == f"taint maintenance=x (NoSelect), tolerated until 2026-11-01T{ended}Z"


def test_the_longest_of_several_tolerations_counts() -> None:
    several = [{"key": "maintenance", "tolerationSeconds": seconds} for seconds in (60, 7200, 5400)]
    assert placed(placement(tolerations=several), tainted(timeAdded=ADDED)).look_again_at == AT + HOUR
    without_end = [*several, {"operator": "Exists"}]
    assert placed(placement(tolerations=without_end), tainted(timeAdded=ADDED)).look_again_at is None


def test_the_answer_changes_by_itself_when_the_first_toleration_ends() -> None:
    spec = placement(tolerations=[{"key": "maintenance", "tolerationSeconds": 7200}])
    early, late = tainted("a", timeAdded="2026-11-01T10:30:00Z"), tainted("b", timeAdded=ADDED)
    again = placed(spec, early, late).look_again_at
    assert again == AT + timedelta(minutes=30)
    assert chosen(spec, early, late, at=again - timedelta(microseconds=1)) == ["a", "b"]
    assert chosen(spec, early, late, at=again) == ["b"]


@pytest.mark.parametrize(
    ("effect", "earlier", "changes"), [("NoSelectIfNew", ["a"], False), ("NoSelectIfNew", [], True)]
)
def test_the_end_of_a_toleration_does_not_matter_to_those_it_let_in(
    effect: str, earlier: list[str], changes: bool
) -> None:
    spec = placement(tolerations=[{"key": "maintenance", "tolerationSeconds": 7200}])
    answer = placed(spec, tainted(effect=effect, timeAdded=ADDED), earlier=earlier)
    assert (answer.names, answer.look_again_at) == (("a",), AT + HOUR if changes else None)


def test_the_end_of_a_toleration_does_not_matter_where_the_cluster_does_not_match() -> None:
    tolerations = [{"key": "maintenance", "tolerationSeconds": 7200}]
    spec = placement(tolerations=tolerations, predicates=[{"requiredClusterSelector": EU}])
    assert placed(spec, tainted(timeAdded=ADDED)).look_again_at is None


# ---- What keeps clusters out, or in, whatever the placement asks for


def going(name: str) -> Object[ClusterSpec]:
    metadata = Metadata(name=name, namespace="acme", deletion_timestamp="2026-10-01T00:00:00Z")
    return Object(Ref("Cluster", "acme", name), metadata, ClusterSpec(), _ORIGIN)


def test_a_cluster_that_is_being_deleted_is_not_chosen_even_if_it_was() -> None:
    assert chosen(placement(), cluster("a"), going("b"), earlier={"a", "b"}) == ["a"]
    assert reason(placement(), "b", cluster("a"), going("b")) == "it is being deleted"


def test_a_suspended_placement_keeps_what_it_had_chosen_and_chooses_none_anew() -> None:
    spec = placement(suspend=True, numberOfClusters=1, predicates=[{"requiredClusterSelector": {"labelSelector": {}}}])
    fleet = (cluster("a"), cluster("b"), going("c"))
    assert chosen(spec, *fleet, earlier={"b", "c", "gone"}) == ["b", "c"]
    assert chosen(spec, *fleet) == []
    assert reason(spec, "a", *fleet, earlier={"b"}) == "the placement is suspended, and had not chosen it"


# ---- What expressions see of a cluster

REPORTED = {
    "claims": {"id": "x"},
    "allocatable": {"cpu": 4, "memory": "8Gi"},
    "version": "v1.31.2",
    "conditions": [{"type": "Available", "status": "True"}],
    "leaseDurationSeconds": 120,
    "managedClusterClientConfigs": [{"url": "https://eu-1.example.com"}],
}


@pytest.mark.parametrize(
    "expression",
    [
        "managedCluster.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
        "managedCluster.status.clusterClaims.exists(c, c.name == 'id' && c.value == 'x')",
        "semver(managedCluster.status.version.kubernetes, true).isGreaterThan(semver('1.30.0'))",
        "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('3500m'))",
        "managedCluster.spec.leaseDurationSeconds == 120",
        "managedCluster.spec.hubAcceptsClient",
        "!has(managedCluster.spec.taints)",
        "url(managedCluster.spec.managedClusterClientConfigs[0].url).getHostname() == 'eu-1.example.com'",
        "managedCluster.metadata.labels.tier == 'gold' && managedCluster.metadata.name == 'a'",
        "!has(managedCluster.status.capacity)",
    ],
)
def test_expressions_read_all_of_spec_and_status(expression: str) -> None:
    assert reason(with_expressions(expression), "a", cluster("a", {"tier": "gold"}, facts=REPORTED)) is None


def test_a_cluster_that_reports_nothing_has_an_empty_version_and_no_conditions() -> None:
    bare = cluster("a")
    assert chosen(with_expressions("!has(managedCluster.status.version.kubernetes)"), bare) == ["a"]
    assert chosen(with_expressions("managedCluster.status.conditions == null"), bare) == ["a"]
    assert chosen(with_expressions("managedCluster.spec.leaseDurationSeconds == 60"), bare) == ["a"]
