"""Both directions: what a plugin takes, what an override reaches, and what has no effect."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.report.effects import applied_overrides
from support.answers import explain, get
from support.bound import bound_fleet
from support.fleets import BASE, DEFINITION, codes, documents, fleet_of, fleet_with, override, plugin_on, value_on

ACME = Scope("acme")
EU = "clusterSelector: {matchLabels: {region: eu}}"


def items(fleet: Fleet, kind: str) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in get(fleet, ACME, kind)["items"]}


OVERRIDES = documents(
    override("z-all", "[{path: replicas, value: 5}, {path: host, value: all}]", created="2026-01-01"),
    override("eu", "[{path: replicas, value: 6}]", EU, created="2026-01-01"),
    override("a-web", "[{path: replicas, value: 7}]", f"{EU}, pluginDefinitionNames: [web]", created="2026-01-01"),
)


@pytest.mark.rule("R0-18")
def test_applied_overrides_stand_in_order_with_what_each_won_and_lost() -> None:
    fleet = fleet_with(overrides=OVERRIDES)
    plugin = plugin_on(fleet, "eu-1")
    applied = applied_overrides(plugin.shared.overrides, plugin.options)
    assert [(each.override.ref.name, each.rank, each.won, each.lost) for each in applied] == [
        ("z-all", 1, ("host",), ("replicas",)),
        ("eu", 2, (), ("replicas",)),
        ("a-web", 3, ("replicas",), ()),
    ]


@pytest.mark.rule("R0-18", "S9")
def test_a_plugins_status_names_its_overrides() -> None:
    status = items(fleet_with(overrides=OVERRIDES), "plugins")["web-us-1"]["status"]
    assert status["appliedOverrides"] == [{"name": "z-all", "rank": 1, "won": ["host", "replicas"], "lost": []}]


@pytest.mark.rule("R0-23", "S21")
def test_an_overrides_status_names_the_plugins_it_reaches() -> None:
    status = items(fleet_with(overrides=OVERRIDES), "overrides")["eu"]["status"]
    assert [plugin["name"] for plugin in status["plugins"]] == ["web-eu-1", "web-eu-2"]
    assert status["rank"] == 2


@pytest.mark.rule("R0-23", "S21")
def test_dead_shadowed_tied_and_expired_overrides_are_reported() -> None:
    overrides = documents(
        override("dead", "[{path: host, value: a}]", "clusterSelector: {matchLabels: {region: moon}}"),
        override("expired", "[{path: host, value: a}]", "expires: 2026-01-01"),
        override("loser", "[{path: replicas, value: 3}]", created="2026-01-01"),
        override("winner", "[{path: replicas, value: 4}]", created="2026-02-01"),
    )
    fleet = fleet_with(overrides=overrides)
    found = {
        name: sorted(each["finding"] for each in item["status"]["findings"])
        for name, item in items(fleet, "overrides").items()
    }
    assert found == {"dead": ["dead"], "expired": ["expired"], "loser": ["shadowed", "tie"], "winner": ["tie"]}
    assert {"dead-override", "expired-override", "shadowed-override", "tie"} <= set(codes(fleet))


@pytest.mark.rule("R0-23")
def test_overrides_of_one_rank_that_agree_are_no_tie() -> None:
    same = documents(*(override(name, "[{path: replicas, value: 3}]") for name in ("a", "b")))
    assert "tie" not in " ".join(codes(fleet_with(overrides=same)))


@pytest.mark.rule("S9")
def test_get_plugins_gives_the_native_shape_for_every_dialect() -> None:
    greenhouse = """
    apiVersion: greenhouse.sap/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec:
      pluginDefinitionRef: {name: web}
      clusterName: eu-1
      releaseName: mine
    """
    item = items(fleet_with(plugin=greenhouse), "plugins")["mine"]
    assert (item["apiVersion"], item["kind"]) == ("fleetform.dev/v1alpha1", "Plugin")
    assert (item["spec"]["clusterName"], item["spec"]["pluginDefinition"]["name"]) == ("eu-1", "web")
    assert {"appliedOverrides", "configReferences", "conditions"} <= set(item["status"])


@pytest.mark.rule("B4")
def test_a_plugin_beside_a_preset_may_hold_values_and_configs_only() -> None:
    instance = """
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {name: web-eu-1, namespace: acme}
    spec:
      presetRef: {name: web}
      releaseName: other
      optionValues: [{name: replicas, value: 6}]
    """
    fleet = fleet_with(instance=instance)
    assert [(each.code, each.path) for each in fleet.findings.errors] == [("two-owners", "spec.releaseName")]


@pytest.mark.rule("B4")
def test_a_plugin_that_claims_a_presets_release_without_saying_so_has_two_owners() -> None:
    plugin = """
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec: {pluginDefinition: {name: web}, clusterName: eu-1}
    """
    fleet = fleet_with(plugin=plugin)
    (found,) = fleet.findings.errors
    assert (found.code, "presetRef" in found.hint) == ("two-owners", True)
    assert ("acme", "eu-1", "mine") not in fleet.decisions.plugins


@pytest.mark.rule("B4")
def test_a_plugin_beside_a_preset_bears_the_generated_name() -> None:
    instance = """
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec: {presetRef: {name: web}, clusterName: eu-1, optionValues: [{name: replicas, value: 6}]}
    """
    (found,) = fleet_with(instance=instance).findings.errors
    assert (found.code, found.hint) == ("bad-name", "name it web-eu-1")


@pytest.mark.rule("B23")
def test_two_presets_that_claim_one_release_are_told_apart_by_age() -> None:
    second = BASE["preset.yaml"].replace(
        "name: web, namespace: acme", "name: second, namespace: acme, creationTimestamp: '2026-01-01'"
    )
    fleet = fleet_with(second=second)
    assert {plugin.target.owner.ref.name for plugin in fleet.decisions.plugins.values()} == {"second"}
    assert {(each.code, each.severity) for each in fleet.findings.all} == {("two-owners", "warning")}
    (preset,) = [each for each in get(fleet, ACME, "presets")["items"] if each["metadata"]["name"] == "web"]
    assert [each["cluster"] for each in preset["status"]["conflicts"]] == ["eu-1", "eu-2", "us-1"]


def test_two_plugins_of_one_name_in_an_organization_are_told() -> None:
    clusters = "---\n".join(
        f"apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}, namespace: acme}}\n"
        for name in ("c", "b-c")
    )
    other = DEFINITION.replace("name: web", "name: other")
    presets = documents(
        *(
            f"apiVersion: fleetform.dev/v1alpha1\nkind: PluginPreset\nmetadata: {{name: {name}, namespace: acme}}\n"
            f"spec: {{clusterSelector: {{clusterNames: [{cluster}]}}, plugin: {{pluginDefinition: web}}}}\n"
            for name, cluster in (("a", "b-c"), ("a-b", "c"))
        )
    )
    fleet = fleet_of({"clusters.yaml": clusters, "definition.yaml": DEFINITION, "other.yaml": other, "p.yaml": presets})
    assert codes(fleet) == ["bad-name"]


@pytest.mark.rule("R0-18", "R0-23")
@pytest.mark.parametrize(
    "clearing",
    ["[{path: labels, strategy: Remove}]", "[{path: labels.a, strategy: Remove}]", "[{path: labels.a, value: x}]"],
)
def test_what_clears_the_way_below_a_merge_has_an_effect(clearing: str) -> None:
    preset = BASE["preset.yaml"] + "    - {name: labels, value: {a: {b: 1}}}\n"
    merge = override("merge", "[{path: labels, value: {a: {c: 2}}, strategy: Merge}]", created="2026-02-01")
    fleet = fleet_with(preset=preset, o=documents(override("clear", clearing, created="2026-01-01"), merge))
    assert value_on(fleet, "eu-1", "labels")["a"] == {"c": 2}  # type: ignore[index]
    applied = {each["name"]: each for each in explain(fleet, plugin_on(fleet, "eu-1"))["appliedOverrides"]}
    assert [(bool(each["won"]), bool(each["lost"])) for each in applied.values()] == [(True, False)] * 2
    assert "shadowed-override" not in codes(fleet)


@pytest.mark.rule("R0-18")
def test_a_merge_of_which_others_decide_every_leaf_has_lost() -> None:
    merge = override("merge", "[{path: labels, value: {a: {c: 2}}, strategy: Merge}]", created="2026-01-01")
    leaf = override("leaf", "[{path: labels.a.c, value: 3}]", created="2026-02-01")
    fleet = fleet_with(o=documents(merge, leaf))
    applied = {each["name"]: each for each in explain(fleet, plugin_on(fleet, "eu-1"))["appliedOverrides"]}
    assert [applied[name]["won"] for name in ("merge", "leaf")] == [[], ["labels.a.c"]]
    assert "shadowed-override" in codes(fleet)


@pytest.mark.rule("R0-18", "R0-23", "S37")
def test_an_override_whose_value_is_left_out_is_listed_in_both_directions() -> None:
    optional = "[{name: X, clusterFieldRef: {path: /spec/none}, optional: true}]"
    fleet = bound_fleet("[]", optional, o=override("o", "[{path: host, value: $(X)}]"))
    assert explain(fleet, plugin_on(fleet, "eu-1"))["appliedOverrides"] == [
        {"name": "o", "rank": 1, "won": [], "lost": ["host"]}
    ]
    assert len(items(fleet, "overrides")["o"]["status"]["plugins"]) == 3
