"""What a change does, before it is made."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from support.answers import diff
from support.fleets import BASE, DEFINITION, documents, fleet_with, override

ACME = Scope("acme")
NEWER = BASE["definition.yaml"].replace("1.0.0", "1.1.0").replace("default: {team: none}", "default: {team: all}") + (
    "  changes: {changelog: Teams changed, breaking: true}\n"
)


def changes(before: Fleet, after: Fleet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = diff(before, after, ACME)["changes"]
    return found


@pytest.mark.rule("S22")
def test_the_same_fleet_has_no_changes() -> None:
    view = diff(fleet_with(), fleet_with(), ACME)
    assert (view["changes"], view["groups"], view["summary"]["plugins"]) == ([], [], 0)


@pytest.mark.rule("S22")
def test_an_option_change_names_both_values_and_its_cause() -> None:
    after = fleet_with(
        override=override("o", "[{path: replicas, value: 9}]", "clusterSelector: {clusterNames: [eu-1]}")
    )
    (change,) = changes(fleet_with(), after)
    assert (change["cluster"], change["plugin"], change["action"]) == ("eu-1", "web-eu-1", "reconfigure")
    (option,) = change["options"]
    assert (option["path"], option["from"], option["to"]) == ("replicas", 2, 9)
    assert (option["cause"]["kind"], option["cause"]["name"]) == ("PluginOverride", "o")
    (back,) = changes(after, fleet_with())
    assert back["options"][0]["cause"]["name"] == "o"


@pytest.mark.rule("S22")
def test_an_absent_value_is_null() -> None:
    after = fleet_with(override=override("o", "[{path: host, value: x}]"))
    assert {option["from"] for change in changes(fleet_with(), after) for option in change["options"]} == {None}


@pytest.mark.rule("S22")
def test_an_upgrade_shows_versions_the_changelog_and_whether_it_breaks() -> None:
    view = diff(fleet_with(), fleet_with(newer=NEWER), ACME)
    assert {change["action"] for change in view["changes"]} == {"upgrade"}
    assert view["changes"][0]["version"] == {"from": "1.0.0", "to": "1.1.0"}
    assert view["changes"][0]["breaking"] is True
    assert [(each["definition"], each["version"], each["text"]) for each in view["changelog"]] == [
        ("web", "1.1.0", "Teams changed")
    ]
    back = diff(fleet_with(newer=NEWER), fleet_with(), ACME)
    assert {change["action"] for change in back["changes"]} == {"downgrade"}


@pytest.mark.rule("S22")
def test_plugins_that_come_and_go_are_installs_and_deletes_and_retained_ones_are_no_deletes() -> None:
    fewer = fleet_with(
        preset=BASE["preset.yaml"].replace("clusterSelector: {}", "clusterSelector: {clusterNames: [eu-1]}")
    )
    assert [change["action"] for change in changes(fewer, fleet_with())] == ["install", "install"]
    assert diff(fleet_with(), fewer, ACME)["summary"]["deletes"] == 2
    retaining = fleet_with(preset=BASE["preset.yaml"] + "  deletionPolicy: Retain\n")
    view = diff(retaining, fewer, ACME)
    assert ([change["action"] for change in view["changes"]], view["summary"]["deletes"]) == (["retain", "retain"], 0)


def test_a_release_that_goes_from_one_preset_to_another_is_handed_over() -> None:
    renamed = fleet_with(preset=BASE["preset.yaml"].replace("name: web, namespace", "name: site, namespace"))
    view = diff(fleet_with(), renamed, ACME)
    assert {change["action"] for change in view["changes"]} == {"handover"}
    assert (view["summary"]["installs"], view["summary"]["deletes"]) == (0, 0)


@pytest.mark.rule("S22")
def test_what_is_blocked_names_the_gate_and_what_to_do() -> None:
    required = (
        BASE["definition.yaml"]
        .replace("1.0.0", "1.1.0")
        .replace("{name: host, type: string}", "{name: host, type: string, required: true}")
    )
    view = diff(fleet_with(), fleet_with(newer=required), ACME)
    (reason,) = view["changes"][0]["blocked"]
    assert (reason["gate"], reason["until"]) == ("required-option", None)
    assert "host" in reason["message"]
    assert view["summary"]["blocked"] == 3
    assert view["changes"][0]["version"]["to"] == "1.1.0"


def test_clusters_with_the_same_change_are_one_group() -> None:
    after = fleet_with(
        overrides=documents(
            override("all", "[{path: replicas, value: 9}]"),
            override("us", "[{path: host, value: x}]", "clusterSelector: {matchLabels: {region: us}}"),
        )
    )
    assert diff(fleet_with(), after, ACME)["groups"] == [
        {"clusters": ["eu-1", "eu-2"], "changes": 1},
        {"clusters": ["us-1"], "changes": 1},
    ]


@pytest.mark.rule("S21")
def test_overrides_without_effect_and_ties_are_references_and_say_whether_they_are_new() -> None:
    dead = override("dead", "[{path: host, value: a}]", "clusterSelector: {clusterNames: [none]}")
    view = diff(fleet_with(), fleet_with(override=dead), ACME)["overrides"]
    assert [(ref["kind"], ref["name"], ref["new"]) for ref in view["dead"]] == [("PluginOverride", "dead", True)]
    again = diff(fleet_with(override=dead), fleet_with(override=dead), ACME)["overrides"]
    assert [ref["new"] for ref in again["dead"]] == [False]


def test_the_change_id_follows_content_not_files_or_stamps() -> None:
    one = override("o", "[{path: replicas, value: 9}]", created="2026-01-01")
    ids = {
        diff(fleet_with(), fleet_with(**{file: text}), ACME)["changeId"]
        for file, text in (("a", one), ("b", override("o", "[{path: replicas, value: 9}]")))
    }
    other = diff(fleet_with(), fleet_with(a=override("o", "[{path: replicas, value: 8}]")), ACME)["changeId"]
    assert len(ids) == 1
    assert other not in ids
    assert other.startswith("c1:")


@pytest.mark.parametrize(
    ("what", "after"),
    [
        ("source", {"definition": DEFINITION.replace("./manifests", "./other")}),
        ("delivery", {"preset": BASE["preset.yaml"] + "  delivery: {directory: {path: out}}\n"}),
        ("transforms", {"preset": BASE["preset.yaml"] + "  transforms: [{plugin: mirror}]\n"}),
        ("releaseName", {"preset": BASE["preset.yaml"] + "    releaseName: other\n"}),
        ("blocked", {"definition": DEFINITION.replace("type: string}", "type: string, required: true}")}),
    ],
)
def test_whatever_else_a_plugin_is_made_of_is_a_change_too(what: str, after: dict[str, str]) -> None:
    view = diff(fleet_with(), fleet_with(**after), ACME)
    assert [change["also"] for change in view["changes"]] == [[what]] * 3
    assert view["summary"]["blocked"] == (3 if what == "blocked" else 0)


def test_two_changes_of_foreign_objects_have_two_ids() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: zone, namespace: acme}\ndata: {a: %s}\n"
    ids = {diff(fleet_with(), fleet_with(config=text % value), ACME)["changeId"] for value in "bc"}
    assert len(ids) == 2
