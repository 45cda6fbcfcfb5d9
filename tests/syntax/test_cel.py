"""CEL expressions: what they see, what they give, and how they fail."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.syntax.cel import ExpressionError, compile_expression, context_of, evaluate

FACTS = {"n": 3, "f": 1.5, "t": True, "z": None, "l": [1, "a"], "m": {"b": {"d": 1, "c": 2}, "a": 2}}
CLUSTER = Object(
    Ref("Cluster", "acme", "eu-1"),
    Metadata(name="eu-1", labels={"region": "eu", "example.org/tier": "gold"}, annotations={"note": "x"}),
    ClusterSpec(facts=FACTS, time_zone="Europe/Berlin"),
    Origin("clusters.yaml", 1, 1),
)
CONTEXT = context_of(CLUSTER, "web", "1.2.0")


def failure(text: str) -> str:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, CONTEXT)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cluster.name", "eu-1"),
        ("cluster.organization", "acme"),
        ("cluster.labels.region", "eu"),
        ("cluster.labels['example.org/tier']", "gold"),
        ("cluster.annotations.note", "x"),
        ("cluster.timeZone", "Europe/Berlin"),
        ("cluster.facts.n + 1", 4),
        ("organization.name", "acme"),
        ("definition.name + '@' + definition.version", "web@1.2.0"),
    ],
)
def test_an_expression_sees_cluster_organization_and_definition(text: str, value: Any) -> None:
    assert evaluate(text, CONTEXT) == value


def test_without_a_version_labels_or_facts_there_are_empty_ones() -> None:
    bare = Object(Ref("Cluster", "acme", "c"), Metadata(name="c"), ClusterSpec(), Origin("c.yaml", 1, 1))
    context = context_of(bare, "web", None)
    assert evaluate("[definition.version, cluster.timeZone]", context) == ["", ""]
    assert evaluate("size(cluster.labels) + size(cluster.facts) + size(cluster.annotations)", context) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'x' + 'ü'", "xü"),
        ("1 + 1", 2),
        ("18446744073709551615u", 18446744073709551615),
        ("1.5", 1.5),
        ("cluster.facts.f", 1.5),
        ("1 < 2", True),
        ("null", None),
        ("cluster.facts.z", None),
        ("[1, 'a', [true]]", [1, "a", [True]]),
        ("cluster.facts.l", [1, "a"]),
        ("{'a': {'b': [1]}}", {"a": {"b": [1]}}),
        ("{1: 'one'}", {"1": "one"}),
        ("has(cluster.labels.zone) ? 1 : 2", 2),
    ],
)
def test_an_expression_gives_any_value_that_json_has(text: str, value: Any) -> None:
    found = evaluate(text, CONTEXT)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["cluster.facts.m", "{'b': {'d': 1, 'c': 2}, 'a': 2}"])
def test_maps_come_out_in_the_order_of_their_keys(text: str) -> None:
    found = evaluate(text, CONTEXT)
    assert list(found) == ["a", "b"]
    assert list(found["b"]) == ["c", "d"]


def test_a_list_made_from_a_map_has_the_order_of_the_keys() -> None:
    labels = {f"k{number:02}": "v" for number in range(20)}
    context = {**CONTEXT, "cluster": {"labels": labels}}
    assert evaluate("cluster.labels.map(key, key)", context) == sorted(labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "Syntax error: mismatched input '<EOF>' (column 4)"),
        ("1\n+ +", "Syntax error: mismatched input '+' (line 2, column 3)"),
        ("region", "undeclared reference to 'region' (column 1)"),
        ("[1, nope]", "undeclared reference to 'nope' (column 5)"),
        ("1 == 'a'", "found no matching overload for '_==_' applied to '(int, string)' (column 3)"),
    ],
)
def test_what_does_not_compile_says_where(text: str, message: str) -> None:
    assert failure(text) == message
    with pytest.raises(ExpressionError):
        compile_expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster.labels.zone", 'there is no key "zone"'),
        ("cluster.facts.x.y", 'there is no key "x"'),
        ("1 / (cluster.facts.n - 3)", "divide by zero"),
        ("cluster.name + cluster.facts.n", "No matching overloads found : _+_(string, int64)"),
        ("int(cluster.name)", "cannot convert string to int"),
        ("cluster.facts.l[5]", "Index error: index=5 size=2"),
    ],
)
def test_what_fails_on_a_cluster_says_why(text: str, message: str) -> None:
    compile_expression(text)
    assert failure(text) == message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("b'abc'", "bytearray"),
        ("duration('1h')", "timedelta"),
        ("timestamp('2026-01-01T00:00:00Z')", "datetime"),
        ("type(1)", "Type"),
        ("{'a': [b'x']}", "bytearray"),
    ],
)
def test_what_json_does_not_have_is_no_value(text: str, kind: str) -> None:
    assert failure(text) == f"it gives a {kind}, which is not a value that YAML can hold"


@pytest.mark.parametrize("text", ["1.0 / 0.0", "0.0 / 0.0", "[1e400]"])
def test_what_is_no_json_number_is_no_value(text: str) -> None:
    assert "not a value that YAML can hold" in failure(text)


def test_a_map_with_one_key_twice_is_no_value() -> None:
    assert "duplicate key" in failure("{'a': 1, 'a': 2}")


def test_a_boolean_key_becomes_the_text_that_yaml_gives_it() -> None:
    assert evaluate("{true: 1}", CONTEXT) == {"true": 1}
