"""A question about one plugin decides that plugin and checks what concerns it, and answers as a whole pass would."""

from __future__ import annotations

import pytest

from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.questions import deciding_for, find_plugin
from fleetform.app.scope import Scope
from fleetform.model.results.decisions import PluginDecision
from support.answers import explain
from support.fleets import DEFINITION, PRESET, documents, fleet_with, override, plugin_on

ACME = Scope("acme")
OTHER = PRESET.replace("name: web, namespace", "name: other, namespace").replace(
    "pluginDefinition: {name: web}", "pluginDefinition: {name: web}\n    releaseName: web"
)
HAND = (
    "apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {name: hand, namespace: acme}\n"
    "spec: {pluginDefinition: {name: web}, clusterName: us-1, releaseName: hand}\n"
)
UNREADABLE = "{labelSelector: {matchExpressions: [{key: tier, operator: In}]}}"
STAMPED = "namespace: acme, annotations: {fleetform.dev/created: soon}"
MORE = override("more", "[{path: replicas, value: 7}]", "clusterSelector: {clusterNames: [eu-1]}")


def decided_alone(fleet: Fleet, plugin: PluginDecision) -> tuple[Fleet, PluginDecision]:
    scope = Scope(plugin.organization, plugin.cluster.ref.name)
    narrowed = deciding_for(fleet, scope, plugin.name, None)
    return narrowed, find_plugin(narrowed, scope, plugin.name, None)


@pytest.mark.parametrize("files", [{}, {"other": OTHER}, {"hand": HAND, "more": MORE}], ids=["base", "claims", "more"])
def test_a_plugin_decided_alone_is_explained_as_in_a_whole_pass(files: dict[str, str]) -> None:
    fleet = fleet_with(**files)
    for plugin in fleet.decisions.plugins.values():
        narrowed, alone = decided_alone(fleet, plugin)
        assert explain(narrowed, alone) == explain(fleet, plugin)


def test_one_plugin_is_decided_and_those_that_claim_its_release() -> None:
    fleet = fleet_with(hand=HAND)
    assert list(deciding_for(fleet, ACME, "hand", None).decisions.plugins) == [("acme", "us-1", "hand")]
    assert list(deciding_for(fleet, ACME, "web-us-1", None).decisions.plugins) == [("acme", "us-1", "web-us-1")]
    claimed = deciding_for(fleet_with(other=OTHER), ACME, "web-us-1", None).decisions
    assert list(claimed.plugins) == [("acme", "us-1", "other-us-1")]
    assert [each.candidate.name for each in claimed.claims] == ["web-us-1"]


def test_a_preset_means_its_plugins_unless_a_plugin_has_that_name() -> None:
    assert len(deciding_for(fleet_with(), ACME, "web", None).decisions.plugins) == 3
    named = HAND.replace("name: hand, namespace", "name: web, namespace")
    assert list(deciding_for(fleet_with(hand=named), ACME, "web", None).decisions.plugins) == [("acme", "us-1", "web")]


def test_what_is_not_there_is_answered_from_all_that_is() -> None:
    fleet = deciding_for(fleet_with(), ACME, "wep-eu-1", None)
    with pytest.raises(NotFoundError) as caught:
        find_plugin(fleet, ACME, "wep-eu-1", None)
    assert caught.value.hint == "did you mean web-eu-1?"


def test_of_a_definition_that_is_not_there_the_definitions_are_named() -> None:
    fleet = fleet_with(
        definition=DEFINITION.replace("name: web,", "name: shop,"), preset=PRESET.replace("{name: web}", "{name: shop}")
    )
    for asked, hint in (("shap", "did you mean shop?"), ("quite-another", "there is shop")):
        with pytest.raises(NotFoundError) as caught:
            find_plugin(fleet, Scope("acme", "eu-1"), None, asked)
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "concerns"),
    [
        (override("bad", "[{path: replicas, value: many}]"), True),
        (override("bad", "[{path: replicas, value: many}]", "clusterSelector: {clusterNames: [us-1]}"), False),
        (override("bad", "[{path: replicas, value: 3}]", f"clusterSelector: {UNREADABLE}"), True),
        (override("bad", "[{path: a, value: 1}, {path: a.b, value: 2}]", "pluginDefinitionNames: [other]"), False),
        (HAND.replace("releaseName: hand", "optionValues: [{name: replicas, value: many}], releaseName: x"), False),
    ],
    ids=["reaches", "another-cluster", "unreadable-selector", "another-definition", "another-plugin"],
)
def test_errors_concern_a_plugin_if_they_may_reach_it(text: str, concerns: bool) -> None:
    fleet = fleet_with(more=text)
    assert fleet.findings.errors
    narrowed, plugin = decided_alone(fleet, fleet.decisions.plugins["acme", "eu-1", "web-eu-1"])
    errors = [each for each in narrowed.findings.about(plugin) if each.severity == "error"]
    assert bool(errors) is concerns
    assert set(errors) <= set(fleet.findings.errors)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"more": "a: [1\n"}, ["bad-yaml"]),
        ({"preset": PRESET.replace("namespace: acme", STAMPED)}, ["bad-stamp"]),
        ({"other": HAND.replace("namespace: acme", STAMPED)}, []),
    ],
    ids=["a-text", "its-preset", "another"],
)
def test_what_reading_said_concerns_a_plugin_if_it_is_of_its_objects_or_of_nobody_knows_which(
    files: dict[str, str], told: list[str]
) -> None:
    fleet = fleet_with(**files)
    assert len(fleet.reading) == 1
    narrowed, plugin = decided_alone(fleet, plugin_on(fleet, "eu-1"))
    assert [each.code for each in narrowed.findings.about(plugin)] == told


def test_an_error_that_only_decisions_show_concerns_the_plugin_that_shows_it() -> None:
    nowhere = override("bad", "[{path: 'args[9]', value: x}]", "clusterSelector: {clusterNames: [us-1]}")
    fleet = fleet_with(more=nowhere)
    assert [each.code for each in fleet.findings.errors] == ["wrong-index"]
    for cluster, codes in (("us-1", ["wrong-index"]), ("eu-1", [])):
        narrowed, plugin = decided_alone(fleet, plugin_on(fleet, cluster))
        assert [each.code for each in narrowed.findings.about(plugin) if each.severity == "error"] == codes


def test_a_release_that_two_claim_by_mistake_concerns_both() -> None:
    fleet = fleet_with(hand=HAND.replace("releaseName: hand", "releaseName: web"))
    assert [each.code for each in fleet.findings.errors] == ["two-owners"]
    for name in ("hand", "web"):
        narrowed = deciding_for(fleet, Scope("acme", "us-1"), name, None)
        plugin = find_plugin(narrowed, Scope("acme", "us-1"), name, None)
        assert plugin.target.owner.ref.name == name
        assert set(fleet.findings.errors) <= set(narrowed.findings.about(plugin))


def test_a_claim_of_a_release_concerns_nobody_but_the_two() -> None:
    hands = [HAND.replace("hand", name).replace(f"releaseName: {name}", "releaseName: web") for name in ("one", "two")]
    narrowed = deciding_for(fleet_with(hands=documents(*hands)), Scope("acme", "us-1"), "two", None)
    plugin = find_plugin(narrowed, Scope("acme", "us-1"), "two", None)
    assert [each.loses.ref.name for each in narrowed.decisions.claims] == ["one", "two"]
    assert [str(each.object) for each in narrowed.findings.about(plugin)] == ["Plugin/acme/two"]


def test_what_a_gate_of_a_plugin_says_is_not_told_again_as_a_warning() -> None:
    fleet = fleet_with(
        definition=DEFINITION.replace("- {name: host, type: string}", "- {name: host, type: string, required: true}")
    )
    assert {each.code for each in fleet.findings.all} == {"missing-required"}
    narrowed, plugin = decided_alone(fleet, plugin_on(fleet, "eu-1"))
    assert [each.gate for each in plugin.gates] == ["required-option"]
    assert narrowed.findings.about(plugin) == ()


def test_what_decisions_show_of_a_plugin_that_another_keeps_from_its_release_stops_nobody() -> None:
    values = "    optionValues: [{name: 'args[9]', value: x}]\n"
    fleet = fleet_with(other=OTHER, preset=PRESET.partition("    optionValues:")[0] + values)
    narrowed = deciding_for(fleet, Scope("acme", "us-1"), "web", None)
    plugin = find_plugin(narrowed, Scope("acme", "us-1"), "web", None)
    assert [each.loses.ref.name for each in narrowed.decisions.claims] == ["web"]
    assert not fleet.findings.errors
    assert not [each for each in narrowed.findings.about(plugin) if each.severity == "error"]


def test_a_warning_about_what_decides_a_plugin_concerns_it_and_one_about_others_does_not() -> None:
    odd = DEFINITION.replace("- {name: host, type: string}", "- {name: host, type: string, default: $(X)}")
    other = odd.replace("name: web, namespace", "name: other, namespace")

    def told(**files: str) -> set[str]:
        fleet = fleet_with(**files)
        assert {each.code for each in fleet.findings.all} == {"mention-is-text"}
        narrowed, alone = decided_alone(fleet, plugin_on(fleet, "eu-1"))
        return {each["code"] for each in explain(narrowed, alone)["diagnostics"]}

    assert told(definition=odd) == {"mention-is-text"}
    assert told(other=other) == set()
