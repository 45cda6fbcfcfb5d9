"""Names that cannot be resolved: who is stopped, what is told, and what default, optional and observations do."""

from __future__ import annotations

import pytest

from fleetform.ports.state import KnownState
from support.answers import explain
from support.bound import (
    HOST,
    bound_fleet,
    bound_on,
    config_map,
    definition_of,
    field_of,
    gates_on,
    hash_on,
    option_on,
    preset,
    told,
    two_clusters,
)
from support.command import Runner
from support.fleets import BASE, documents, override, plugin_on
from support.states import states

MISSING = field_of("ConfigMap", "c", "/data/host")
SERVICE = "{name: IP, objectFieldRef: {kind: Service, name: s, fieldPath: /spec/clusterIP}"


@pytest.mark.rule("R3-26")
def test_one_cluster_of_many_that_lacks_a_field_is_stopped_alone() -> None:
    names = [f"c{number}" for number in range(24)]
    cluster = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: {}, namespace: acme}}\n"
    maps = [config_map(f"site-{each}", host=f"h-{each}", port="1") for each in names if each != "c7"]
    bindings = field_of("ConfigMap", "site-$(CLUSTER_NAME)", "/data/host")
    fleet = bound_fleet(
        HOST,
        bindings,
        clusters=documents(*(cluster.format(each) for each in names)),
        maps=documents(*maps, config_map("site-c7", hots="h", port="1")),
    )
    assert {each: option_on(fleet, cluster=each) for each in names if each != "c7"} == {
        each: f"h-{each}" for each in names if each != "c7"
    }
    assert [each for each in names if gates_on(fleet, each)] == ["c7"]
    (gate,) = plugin_on(fleet, "c7").gates
    assert (gate.gate, gate.message) == (
        "config-missing",
        "X cannot be resolved: ConfigMap site-c7 has no /data/host",
    )
    assert gate.do == "it has /data/hots, /data/port"
    assert told(fleet, "unbound") == [f"{gate.message}: web on c7"]


@pytest.mark.rule("R3-26")
@pytest.mark.parametrize(
    ("bindings", "message", "hint"),
    [
        (MISSING, "there is no ConfigMap c in acme", "there are site"),
        (field_of("ConfigMap", "sitte", "/data/k"), "there is no ConfigMap sitte in acme", "did you mean site?"),
        (field_of("ConfgMap", "site", "/data/k"), "there is no ConfgMap site in acme", "did you mean ConfigMap?"),
        (field_of("ConfigMap", "site", "/data/x"), "ConfigMap site has no /data/x", "it has /data/k"),
        (field_of("ConfigMap", "site", "/"), "ConfigMap site has no /", "it has /apiVersion, /data, /kind, /metadata"),
        ("[{name: X, clusterFieldRef: {path: /spec/facts/x}}]", "the cluster has no /spec/facts/x", "/spec/facts/zone"),
    ],
)
def test_what_is_missing_is_named_with_what_there_is_instead(bindings: str, message: str, hint: str) -> None:
    fleet = bound_fleet(HOST, bindings, clusters=two_clusters(), site=config_map("site", k="v"))
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert gate.message == f"X cannot be resolved: {message}"
    assert hint in gate.do


@pytest.mark.rule("R3-26")
def test_a_mention_of_a_name_that_nobody_binds_says_which_was_meant() -> None:
    fleet = bound_fleet("[{name: host, value: $(ZONNE)}]", "[{name: ZONE, value: a}]")
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert (gate.gate, gate.message, gate.do) == ("config-missing", "$(ZONNE) is not bound", "did you mean ZONE?")


@pytest.mark.rule("R3-26")
def test_a_variable_that_stands_for_nothing_stops_its_plugin_too() -> None:
    fleet = bound_fleet("[]", "[]", "  substitute: {ZONE: $(cluster.labels.zone), OTHER: $(NOWHERE)}\n")
    assert gates_on(fleet) == ["config-missing", "config-missing"]
    assert fleet.inputs.substituted(plugin_on(fleet, "eu-1")) == {}


@pytest.mark.rule("R3-26")
def test_an_owner_that_stumbles_leaves_others_alone() -> None:
    other = documents(preset("[]", name="other"), definition_of("other"))
    before, after = bound_fleet("[]", "[]", other=other), bound_fleet(HOST, MISSING, other=other)
    assert (hash_on(after), gates_on(after)) == (None, ["config-missing"])
    assert hash_on(after, owner="other") == hash_on(before, owner="other") is not None
    assert gates_on(after, owner="other") == []


# ---- Other organizations


@pytest.mark.rule("B15")
@pytest.mark.parametrize("namespace", ["globex", "$(HOME)"])
def test_objects_of_others_are_out_of_reach_whether_they_exist_or_not(namespace: str) -> None:
    bindings = (
        f"[{{name: X, objectFieldRef: {{kind: ConfigMap, namespace: {namespace}, name: c, fieldPath: /data/host}}}},"
        " {name: HOME, value: globex}]"
    )
    theirs = config_map("c", "globex", host="theirs")
    fleets = [bound_fleet(HOST, bindings), bound_fleet(HOST, bindings, theirs=theirs)]
    gates = [[(each.message, each.do) for each in plugin_on(fleet, "eu-1").gates] for fleet in fleets]
    assert gates[0] == gates[1]
    assert gates[0] == [
        ("X cannot be resolved: ConfigMap c of globex is out of reach", "refer to objects of acme"),
    ]
    assert [bool(told(fleet, "out-of-reach")) for fleet in fleets] == [namespace == "globex"] * 2


@pytest.mark.rule("B15")
def test_an_object_of_another_organization_is_not_even_suggested() -> None:
    fleet = bound_fleet(HOST, field_of("ConfigMap", "shared", "/data/k"), theirs=config_map("shared", "globex", k="v"))
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert (gate.message, gate.do) == (
        "X cannot be resolved: there is no ConfigMap shared in acme",
        "add the ConfigMap to the input",
    )


# ---- Default and optional


@pytest.mark.rule("R3-26")
@pytest.mark.parametrize(
    ("default", "expected"), [("none", "none"), ("$(CLUSTER_NAME)", "eu-1"), ("'a-$(Z)'", "a-z"), ("''", "")]
)
def test_a_default_stands_in_for_what_is_missing(default: str, expected: str) -> None:
    bindings = f"[{{name: Z, value: z}}, {MISSING[1:-2]}, default: {default}}}]"
    fleet = bound_fleet(HOST, bindings)
    assert (option_on(fleet), gates_on(fleet)) == (expected, [])
    assert option_on(bound_fleet(HOST, bindings, c=config_map("c", host="real"))) == "real"


OPTIONAL = field_of("ConfigMap", "c", "/data/host", ", optional: true")
FALLBACK = (
    "[{name: host, value: static}, {name: args, value: [--host, $(X)]}, {name: replicas, value: 3},"
    " {name: labels, value: {a: {b: $(X)}}}]"
)


@pytest.mark.rule("S37")
def test_what_mentions_an_optional_name_without_a_value_counts_as_not_written() -> None:
    fleet = bound_fleet(FALLBACK, OPTIONAL, override=_override_for_host())
    assert (option_on(fleet), option_on(fleet, "args"), option_on(fleet, "labels")) == (
        "static",
        ["a", "b"],
        {"team": "none"},
    )
    assert gates_on(fleet) == []
    assert not fleet.findings.errors
    assert not told(fleet, "unbound")
    left_out = {each.item.text for each in plugin_on(fleet, "eu-1").skipped if each.reason == "left-out"}
    assert left_out == {"host", "args", "labels"}
    assert hash_on(fleet) == hash_on(bound_fleet("[{name: host, value: static}, {name: replicas, value: 3}]"))


@pytest.mark.rule("S37")
def test_an_optional_name_that_has_a_value_counts() -> None:
    fleet = bound_fleet(FALLBACK, OPTIONAL, override=_override_for_host(), c=config_map("c", host="real"))
    assert (option_on(fleet), option_on(fleet, "args")) == ("at-real", ["--host", "real"])


def _override_for_host(value: str = "at-$(X)") -> str:
    return override("o", f"[{{path: host, value: {value}}}]")


@pytest.mark.rule("S37")
def test_an_optional_name_may_be_missing_on_some_clusters_only() -> None:
    bindings = field_of("ConfigMap", "site-$(CLUSTER_NAME)", "/data/host", ", optional: true")
    fleet = bound_fleet(f"{HOST[:-1]}]", bindings, c=config_map("site-us-1", host="real"))
    assert option_on(fleet, cluster="us-1") == "real"
    assert "host" not in explain(fleet, plugin_on(fleet, "eu-1"))["values"]
    assert gates_on(fleet) == []


@pytest.mark.rule("S37")
def test_a_variable_that_mentions_an_optional_name_is_left_out() -> None:
    fleet = bound_fleet("[]", OPTIONAL, "  substitute: {A: $(X), B: b}\n")
    assert fleet.inputs.substituted(plugin_on(fleet, "eu-1")) == {"B": "b"}
    assert gates_on(fleet) == []


@pytest.mark.rule("S37", "R3-26")
def test_a_name_at_fault_beside_an_optional_one_is_not_left_out() -> None:
    values = "[{name: host, value: static}, {name: args, value: [$(X), $(NOWHERE)]}]"
    fleet = bound_fleet(values, OPTIONAL, override=_override_for_host("$(X)$(NOWHERE)"))
    assert gates_on(fleet) == ["config-missing"]
    values_here = explain(fleet, plugin_on(fleet, "eu-1"))["values"]
    assert "host" not in values_here
    assert "args" not in values_here


@pytest.mark.rule("S37")
def test_a_name_that_is_wrong_is_wrong_also_where_it_is_optional() -> None:
    bindings = "[{name: A, value: [1]}, {name: X, value: a$(A), optional: true, default: d}]"
    assert gates_on(bound_fleet(HOST, bindings)) == ["value-type"]


@pytest.mark.rule("S37")
def test_explain_shows_what_is_pending_and_exits_0_and_validate_warns(run: Runner) -> None:
    run.write(preset=preset(HOST, MISSING))
    explained = run("explain", "web", "-c", "eu-1", "-o", "json")
    assert explained.code == 0
    (binding,) = explained.json["bindings"]
    assert (binding["name"], binding["value"], binding["resolved"]) == ("X", None, "pending")
    assert binding["problem"] == "X cannot be resolved: there is no ConfigMap c in acme"
    assert binding["place"]["file"] == "preset.yaml"
    assert "host" not in explained.json["values"]
    assert explained.json["target"]["inputHash"] is None
    validated = run("validate", "-o", "json")
    assert (validated.code, validated.json["counts"]["warnings"]) == (0, 1)
    assert [each["code"] for each in validated.json["diagnostics"]] == ["unbound"]


@pytest.fixture
def run(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Runner:
    """The command line in a folder that holds the base fleet."""
    runner = Runner(tmp_path_factory.mktemp("fleet"), capsys, monkeypatch)
    runner.write(**{name.removesuffix(".yaml"): text for name, text in BASE.items()})
    return runner


# ---- Values of the cluster


def seen(value: object) -> KnownState:
    return KnownState(plugins=states(observed={("acme", "eu-1", "web-eu-1"): {"IP": value}}))


DOWNSTREAM = f"  bindings: [{SERVICE}}}]\n"
ADDRESS = "[{name: host, value: 'http://$(IP)'}, {name: replicas, value: 3}]"


@pytest.mark.rule("R3-3", "B16")
def test_a_field_inside_the_cluster_waits_until_it_is_read() -> None:
    fleet = bound_fleet(ADDRESS, None, DOWNSTREAM)
    assert gates_on(fleet) == ["downstream"]
    assert plugin_on(fleet, "eu-1").gates == ()
    assert bound_on(fleet)["IP"].resolved == "pending"
    assert "host" not in explain(fleet, plugin_on(fleet, "eu-1"))["values"]
    assert [each.severity for each in fleet.findings.all] == ["info"]


@pytest.mark.rule("R3-3", "B16")
def test_what_was_read_there_is_its_value_on_that_cluster_alone() -> None:
    fleet = bound_fleet(ADDRESS, None, DOWNSTREAM, state=seen("10.0.0.1"))
    assert (option_on(fleet), gates_on(fleet)) == ("http://10.0.0.1", [])
    assert bound_on(fleet)["IP"].resolved == "downstream"
    assert gates_on(fleet, "us-1") == ["downstream"]


@pytest.mark.rule("B16")
def test_the_hash_holds_the_expression_whatever_was_read() -> None:
    states = [None, seen("10.0.0.1"), seen("10.0.0.2")]
    hashes = {hash_on(bound_fleet(ADDRESS, None, DOWNSTREAM, state=each)) for each in states}
    assert len(hashes) == 1
    assert None not in hashes
    others = {
        "expression": bound_fleet(ADDRESS.replace("http:", "https:"), None, DOWNSTREAM),
        "reference": bound_fleet(ADDRESS, None, DOWNSTREAM.replace("name: s,", "name: t,")),
        "other value": bound_fleet(ADDRESS.replace("3", "4"), None, DOWNSTREAM),
    }
    assert hashes.isdisjoint({hash_on(each) for each in others.values()})


@pytest.mark.rule("B16")
def test_the_hash_changes_with_a_name_of_the_control_plane_that_the_expression_mentions() -> None:
    values = "[{name: host, value: $(P)-$(IP)}]"
    hashes = {hash_on(bound_fleet(values, f"[{{name: P, value: {each}}}]", DOWNSTREAM)) for each in ("a", "b")}
    assert len(hashes) == 2


@pytest.mark.rule("B16", "R3-26")
@pytest.mark.parametrize(
    ("more", "gates", "host"),
    [("", ["config-missing"], None), (", default: none", [], "http://none"), (", optional: true", [], None)],
)
def test_what_was_looked_for_on_the_cluster_and_is_not_there_is_missing(
    more: str, gates: list[str], host: str | None
) -> None:
    fleet = bound_fleet(ADDRESS, None, f"  bindings: [{SERVICE}{more}}}]\n", state=seen(None))
    assert gates_on(fleet) == gates
    assert explain(fleet, plugin_on(fleet, "eu-1"))["values"].get("host") == host


@pytest.mark.rule("B16")
@pytest.mark.parametrize("more", [", default: none", ", optional: true"])
def test_what_nobody_has_read_yet_is_waited_for_also_with_a_default(more: str) -> None:
    fleet = bound_fleet(ADDRESS, None, f"  bindings: [{SERVICE}{more}}}]\n")
    assert gates_on(fleet) == ["downstream"]
