"""Variables in a diff: which of those that owners name change, from what to what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fleetform.app.diff import diff as diff_records
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.cli.changes import change_lines
from fleetform.cli.markdown import markdown
from fleetform.cli.text import Painter
from fleetform.ports.state import KnownState
from support.answers import MASKED, diff
from support.bound import a_cluster, bound_fleet, config_map, field_of, secret, thing
from support.fleets import documents, fleet_of
from support.states import states

ACME = Scope("acme")
FROM_SECRET = field_of("Secret", "db", "/stringData/password")
REF = {"kind": "ConfigMap", "fieldPath": "/data/written"}
NET, NO_NET = config_map("net", zone="a"), config_map("net", other="a")
DOWNSTREAM = "  bindings: [{name: NODE, objectFieldRef: {kind: Service, name: it, fieldPath: /status/ip}}]\n"


def substituting(variables: str, bindings: str = "[]", more: str = "", **files: str) -> Fleet:
    """A fleet whose preset names these variables."""
    return bound_fleet("[]", bindings, f"  substitute: {variables}\n{more}", None, **files)


def changes(before: Fleet, after: Fleet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = diff(before, after, ACME)["changes"]
    return found


def lines(before: Fleet, after: Fleet, wide: bool = False) -> list[str]:
    return [line.strip() for line in change_lines(diff_records(before, after, ACME), Painter(False), wide)]


@pytest.mark.rule("S22", "S39")
def test_a_variable_that_changes_is_shown_with_both_values() -> None:
    before = substituting("{ZONE: eu, PORT: 80, GONE: x}")
    after = substituting("{ZONE: us, PORT: 80, NEW: [1]}")
    found = changes(before, after)
    assert [each["cluster"] for each in found] == ["eu-1", "eu-2", "us-1"]
    assert found[0]["variables"] == [
        {"name": "GONE", "from": "x", "to": None},
        {"name": "NEW", "from": None, "to": [1]},
        {"name": "ZONE", "from": "eu", "to": "us"},
    ]
    assert (found[0]["options"], found[0]["also"]) == ([], [])
    assert changes(before, before) == []


@pytest.mark.rule("S22")
def test_people_read_which_variables_change() -> None:
    before, after = substituting("{ZONE: eu, 'A|B': 1}"), substituting("{ZONE: us}")
    assert "variable ZONE eu → us" in lines(before, after)
    assert "variable A|B 1 → unset" in lines(before, after)
    text = markdown(diff_records(before, after, ACME))
    assert "- variable `ZONE`: `eu` → `us`" in text
    assert "- variable `A\\|B`: `1` → `unset`" in text
    assert "substitute" not in text + "".join(lines(before, after))


def test_of_many_variables_some_are_shown() -> None:
    many = "{" + ", ".join(f"V{number:02}: 1" for number in range(50)) + "}"
    before, after = substituting(many), substituting(many.replace("1,", "2,").replace("1}", "2}"))
    shown = lines(before, after)
    assert [line for line in shown if line.startswith("variable")] == [
        f"variable V0{number} 1 → 2" for number in range(6)
    ]
    assert "and 44 variables more (-o wide)" in shown
    assert len([line for line in lines(before, after, wide=True) if line.startswith("variable")]) == 50
    assert "- and 10 variables more" in markdown(diff_records(before, after, ACME))


def test_variables_of_a_new_plugin_are_told_where_its_options_are() -> None:
    before = fleet_of({"clusters.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: acme}\n"})
    after = substituting("{ZONE: eu}")
    found = changes(before, after)
    assert {each["action"] for each in found} == {"install"}
    assert [each["variables"] for each in found] == [[{"name": "ZONE", "from": None, "to": "eu"}]] * 3
    assert not any("ZONE" in line for line in lines(before, after))
    assert "variable ZONE unset → eu" in lines(before, after, wide=True)
    assert [each["variables"] for each in changes(after, before)] == [[]] * 3


@pytest.mark.rule("S22")
def test_clusters_are_alike_only_where_their_variables_change_alike() -> None:
    before, after = substituting("{ZONE: eu}"), substituting("{ZONE: $(CLUSTER_NAME)}")
    assert [each["clusters"] for each in diff(before, after, ACME)["groups"]] == [["eu-1"], ["eu-2"], ["us-1"]]
    by_region = substituting("{ZONE: $(cluster.labels.region)}")
    assert [each["clusters"] for each in diff(before, by_region, ACME)["groups"]] == [["us-1"]]


@pytest.mark.rule("S39")
def test_a_variable_that_an_option_is_remains_an_option() -> None:
    def with_host(value: str) -> Fleet:
        return bound_fleet(f"[{{name: host, value: {value}}}]", "[]", "  substitute: {ZONE: eu}\n")

    for change in changes(with_host("a"), with_host("b")):
        assert [each["path"] for each in change["options"]] == ["host"]
        assert change["variables"] == []


@pytest.mark.rule("S5", "B30")
def test_a_secret_variable_is_masked_on_both_sides() -> None:
    plain = substituting("{X: canary-1, Z: a canary-2}")
    held = substituting("{X: $(X), Z: a $(X)}", FROM_SECRET, secret=secret("db", password="canary-3"))
    other = substituting("{X: $(X), Z: a $(X)}", FROM_SECRET, secret=secret("db", password="canary-4"))
    for before, after in ((plain, held), (held, plain), (held, other)):
        view = diff(before, after, ACME)
        for change in view["changes"]:
            assert change["variables"] == [{"name": name, "from": MASKED, "to": MASKED} for name in ("X", "Z")]
        assert len(view["changes"]) == 3
        assert "canary" not in repr(view) + markdown(diff_records(before, after, ACME))
        assert "variable X (secret) changed" in lines(before, after)
    same = diff(held, substituting("{X: $(X), Z: a $(X)}", FROM_SECRET, secret=secret("db", password="canary-3")), ACME)
    assert (same["changes"], same["summary"]["unknown"]) == ([], 0)


@pytest.mark.rule("B30")
def test_an_option_with_a_secret_inside_is_compared_by_what_the_secret_holds() -> None:
    def holding(password: str) -> Fleet:
        values = "[{name: labels, value: {a: $(X), b: 1}}, {name: args, value: [$(X)]}]"
        return bound_fleet(values, FROM_SECRET, secret=secret("db", password=password))

    assert changes(holding("one"), holding("one")) == []
    assert [[each["path"] for each in change["options"]] for change in changes(holding("one"), holding("two"))] == [
        ["args", "labels"]
    ] * 3


@pytest.mark.rule("B16")
def test_a_variable_of_the_cluster_changes_as_it_is_written_and_is_told_once() -> None:
    before, after = substituting("{IP: $(NODE)}", more=DOWNSTREAM), substituting("{IP: 'x-$(NODE)'}", more=DOWNSTREAM)
    for change in changes(before, after):
        assert change["variables"] == [{"name": "IP", "from": "$(NODE)", "to": "x-$(NODE)"}]
        assert change["also"] == []
    state = KnownState(plugins=states(observed={("acme", "eu-1", "web-eu-1"): {"NODE": "10.0.0.1"}}))
    read = bound_fleet("[]", "[]", "  substitute: {IP: $(NODE)}\n" + DOWNSTREAM, state)
    assert changes(before, read) == []


@pytest.mark.rule("S22")
@pytest.mark.parametrize("part", ["labels", "facts"])
def test_a_value_that_changes_with_its_cluster_is_caused_by_the_cluster(part: str) -> None:
    def there(label: str, fact: str) -> Fleet:
        values = "[{name: host, value: $(cluster.labels.region)-$(cluster.facts.zone)}]"
        return bound_fleet(values, clusters=a_cluster("eu-1", fact, region=label))

    before, after = there("eu", "a"), there("us", "a") if part == "labels" else there("eu", "b")
    ((option,),) = [change["options"] for change in changes(before, after)]
    assert (option["from"], option["to"]) == ("eu-a", "us-a" if part == "labels" else "eu-b")
    assert (option["cause"]["kind"], option["cause"]["name"]) == ("Cluster", "eu-1")


@pytest.mark.rule("S22")
@pytest.mark.parametrize("before", ["a", None], ids=["another value", "none before"])
def test_of_the_variables_in_a_value_the_one_that_changed_is_its_cause(before: str | None) -> None:
    """Not what stands before it and says the same: the cluster's name, its labels, and another object's field."""

    def there(written: str | None) -> Fleet:
        fields = ({"name": name, "objectFieldRef": {**REF, "name": f"of-{name.lower()}"}} for name in "YX")
        values = "[{name: host, value: $(CLUSTER_NAME)-$(cluster.labels.region)-$(Y)-$(X)}]"
        data = {"written": written} if written is not None else {}
        objects = documents(config_map("of-y", written="y"), config_map("of-x", **data))
        return bound_fleet(values, json.dumps([*fields]), clusters=a_cluster("eu-1", region="eu"), objects=objects)

    ((option,),) = [change["options"] for change in changes(there(before), there("b"))]
    assert (option["from"], option["to"]) == (f"eu-1-eu-y-{before}" if before is not None else None, "eu-1-eu-y-b")
    assert (option["cause"]["kind"], option["cause"]["name"]) == ("ConfigMap", "of-x")


@pytest.mark.rule("S22")
def test_a_value_whose_variable_is_resolved_no_longer_is_caused_by_the_binding() -> None:
    """There is no object with its value any more."""
    binding = field_of("ConfigMap", "net", "/data/zone")
    before, after = (bound_fleet("[{name: host, value: 'to-$(X)'}]", binding, net=each) for each in (NET, NO_NET))
    for change in changes(before, after):
        (option,) = change["options"]
        assert (option["from"], option["to"]) == ("to-a", None)
        cause = option["cause"]
        assert (cause["kind"], cause["name"], cause["place"]["line"]) == ("PluginPreset", "web", 9)


@pytest.mark.rule("B30", "R3-18")
def test_a_secret_that_is_only_written_in_another_way_is_the_same() -> None:
    def holding(written: str) -> Fleet:
        binding = field_of("Secret", "db", "/data/password")
        return bound_fleet("[{name: host, value: $(X)}]", binding, secret=thing("Secret", "db", written))

    plain, encoded = "stringData: {password: canary}", "data: {password: Y2FuYXJ5}"
    assert changes(holding(plain), holding(encoded)) == []
    assert len(changes(holding(plain), holding("data: {password: b3RoZXI=}"))) == 3
