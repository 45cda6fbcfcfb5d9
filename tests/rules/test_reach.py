"""Which plugins an override reaches."""

from __future__ import annotations

import pytest

from support.fleets import BASE, codes, documents, fleet_of, fleet_with, override, value_on

FIVE = "[{path: replicas, value: 5}]"
CLUSTERS = ("eu-1", "eu-2", "us-1")


def reached(more: str) -> list[str]:
    """The clusters on which an override with this selector sets replicas to 5."""
    fleet = fleet_with(override=override("o", FIVE, more))
    assert [each for each in codes(fleet) if each != "dead-override"] == []
    return [cluster for cluster in CLUSTERS if value_on(fleet, cluster, "replicas") == 5]


@pytest.mark.rule("R0-1")
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["eu-1", "eu-2", "us-1"]),
        ("clusterSelector: {clusterNames: [eu-1]}", ["eu-1"]),
        ("pluginDefinitionNames: [web]", ["eu-1", "eu-2", "us-1"]),
        ("clusterSelector: {clusterNames: [us-1]}, pluginDefinitionNames: [web]", ["us-1"]),
    ],
)
def test_an_override_is_for_an_organization_a_cluster_a_definition_or_both(more: str, expected: list[str]) -> None:
    assert reached(more) == expected


@pytest.mark.rule("R0-1")
def test_an_override_for_a_definition_leaves_other_definitions_alone() -> None:
    other = BASE["definition.yaml"].replace("name: web", "name: other")
    preset = BASE["preset.yaml"].replace("name: web", "name: other")
    fleet = fleet_with(more=documents(other, preset), override=override("o", FIVE, "pluginDefinitionNames: [web]"))
    assert fleet.decisions.plugins["acme", "eu-1", "other-eu-1"].options["replicas"].value == 2
    assert value_on(fleet, "eu-1", "replicas") == 5


@pytest.mark.rule("R0-2")
@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("{labelSelector: {matchLabels: {region: eu}}}", ["eu-1", "eu-2"]),
        ("{labelSelector: {matchExpressions: [{key: tier, operator: In, values: [gold]}]}}", ["eu-1", "us-1"]),
        ("{labelSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [gold]}]}}", ["eu-2"]),
        ("{labelSelector: {matchExpressions: [{key: absent, operator: Exists}]}}", []),
        ("{labelSelector: {matchExpressions: [{key: absent, operator: DoesNotExist}]}}", list(CLUSTERS)),
        ("{labelSelector: {matchLabels: {region: us}}, clusterNames: [eu-1]}", ["eu-1", "us-1"]),
        ("{labelSelector: {matchLabels: {region: eu}}, ignoreClusters: [eu-1]}", ["eu-2"]),
        ("{clusterNames: [eu-1, eu-2], ignoreClusters: [eu-1]}", ["eu-2"]),
        ("{ignoreClusters: [eu-1]}", ["eu-2", "us-1"]),
    ],
)
def test_labels_and_names_are_a_union_and_ignored_clusters_beat_both(selector: str, expected: list[str]) -> None:
    assert reached(f"clusterSelector: {selector}") == expected


@pytest.mark.rule("R0-3")
@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("{matchLabels: {region: us}}", ["us-1"]),
        ("{matchExpressions: [{key: region, operator: In, values: [us]}]}", ["us-1"]),
        ("[{matchLabels: {region: us}}, {labelSelector: {matchLabels: {tier: dev}}}]", ["eu-2", "us-1"]),
        ("[{clusterNames: [eu-1]}, {matchLabels: {region: us}}]", ["eu-1", "us-1"]),
    ],
)
def test_a_selector_may_be_an_object_a_bare_label_selector_or_a_list_of_either(
    selector: str, expected: list[str]
) -> None:
    assert reached(f"clusterSelector: {selector}") == expected


@pytest.mark.rule("R0-3", "S11")
def test_the_seeds_own_spelling_loads_with_a_warning_for_each_old_way() -> None:
    seed = """
    kind: PluginOverride
    name: my-overrides
    spec:
      pluginDefinitionNames: [web]
      clusterSelector:
        - matchLabels: {region: us}
      overrides:
        - {path: replicas, value: 5}
    """
    files = {name: text.replace(", namespace: acme", "") for name, text in BASE.items()}
    fleet = fleet_of({**files, "override.yaml": seed})
    assert codes(fleet) == ["deprecated-field", "deprecated-field"]
    assert {each.severity for each in fleet.findings.all} == {"warning"}
    plugin = fleet.decisions.plugins["default", "us-1", "web-us-1"]
    assert plugin.options["replicas"].value == 5


@pytest.mark.rule("S11")
def test_a_greenhouse_override_loads_as_native_with_a_warning() -> None:
    text = override("o", FIVE).replace("fleetform.dev/v1alpha1", "greenhouse.sap/v1alpha1")
    fleet = fleet_with(override=text)
    assert (codes(fleet), value_on(fleet, "eu-1", "replicas")) == (["deprecated-field"], 5)


@pytest.mark.rule("R0-4", "B31")
@pytest.mark.parametrize(
    "selector", ["", "clusterSelector: {}", "clusterSelector: []", "clusterSelector: {labelSelector: {}}"]
)
def test_every_empty_selector_of_an_override_is_all_clusters_ranked_as_naming_none(selector: str) -> None:
    fleet = fleet_with(override=override("o", FIVE, selector))
    winners = [fleet.decisions.plugins["acme", name, f"web-{name}"].options["replicas"].winner for name in CLUSTERS]
    assert [winner.layer.rank for winner in winners if winner] == [1, 1, 1]


@pytest.mark.rule("R0-4")
def test_several_definition_names_are_alternatives() -> None:
    other = BASE["definition.yaml"].replace("name: web", "name: other")
    preset = BASE["preset.yaml"].replace("name: web", "name: other")
    fleet = fleet_with(
        more=documents(other, preset), override=override("o", FIVE, "pluginDefinitionNames: [web, other]")
    )
    plugins = fleet.decisions.plugins
    assert plugins["acme", "eu-1", "web-eu-1"].options["replicas"].value == 5
    assert plugins["acme", "eu-1", "other-eu-1"].options["replicas"].value == 5


@pytest.mark.rule("R0-5")
def test_unknown_cluster_and_definition_names_warn_and_suggest() -> None:
    more = "clusterSelector: {clusterNames: [eu-9]}, pluginDefinitionNames: [wep]"
    found = fleet_with(override=override("o", FIVE, more)).findings.all
    assert [(each.code, each.severity) for each in found if each.code == "unknown-name"] == [
        ("unknown-name", "warning"),
        ("unknown-name", "warning"),
    ]
    assert any("did you mean web?" in each.hint for each in found)


@pytest.mark.rule("S17")
def test_in_a_list_of_selectors_ignored_clusters_count_for_their_own_element() -> None:
    assert reached(
        "clusterSelector: [{matchLabels: {region: eu}, ignoreClusters: [eu-1]}, {clusterNames: [eu-1]}]"
    ) == [
        "eu-1",
        "eu-2",
    ]


@pytest.mark.rule("R0-21", "B15")
def test_an_override_reaches_its_own_organization_only() -> None:
    elsewhere = override("o", FIVE).replace("namespace: acme", "namespace: globex")
    fleet = fleet_with(override=elsewhere)
    assert value_on(fleet, "eu-1", "replicas") == 2
    assert "dead-override" in codes(fleet)


@pytest.mark.rule("B15")
def test_a_definition_of_another_organization_is_as_if_it_did_not_exist() -> None:
    hidden = BASE["definition.yaml"].replace("namespace: acme", "namespace: globex")
    absent = {name: text for name, text in BASE.items() if name != "definition.yaml"}
    there = fleet_of({**absent, "definition.yaml": hidden})
    nowhere = fleet_of(absent)
    gates = [
        [(gate.gate, gate.message) for gate in fleet.decisions.plugins["acme", "eu-1", "web-eu-1"].gates]
        for fleet in (there, nowhere)
    ]
    assert gates[0] == gates[1] == [("version", "there is no definition web")]


@pytest.mark.rule("B31")
def test_a_preset_must_say_which_clusters_it_selects() -> None:
    preset = BASE["preset.yaml"].replace("  clusterSelector: {}\n", "")
    found = [each for each in fleet_with(preset=preset).findings.all if each.severity == "error"]
    assert [(each.code, each.path) for each in found] == [("missing-field", "spec")]
    assert "clusterSelector: {}" in found[0].hint


def test_labels_given_twice_in_one_selector_are_refused() -> None:
    more = "clusterSelector: {matchLabels: {region: eu}, labelSelector: {matchLabels: {tier: gold}}}"
    assert "ambiguous-selector" in codes(fleet_with(override=override("o", FIVE, more)))


def test_a_misspelt_selector_field_is_an_error_and_selects_nothing_silently() -> None:
    fleet = fleet_with(override=override("o", FIVE, "clusterSelector: {matchlabels: {region: eu}}"))
    assert [(each.code, each.hint) for each in fleet.findings.all] == [("unknown-field", "did you mean matchLabels?")]


@pytest.mark.rule("S53")
def test_an_empty_label_selector_beside_names_selects_the_names_alone() -> None:
    both = override("o", "[{path: replicas, value: 9}]", "clusterSelector: {labelSelector: {}, clusterNames: [eu-1]}")
    fleet = fleet_with(o=both)
    assert [value_on(fleet, each, "replicas") for each in ("eu-1", "eu-2")] == [9, 2]
    assert "ambiguous-selector" in codes(fleet)


@pytest.mark.rule("S61", "S19")
@pytest.mark.parametrize(("expires", "value"), [("2026-11-01", 2), ("2026-11-02", 9)])
def test_a_date_of_expiry_ends_at_its_first_instant(expires: str, value: int) -> None:
    fleet = fleet_with(o=override("o", "[{path: replicas, value: 9}]", f"expires: '{expires}'"))
    assert value_on(fleet, "eu-1", "replicas") == value


@pytest.mark.rule("S61", "S6")
def test_two_spellings_of_a_version_with_one_content_are_a_warning() -> None:
    def severities(text: str) -> list[str]:
        found = fleet_with(again=text).findings.all
        return [each.severity for each in found if each.code == "duplicate-object"]

    again = BASE["definition.yaml"].replace("version: 1.0.0", "version: v1.0.0")
    assert severities(again) == ["warning"]
    assert severities(again.replace("default: 1,", "default: 3,")) == ["error"]
