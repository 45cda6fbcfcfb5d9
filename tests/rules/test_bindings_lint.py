"""What validation tells of names: each fault once, where it is to be mended, and with what was probably meant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.bindings.builtin import probably_meant
from fleetform.engine.bindings.cycles import in_order
from support.bound import (
    HOST,
    a_cluster,
    bound_fleet,
    config_map,
    definition_of,
    field_of,
    fleet_and,
    gates_on,
    lines_of,
    preset,
    secret,
    told,
)
from support.fleets import BASE, CLUSTERS, codes, documents, fleet_of, override, plugin_on

MANY = documents(*(a_cluster(f"c{number:02}") for number in range(20)))
OPTIONAL = field_of("ConfigMap", "c", "/data/host", ", optional: true")
OPTIONAL_BY_CLUSTER = field_of("ConfigMap", "c-$(CLUSTER_NAME)", "/data/host", ", optional: true")


def hints(fleet: Fleet, code: str) -> list[str]:
    return [each.hint for each in fleet.findings.all if each.code == code]


# ---- Cycles


def test_every_cycle_is_found_in_one_walk_over_all_mentions() -> None:
    walked = []

    def edges(*names: str) -> Iterator[str]:
        for name in names:
            walked.append(name)
            yield name

    # A long way with a cycle at each of its steps, and one at its end.
    graph = {f"{number:04}": edges(f"{number + 1:04}", f"{number:04}") for number in range(999)}
    cycles, free = in_order({**graph, "0999": edges("0999"), "x": edges("0000", "y"), "y": edges()})
    assert cycles == [[f"{number:04}"] for number in range(1000)]
    assert free == ["y", "x"]
    assert len(walked) <= 2 * 1000 + 1


@pytest.mark.rule("R3-15")
def test_cycles_do_not_depend_on_the_order_of_bindings() -> None:
    written = [
        "{name: A, value: $(B)$(C)}",
        "{name: B, value: $(A)}",
        "{name: C, value: $(A)}",
        "{name: D, value: $(D)}",
    ]
    found = {tuple(told(bound_fleet("[]", f"[{', '.join(each)}]"), "binding-cycle")) for each in permutations(written)}
    assert {frozenset(each) for each in found} == {
        frozenset(("the bindings A → B → A refer to each other in a cycle", "the binding D refers to itself"))
    }


# ---- Each fault once


@pytest.mark.rule("R3-26")
def test_what_one_binding_lacks_on_many_clusters_is_one_warning() -> None:
    bindings = field_of("ConfigMap", "site-$(CLUSTER_NAME)", "/data/host")
    fleet = bound_fleet(HOST, bindings, clusters=MANY)
    message = "X cannot be resolved: there is no ConfigMap site-c00 in acme: web on c00 and 19 more, likewise"
    assert told(fleet, "unbound") == [message]
    half = documents(*(config_map(f"site-c{number:02}", other="x") for number in range(10)))
    assert len(told(bound_fleet(HOST, bindings, clusters=MANY, half=half), "unbound")) == 1
    two = bindings[:-1] + ", " + bindings[1:].replace("name: X", "name: Z")
    assert len(told(bound_fleet(HOST, two, clusters=MANY), "unbound")) == 2


@pytest.mark.rule("R3-26")
def test_one_name_that_is_mentioned_at_several_places_is_one_warning() -> None:
    block = "  clusterOptionOverrides: [{clusterName: eu-1, overrides: [{name: args, value: [x]}]}]\n"
    fleet = bound_fleet("[{name: host, value: $(NO)}, {name: args, value: [$(NO)]}]", "[]", block)
    assert told(fleet, "unbound") == ["$(NO) is not bound: web on eu-1, eu-2, us-1"]


@pytest.mark.parametrize(
    ("values", "bindings", "code"),
    [
        ("[{name: host, value: a-$(X)}]", "[{name: X, value: {a: 1}}]", "bad-value"),
        (HOST, "[{name: A, value: [1]}, {name: X, value: a-$(A)}]", "bad-value"),
        (HOST, "[{name: X}]", "exactly-one"),
        (HOST, "[{name: A}, {name: X, value: a-$(A)}]", "exactly-one"),
        (HOST, "[{name: X, value: 1, objectFieldRef: {kind: A, name: a, fieldPath: /a}}]", "exactly-one"),
        (HOST, "[{name: X, value: null}]", "null-value"),
        ("[{name: host, value: a-$(X)}]", "[{name: X, value: null}]", "null-value"),
        (HOST, "[{name: X, value: null, as: base64decode}]", "null-value"),
        (HOST, "[{name: X, clusterFieldRef: {path: /spec/none}, default: null}]", "null-value"),
        (HOST, "[{name: A, value: null}, {name: X, value: $(A)}]", "null-value"),
        ("[{name: host, value: null}]", "[]", "null-value"),
        (HOST, "[{name: X, objectFieldRef: {kind: A, name: a, namespace: b, fieldPath: /a}}]", "out-of-reach"),
    ],
)
def test_a_fault_is_told_once_where_it_is_to_be_mended(values: str, bindings: str, code: str) -> None:
    fleet = bound_fleet(values, bindings)
    assert [(each.code, each.severity) for each in fleet.findings.all] == [(code, "error")]
    assert set(gates_on(fleet)) <= {"value-type", "config-missing"}


def test_what_an_override_makes_of_a_faulty_name_is_not_told_again() -> None:
    items = "[{path: host, value: $(X)}, {path: labels.a, value: 'a-$(X)'}]"
    assert codes(bound_fleet("[]", "[{name: X, value: null}]", override=override("o", items))) == ["null-value"]


@pytest.mark.rule("S37")
def test_a_map_that_an_override_puts_into_text_is_told_there() -> None:
    fleet = bound_fleet("[]", "[{name: X, value: {a: 1}}]", override=override("o", "[{path: host, value: a-$(X)}]"))
    assert told(fleet, "unbound") == ["$(X) is used within text, but is a map: web on eu-1, eu-2, us-1"]
    assert lines_of(fleet, "unbound") == [[4]]


def test_other_faults_beside_one_that_was_told_are_told_too() -> None:
    values = "[{name: host, value: $(X)}, {name: replicas, value: $(TEXT)}, {name: args, value: [$(NO)]}]"
    fleet = bound_fleet(values, "[{name: X, value: null}, {name: TEXT, value: text}]")
    assert sorted(codes(fleet)) == ["null-value", "unbound", "wrong-type"]


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ("[{name: a}]", ["exactly-one"]),
        ("[{name: a, value: 1, objectFieldRef: {kind: A, name: a, fieldPath: /a}}]", ["exactly-one"]),
        ("[{name: a, value: 1}, {name: a, value: 2}]", ["duplicate-object"]),
        ("[{name: a, value: null}]", ["null-value"]),
    ],
)
def test_a_wrong_output_is_told_once(outputs: str, found: list[str]) -> None:
    assert codes(fleet_and({"ca": definition_of("ca", outputs)})) == found


def test_an_output_that_is_null_is_not_told_again_by_those_that_read_it() -> None:
    producer = documents(preset("[]", None, name="ca"), definition_of("ca", "[{name: o, value: null}]"))
    fleet = bound_fleet(HOST, "[{name: X, pluginOutputRef: {definition: ca, output: o}}]", producer=producer)
    assert codes(fleet) == ["null-value"]


# ---- Variables


@pytest.mark.parametrize("section", ["[]", None])
@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ("[{name: 5}]", ["the name of a variable is text"]),
        ("[{name: 5, value: x}]", ["the name of a variable is text"]),
        ("[{name: [A], value: x}]", ["the name of a variable is text"]),
        ("[{a-b: 1}]", ["a-b is not a variable name"]),
        ("[{name: a-b, value: 1}]", ["a-b is not a variable name"]),
        ("{a-b: 1}", ["a-b is not a variable name"]),
        ("[{A: 1}, {A: 2}]", ["the variable A is set twice"]),
        ("[{A: 1}, {name: A, value: 1}]", ["the variable A is set twice"]),
        ("[{A: null}]", ["A cannot be null"]),
        ("[{name: A, value: null}]", ["A cannot be null"]),
        ("{A: null}", ["A cannot be null"]),
        ("[{A: {b: 1}}]", ["the variable A is text, and cannot be a map"]),
        ("[{name: A, value: [1]}]", ["the variable A is text, and cannot be a list"]),
        ("{A: [1]}", ["the variable A is text, and cannot be a list"]),
        ("[{}]", ["an entry of substitute is one name with its value, or name and value"]),
        ("[{A: 1, B: 2}]", ["an entry of substitute is one name with its value, or name and value"]),
        ("[{A: 1}, {B: x}, {name: C, value: true}]", []),
    ],
)
def test_variables_are_checked_in_all_their_forms(entries: str, section: str | None, found: list[str]) -> None:
    fleet = bound_fleet("[]", section, f"  substitute: {entries}\n")
    assert [each.message for each in fleet.findings.errors] == found


def test_a_variable_that_is_set_twice_names_both_places() -> None:
    fleet = bound_fleet("[]", None, "  substitute:\n  - {A: 1}\n  - {A: 2}\n")
    assert lines_of(fleet, "duplicate-object") == [[11, 10]]


# ---- Mentions that are text


@pytest.mark.rule("R3-22", "B6")
def test_a_mention_in_an_override_is_text_where_nobody_binds_and_that_is_told() -> None:
    items = "[{path: host, value: at-$(CLUSTER_NAME)}, {path: labels.a, value: $(OTHER)}, {path: labels.b, value: 1}]"
    fleet = bound_fleet("[]", None, override=override("o", items))
    (message,) = told(fleet, "mention-is-text")
    assert message == "$(CLUSTER_NAME) is text here: no preset or Plugin of acme has a section of bindings"
    assert not told(bound_fleet("[]", "[]", override=override("o", items)), "mention-is-text")


@pytest.mark.rule("R3-22", "B6")
def test_a_mention_beside_a_preset_that_binds_nothing_is_told() -> None:
    instance = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {name: web-eu-1, namespace: acme}\n"
        "spec: {presetRef: {name: web}, optionValues: [{name: host, value: $(CLUSTER_NAME)}]}\n"
    )
    (message,) = told(bound_fleet("[]", None, instance=instance), "mention-is-text")
    assert message == "$(CLUSTER_NAME) is text here: the preset web has no section of bindings"
    assert codes(bound_fleet("[]", "[]", instance=instance)) == []


EXPRESSION = """expression: '"at-$(CLUSTER_NAME)"'"""


@pytest.mark.rule("R3-22")
@pytest.mark.parametrize("section", ["[]", None])
@pytest.mark.parametrize(
    ("values", "more", "files"),
    [
        (f"[{{name: host, {EXPRESSION}}}]", "", {}),
        ("[]", f"  groups: [{{name: g, clusterSelector: {{}}, optionValues: [{{name: host, {EXPRESSION}}}]}}]\n", {}),
        ("[]", "", {"override": override("o", f"[{{path: host, {EXPRESSION}}}]")}),
    ],
    ids=["preset", "group", "override"],
)
def test_a_mention_in_an_expression_is_text_and_told(
    values: str, more: str, files: dict[str, str], section: str | None
) -> None:
    fleet = fleet_and({"preset": preset(values, section, more), **files})
    assert told(fleet, "mention-is-text") == ["$(CLUSTER_NAME) is text here"]
    assert "cluster.name" in hints(fleet, "mention-is-text")[0]


@pytest.mark.rule("R3-22")
def test_what_only_looks_like_an_expression_counts() -> None:
    values = "[{name: labels, value: {expression: $(CLUSTER_NAME), optionValues: [{expression: $(ORGANIZATION)}]}}]"
    assert codes(bound_fleet(values)) == []


@pytest.mark.rule("R3-22")
def test_a_mention_in_the_path_of_an_option_is_text_and_told() -> None:
    assert told(bound_fleet("[{name: labels.$(CLUSTER_NAME), value: 1}]"), "mention-is-text") == [
        "$(CLUSTER_NAME) is text here"
    ]


# ---- What was meant


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cluster.label.r", "cluster.labels.r"),
        ("cluster.lables.app.kubernetes.io/name", "cluster.labels.app.kubernetes.io/name"),
        ("clusters.labels.r", "cluster.labels.r"),
        ("Cluster.Fact.net.cidr", "cluster.facts.net.cidr"),
        ("cluster.name", "CLUSTER_NAME"),
        ("cluster_name", "CLUSTER_NAME"),
        ("clusterName", "CLUSTER_NAME"),
        ("organization.name", "ORGANIZATION"),
        ("cluster.spec.x", None),
        ("cluster.x", None),
        ("CLUSTER_ZONE", None),
        ("label.r", None),
    ],
)
def test_a_given_name_in_other_words_is_recognised(name: str, expected: str | None) -> None:
    assert probably_meant(name) == expected


def test_fleeets_manifests_are_not_told_of_names_that_they_do_not_have() -> None:
    assert (probably_meant("cluster.label.r", "kubernetes"), probably_meant("cluster.name", "kubernetes")) == (
        None,
        "CLUSTER_NAME",
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cluster.label.r", "cluster.labels.r"), ("cluster.name", "CLUSTER_NAME"), ("cluster_name", "CLUSTER_NAME")],
)
def test_validation_says_which_given_name_was_meant(name: str, expected: str) -> None:
    fleet = bound_fleet(f"[{{name: host, value: a-$({name})}}]")
    assert hints(fleet, "unbound") == [f"did you mean {expected}?"]


def test_validation_says_which_definition_was_meant() -> None:
    def hint(definition: str) -> list[str]:
        bindings = f"[{{name: X, pluginOutputRef: {{definition: {definition}, output: o}}}}]"
        return hints(bound_fleet(HOST, bindings, ca=definition_of("certificates")), "unbound")

    assert hint("certificate") == ["did you mean certificates?"]
    assert hint("certificates") == ["install certificates there, or give a default"]
    assert hint("zzz") == ["install zzz there, or give a default"]


# ---- Overrides without effect


@pytest.mark.rule("S37")
@pytest.mark.parametrize("bindings", [OPTIONAL, OPTIONAL_BY_CLUSTER])
def test_an_override_that_is_left_out_everywhere_is_not_said_to_reach_nothing(bindings: str) -> None:
    fleet = bound_fleet("[]", bindings, override=override("o", "[{path: host, value: at-$(X)}]"))
    assert codes(fleet) == ["shadowed-override"]
    assert told(fleet, "shadowed-override") == [
        "the override o has no effect: its optional variables cannot be resolved on all 3 plugins it matches"
    ]


@pytest.mark.rule("S37")
def test_an_override_that_is_left_out_and_hidden_is_said_to_be_both() -> None:
    both = override("o", "[{path: host, value: at-$(X)}, {path: replicas, value: 7}]")
    over = override("p", "[{path: replicas, value: 9}]", "clusterSelector: {clusterNames: [eu-1, eu-2, us-1]}")
    (message,) = told(bound_fleet("[]", OPTIONAL, both=both, over=over), "shadowed-override")
    assert message == (
        "the override o has no effect: its optional variables cannot be resolved or other overrides win on "
        "all 3 plugins it matches"
    )


@pytest.mark.rule("S37")
def test_an_override_that_counts_on_one_cluster_is_not_without_effect() -> None:
    items = override("o", "[{path: host, value: at-$(X)}]")
    fleet = bound_fleet("[]", OPTIONAL_BY_CLUSTER, override=items, c=config_map("c-eu-1", host="real"))
    assert codes(fleet) == []


@pytest.mark.parametrize("value", ["$(NO)", "$(cluster.labels.no)"])
def test_an_override_that_mentions_a_name_without_a_value_is_not_said_to_be_hidden(value: str) -> None:
    fleet = bound_fleet("[]", "[]", override=override("o", f"[{{path: labels.a, value: {value}}}]"))
    assert codes(fleet) == ["unbound"]


# ---- Secrets


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize("option", ["replicas", "args", "labels"])
def test_a_secret_of_the_wrong_type_is_a_gate_that_does_not_quote_it(option: str) -> None:
    fleet = bound_fleet(
        f"[{{name: {option}, value: $(X)}}]", field_of("Secret", "s", "/data/k"), s=secret("s", k="hunter2-canary")
    )
    assert gates_on(fleet) == ["value-type"]
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert gate.message.endswith("not something else")
    assert not any("hunter2" in each.message for each in fleet.findings.all)


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize("option", ["host", "token"])
def test_a_secret_that_is_text_fits_where_text_does(option: str) -> None:
    values = f"[{{name: {option}, value: $(X)}}]"
    assert gates_on(bound_fleet(values, field_of("Secret", "s", "/data/k"), s=secret("s", k="v"))) == []


@pytest.mark.rule("R3-18")
def test_a_secret_that_breaks_a_rule_of_its_option_is_not_quoted() -> None:
    strict = BASE["definition.yaml"].replace("{name: host, type: string}", "{name: host, type: string, enum: [one]}")
    fleet = bound_fleet(HOST, field_of("Secret", "s", "/data/k"), definition=strict, s=secret("s", k="hunter2-canary"))
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert gate.message == "host must be one of its choices, not its value"


# ---- Fleeet's


@pytest.mark.rule("B15")
@pytest.mark.parametrize(("namespace", "errors"), [("infra", 0), ("default", 0), ("globex", 1)])
def test_a_module_may_name_its_own_namespace(namespace: str, errors: int) -> None:
    ref = f"{{kind: ConfigMap, namespace: {namespace}, name: c, fieldPath: /data/k}}"
    module = (
        "apiVersion: fleet.squaremo.dev/v1alpha1\nkind: Module\nmetadata: {name: it, namespace: infra}\n"
        f"spec:\n  selector: {{}}\n  controlPlaneBindings: [{{name: A, objectFieldRef: {ref}}}]\n"
        "  sync: {source: {git: {url: https://git.example.com/it, version: {tag: v1.0.0}}}}\n"
    )
    clusters = CLUSTERS.replace("namespace: acme", "namespace: default")
    fleet = fleet_of({"m.yaml": module, "clusters.yaml": clusters, "c.yaml": config_map("c", namespace, k="v")})
    assert len(fleet.findings.errors) == len(told(fleet, "out-of-reach")) == errors
