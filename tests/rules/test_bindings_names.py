"""Names of bindings: their order, cycles, those that are given, and the two sections."""

from __future__ import annotations

from itertools import permutations

import pytest

from support.bound import HOST, bound_fleet, bound_on, gates_on, lines_of, option_on, told, two_clusters

# ---- Order and cycles


@pytest.mark.rule("R3-15")
def test_the_order_of_bindings_never_matters() -> None:
    written = [
        "{name: A, value: $(B)-$(C)}",
        "{name: B, value: $(C)$(D)}",
        "{name: C, value: c}",
        "{name: D, value: 1}",
    ]
    values = {
        option_on(bound_fleet("[{name: host, value: $(A)}]", f"[{', '.join(each)}]")) for each in permutations(written)
    }
    assert values == {"c1-c"}


@pytest.mark.rule("R3-15")
@pytest.mark.parametrize(
    ("bindings", "message"),
    [
        (["A: $(A)"], "the binding A refers to itself"),
        (["A: $(B)", "B: x$(A)"], "the bindings A → B → A refer to each other in a cycle"),
        (
            ["C: $(A)", "A: '[$(B)]'", "B: {x: [$(C)]}"],
            "the bindings A → B → C → A refer to each other in a cycle",
        ),
        (["A: $(B)", "B: $(A)", "X: $(A)", "FREE: 1"], "the bindings A → B → A refer to each other in a cycle"),
    ],
)
def test_a_cycle_is_named_whole_and_only_those_in_it_are_blamed(bindings: list[str], message: str) -> None:
    pairs = [each.split(": ", 1) for each in bindings]
    mentioned = f"[{{name: labels, value: [{', '.join(f'$({name})' for name, _ in pairs)}]}}]"
    fleet = bound_fleet(mentioned, f"[{', '.join(f'{{name: {name}, value: {value}}}' for name, value in pairs)}]")
    assert told(fleet, "binding-cycle") == [message]
    missing = {name for name, each in bound_on(fleet).items() if each.unresolved is not None}
    assert missing == {name for name, _ in pairs} - {"FREE"}
    assert set(gates_on(fleet)) == {"value-type"}


@pytest.mark.rule("R3-15")
def test_a_cycle_through_references_and_defaults_is_one_too() -> None:
    bindings = (
        "[{name: A, objectFieldRef: {kind: ConfigMap, name: $(B), fieldPath: /data/x}},"
        " {name: B, clusterFieldRef: {path: /spec/x}, default: $(A)}]"
    )
    assert told(bound_fleet("[]", bindings), "binding-cycle") == [
        "the bindings A → B → A refer to each other in a cycle"
    ]


@pytest.mark.rule("R3-15")
def test_thousands_of_names_that_mention_each_other_are_bound() -> None:
    chain = [f"{{name: N{each}, value: $(N{each + 1})}}" for each in range(3000)]
    fleet = bound_fleet("[{name: host, value: $(N0)}]", f"[{', '.join(chain)}, {{name: N3000, value: end}}]")
    assert option_on(fleet) == "end"


# ---- Names


@pytest.mark.rule("R3-16", "S36")
@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("CLUSTER_NAME", "eu-1"),
        ("ORGANIZATION", "acme"),
        ("cluster.labels.region", "eu"),
        ("cluster.labels.fleetform.dev/tier", "gold"),
        ("cluster.labels.app.kubernetes.io/part-of", "shop"),
        ("cluster.facts.zone", "a"),
        ("cluster.facts.net.cidr", "10.0.0.0/8"),
        ("cluster.facts.ports[1]", "443"),
        ("cluster.facts.a.b", "dotted"),
    ],
)
def test_some_names_are_given(mention: str, expected: str) -> None:
    labels = {"fleetform__dev_S_tier": "gold", "app__kubernetes__io_S_part-of": "shop"}
    fleet = bound_fleet(f"[{{name: host, value: '$({mention})$$'}}]", clusters=two_clusters(**labels))
    assert option_on(fleet) == f"{expected}$$"


@pytest.mark.rule("R3-16")
def test_a_fact_keeps_its_type() -> None:
    fleet = bound_fleet("[{name: args, value: $(cluster.facts.ports)}]", clusters=two_clusters())
    assert option_on(fleet, "args") == [80, 443]


@pytest.mark.rule("R3-16", "S36")
@pytest.mark.parametrize("name", ["CLUSTER_NAME", "ORGANIZATION", "cluster.labels.region", "cluster.facts.x"])
@pytest.mark.parametrize("section", ["controlPlaneBindings", "bindings"])
def test_binding_a_given_name_is_an_error(name: str, section: str) -> None:
    fleet = bound_fleet("[]", None, f"  {section}: [{{name: {name}, value: mine}}]\n")
    assert told(fleet, "given-name") == [f"{name} is a built-in variable, and cannot be bound"]


@pytest.mark.rule("S36")
@pytest.mark.parametrize(
    "more",
    ["  - {name: X, value: 2}\n", "  bindings:\n  - {name: X, objectFieldRef: {kind: A, name: a, fieldPath: /a}}\n"],
)
def test_two_bindings_of_one_name_are_an_error_with_both_places(more: str) -> None:
    section = "  controlPlaneBindings:\n  - {name: X, value: 1}\n"
    fleet = bound_fleet("[]", None, section + more)
    assert told(fleet, "duplicate-object") == ["X is bound twice"]
    assert lines_of(fleet, "duplicate-object") == [[10 + more.count("\n"), 10]]


@pytest.mark.rule("R3-16", "R3-26", "S36")
def test_a_label_that_is_missing_stops_that_cluster_alone_and_tells_which_there_are() -> None:
    fleet = bound_fleet("[{name: host, value: $(cluster.labels.rack)}]", clusters=two_clusters(rack="r1"))
    assert (option_on(fleet), gates_on(fleet)) == ("r1", [])
    (gate,) = fleet.decisions.plugins["acme", "us-1", "web-us-1"].gates
    assert gate.gate == "config-missing"
    assert gate.message == "$(cluster.labels.rack) cannot be resolved: the cluster has no label rack"
    assert gate.do == "it has region"


@pytest.mark.parametrize("name", ["a b", "é.ü", "x.y/z", "1", "(", "name-with-dash", "$"])
def test_a_name_may_hold_anything_but_a_closing_parenthesis(name: str) -> None:
    fleet = bound_fleet(f"[{{name: host, value: '<$({name})>'}}]", f"[{{name: '{name}', value: v}}]")
    assert not fleet.findings.all
    assert option_on(fleet) == "<v>"


@pytest.mark.parametrize("name", ["a)", "$(b"])
def test_a_name_that_can_never_be_mentioned_is_an_error(name: str) -> None:
    assert told(bound_fleet("[]", f"[{{name: '{name}', value: v}}]"), "bad-name") == [
        f"{name} can never be referred to"
    ]


# ---- Two sections


@pytest.mark.rule("R3-20")
def test_names_of_the_cluster_may_mention_names_of_the_control_plane() -> None:
    fleet = bound_fleet(HOST, "[{name: A, value: 1}]", "  bindings: [{name: X, value: a$(A)}]\n")
    assert not fleet.findings.errors
    assert option_on(fleet) == "a1"


@pytest.mark.rule("R3-20")
def test_the_reverse_is_an_error_that_names_both_at_their_places() -> None:
    more = (
        "  controlPlaneBindings:\n  - {name: A, value: a$(X)}\n"
        "  bindings:\n  - {name: X, objectFieldRef: {kind: Service, name: s, fieldPath: /spec/clusterIP}}\n"
    )
    fleet = bound_fleet(HOST, None, more)
    (message,) = told(fleet, "mentions-downstream")
    assert message == "A is resolved in the control plane, and refers to X, which is read on the cluster"
    assert lines_of(fleet, "mentions-downstream") == [[10, 12]]


@pytest.mark.parametrize(
    ("binding", "has"),
    [("name: X", "no source"), ("name: X, value: 1, clusterFieldRef: {path: /a}", "value and clusterFieldRef")],
)
def test_a_binding_has_exactly_one_source(binding: str, has: str) -> None:
    (message,) = told(bound_fleet("[]", f"[{{{binding}}}]"), "exactly-one")
    assert message == f"the binding X needs exactly one source, and has {has}"
