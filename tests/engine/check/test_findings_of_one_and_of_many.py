"""What is said of one plugin and what of others, what is used and what is idle, how many names a hint lists."""

from __future__ import annotations

import pytest

from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.check.concerning import lint_concerning
from fleetform.engine.report.effects import applied_overrides
from fleetform.model.objects import Ref
from support.fleets import fleet_with, override, plugin_on

API = "apiVersion: fleetform.dev/v1alpha1\n"


def preset(name: str, definition: str = "web", values: str = "{}", more: str = "", release: str = "") -> str:
    return (
        f"{API}kind: PluginPreset\nmetadata: {{name: {name}, namespace: acme}}\nspec: {{clusterSelector: {{}},"
        f" plugin: {{pluginDefinition: {definition}, releaseName: {release or name}, optionValues: {values}}}{more}}}\n"
    )


def offering(*outputs: str) -> str:
    listed = ", ".join(f"{{name: {each}, value: x}}" for each in outputs)
    return (
        f"{API}kind: PluginDefinition\nmetadata: {{name: db, namespace: acme}}\n"
        f"spec: {{version: 1.0.0, source: {{manifests: {{path: ./m}}}}, outputs: [{listed}]}}\n"
    )


@pytest.mark.parametrize(
    ("outputs", "hint"),
    [
        ("", "it has none"),
        ("ba", "it has a, b"),
        ("fedcba", "it has a, b, c, d, e, f"),
        ("gfedcba", "it has a, b, c, d, e, f"),
    ],
)
def test_of_an_output_that_is_not_there_six_others_are_listed(outputs: str, hint: str) -> None:
    binding = ", controlPlaneBindings: [{name: A, pluginOutputRef: {definition: db, output: zzz}}]"
    fleet = fleet_with(
        definitions=offering(*outputs),
        db=preset("db", "db"),
        reads=preset("reads", values="{host: $(A)}", more=binding),
    )
    found = [(each.message, each.hint) for each in fleet.findings.all if each.code == "unbound"]
    assert found == [("A cannot be resolved: db 1.0.0 has no output zzz: web on eu-1, eu-2, us-1", hint)]


def test_a_variable_is_told_apart_where_it_is_referred_to_and_where_it_is_idle() -> None:
    more = (
        ", clusterOptionOverrides: [{clusterName: eu-1, overrides: [{name: host, value: $(A)}]}]"
        ", controlPlaneBindings: [{name: A, objectFieldRef: {kind: ConfigMap, name: none, fieldPath: data.a}}]"
    )
    fleet = fleet_with(idle=preset("idle", more=more))
    found = [each.message for each in fleet.findings.all if each.code == "unbound"]
    assert found == [
        "A cannot be resolved: there is no ConfigMap none in acme: web on eu-1",
        "A cannot be resolved: there is no ConfigMap none in acme: web on eu-2, us-1;"
        " nothing there refers to it, so it blocks nothing",
    ]


def test_a_path_that_an_override_says_twice_is_won_and_not_also_lost() -> None:
    fleet = fleet_with(twice=override("twice", "[{path: replicas, value: 5}, {path: replicas, value: 6}]"))
    plugin = plugin_on(fleet, "eu-1")
    (applied,) = applied_overrides(plugin.shared.overrides, plugin.options)
    assert (applied.won, applied.lost) == (("replicas",), ())


@pytest.mark.rule("B4")
def test_of_one_plugin_only_conflicts_of_its_own_owner_are_told() -> None:
    by_hand = (
        f"{API}kind: Plugin\nmetadata: {{name: hand, namespace: acme}}\n"
        "spec: {clusterName: eu-1, pluginDefinition: web, releaseName: taken}\n"
    )
    fleet = fleet_with(hand=by_hand, taken=preset("taken"))
    conflict = "Plugin hand and PluginPreset taken both claim release web/taken on eu-1; the older one keeps it"
    decisions, here = fleet.decisions, fleet.decisions.clusters[Ref("Cluster", "acme", "eu-1")]
    mine, theirs = (
        [each.message for each in lint_concerning(decisions, plugin, CheckedObjects())]
        for plugin in (plugin_on(fleet, "eu-1"), *(each for each in here.candidates if each.name == "taken-eu-1"))
    )
    assert conflict not in mine
    assert conflict in theirs
