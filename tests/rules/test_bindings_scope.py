"""Where mentions count and where they are text; and that what they bring in is data, never looked at again."""

from __future__ import annotations

import pytest

from support.bound import (
    HOST,
    a_cluster,
    bound_fleet,
    config_map,
    definition_of,
    field_of,
    fleet_and,
    option_on,
    preset,
    secret,
    told,
)
from support.fleets import CLUSTERS, DEFINITION, documents, fleet_of, override

MENTION = "x-$(CLUSTER_NAME)"
INSTANCE = (
    "apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {name: web-eu-1, namespace: acme}\n"
    f"spec: {{presetRef: {{name: web}}, clusterName: eu-1, optionValues: [{{name: host, value: {MENTION}}}]}}\n"
)
OVERRIDE = override("o", f"[{{path: host, value: {MENTION}}}]")
BLOCK = f"  clusterOptionOverrides: [{{clusterName: eu-1, overrides: [{{name: host, value: {MENTION}}}]}}]\n"
GROUP = f"  groups: [{{name: g, clusterSelector: {{}}, optionValues: [{{name: host, value: {MENTION}}}]}}]\n"


@pytest.mark.rule("R3-22", "S36")
@pytest.mark.parametrize("section", ["controlPlaneBindings", "bindings"])
@pytest.mark.parametrize(
    ("values", "more", "files"),
    [
        (f"[{{name: host, value: {MENTION}}}]", "", {}),
        (f"{{host: {MENTION}}}", "", {}),
        ("[]", GROUP, {}),
        ("[]", BLOCK, {}),
        ("[]", "", {"instance": INSTANCE}),
        ("[]", "", {"override": OVERRIDE}),
    ],
    ids=["preset", "preset's map", "group", "cluster block", "instance", "override"],
)
def test_mentions_count_in_values_of_every_layer(section: str, values: str, more: str, files: dict[str, str]) -> None:
    fleet = fleet_and({"preset": preset(values, None, f"{more}  {section}: []\n"), **files})
    assert not fleet.findings.all
    assert option_on(fleet) == "x-eu-1"


@pytest.mark.rule("R3-22")
def test_mentions_count_in_a_plugin_made_by_hand() -> None:
    plugin = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {name: hand, namespace: acme}\n"
        "spec:\n  pluginDefinition: web\n  clusterName: us-1\n  optionValues: [{name: host, value: $(X)}]\n"
        "  controlPlaneBindings: [{name: X, value: at-$(CLUSTER_NAME)}]\n"
    )
    fleet = fleet_of({"clusters.yaml": CLUSTERS, "definition.yaml": DEFINITION, "plugin.yaml": plugin})
    assert fleet.decisions.plugins["acme", "us-1", "hand"].options["host"].value == "at-us-1"


@pytest.mark.rule("R3-22")
def test_mentions_inside_maps_lists_and_paths_of_overrides_count() -> None:
    values = "[{name: labels, value: {a: {b: [$(CLUSTER_NAME)]}}}]"
    fleet = bound_fleet(values, override=override("o", "[{path: labels.c, value: $(ORGANIZATION)}]"))
    assert option_on(fleet, "labels") == {"a": {"b": ["eu-1"]}, "c": "acme"}


@pytest.mark.rule("R3-22")
def test_mentions_elsewhere_are_text_and_told() -> None:
    values = "[{name: labels, value: {$(CLUSTER_NAME): 1}}]"
    fleet = bound_fleet(values, "[{name: X, value: 1}]", "  delivery: {directory: {path: out/$(X)}}\n")
    assert told(fleet, "mention-is-text") == ["$(CLUSTER_NAME) is text here", "$(X) is text here"]
    assert option_on(fleet, "labels") == {"$(CLUSTER_NAME)": 1}


@pytest.mark.rule("R3-22")
def test_a_definitions_defaults_are_text_and_that_is_told() -> None:
    default = DEFINITION.replace("{name: host, type: string}", f"{{name: host, type: string, default: {MENTION}}}")
    fleet = bound_fleet("[]", "[]", definition=default)
    assert told(fleet, "mention-is-text") == ["$(CLUSTER_NAME) is text in a default"]
    assert option_on(fleet) == MENTION


@pytest.mark.rule("R3-22")
def test_what_a_config_says_is_text() -> None:
    takes = DEFINITION + "  configs: [{group: example.com, resource: reds, values: {from: /spec/host, to: host}}]\n"
    named = "apiVersion: fleetform.dev/v1alpha1\nkind: PluginPreset\nmetadata: {name: web, namespace: acme}\nspec:\n"
    named += "  clusterSelector: {}\n  controlPlaneBindings: []\n  plugin:\n    pluginDefinition: web\n"
    named += "    configs: [{group: example.com, resource: reds, name: r}]\n"
    red = f"apiVersion: example.com/v1\nkind: Red\nmetadata: {{name: r, namespace: acme}}\nspec: {{host: {MENTION}}}\n"
    fleet = bound_fleet(definition=takes, preset=named, red=red)
    assert option_on(fleet) == MENTION


# ---- Without a section


@pytest.mark.rule("B6")
def test_without_a_section_mentions_are_text_and_those_of_given_names_are_told() -> None:
    values = "[{name: host, value: $(CLUSTER_NAME)}, {name: labels, value: {a: $(X), b: $$(Y)}}]"
    fleet = bound_fleet(values, None)
    (message,) = told(fleet, "mention-is-text")
    assert message == "$(CLUSTER_NAME) is text here: variables are filled in only beside a section of bindings"
    assert option_on(fleet) == "$(CLUSTER_NAME)"
    assert option_on(fleet, "labels") == {"a": "$(X)", "b": "$$(Y)"}


@pytest.mark.rule("B6")
@pytest.mark.parametrize("section", ["controlPlaneBindings", "bindings"])
def test_an_empty_section_is_in_force(section: str) -> None:
    values = "[{name: host, value: $(CLUSTER_NAME)}, {name: args, value: [$$(X)]}]"
    fleet = bound_fleet(values, None, f"  {section}: []\n")
    assert not fleet.findings.all
    assert (option_on(fleet), option_on(fleet, "args")) == ("eu-1", ["$(X)"])


@pytest.mark.rule("B6")
def test_an_override_expands_on_plugins_whose_owner_binds_and_nowhere_else() -> None:
    other = preset("[]", None, name="plain", definition="plain")
    fleet = bound_fleet("[]", "[]", override=OVERRIDE, definition2=definition_of("plain"), preset2=other)
    assert option_on(fleet) == "x-eu-1"
    assert option_on(fleet, owner="plain") == MENTION


@pytest.mark.rule("B6")
def test_greenhouses_manifests_mention_nothing() -> None:
    greenhouse = (
        "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {name: web, namespace: acme}\n"
        "spec:\n  clusterSelector: {}\n  deletionPolicy: Delete\n  plugin:\n"
        "    pluginDefinitionRef: {kind: PluginDefinition, name: web}\n"
        "    optionValues: [{name: host, value: $(CLUSTER_NAME)-$$(X)}]\n"
    )
    fleet = bound_fleet(preset=greenhouse)
    assert not told(fleet, "mention-is-text")
    assert option_on(fleet) == "$(CLUSTER_NAME)-$$(X)"


@pytest.mark.rule("B6")
def test_open_cluster_managements_variables_mention_nothing() -> None:
    group = "addon.open-cluster-management.io"
    addon = documents(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: eu-1}\n"
        "spec: {hubAcceptsClient: true}\n",
        f"apiVersion: {group}/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {{name: logs, namespace: eu-1}}\n"
        f"spec: {{configs: [{{group: {group}, resource: addondeploymentconfigs, name: a, namespace: ops}}]}}\n",
        f"apiVersion: {group}/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {{name: logs}}\n"
        f"spec: {{supportedConfigs: [{{group: {group}, resource: addondeploymentconfigs}}]}}\n",
        f"apiVersion: {group}/v1alpha1\nkind: AddOnDeploymentConfig\nmetadata: {{name: a, namespace: ops}}\n"
        "spec: {customizedVariables: [{name: HOST, value: $(CLUSTER_NAME)}]}\n",
    )
    fleet = fleet_of(addon)
    (plugin,) = fleet.decisions.plugins.values()
    assert plugin.options["HOST"].value == "$(CLUSTER_NAME)"


# ---- What is read is data


HOSTILE = ["$(SECRET)", "$$(SECRET)", "${SECRET}", "$(CLUSTER_NAME)", "$(", "$$", "a$(NOWHERE)b"]
BOUND = "{name: SECRET, value: never}"


@pytest.mark.rule("R3-25")
@pytest.mark.parametrize("data", HOSTILE)
@pytest.mark.parametrize(
    "source",
    [
        "objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}",
        "objectFieldRef: {kind: Secret, name: s, fieldPath: /data/k}",
        "clusterFieldRef: {path: /spec/facts/zone}",
        "pluginOutputRef: {definition: ca, output: k}",
        "value: $(cluster.facts.zone)",
        "value: $(cluster.labels.hostile)",
        "objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/none}, default: $(cluster.facts.zone)",
    ],
)
def test_what_is_read_is_never_expanded_however_often_it_is_passed_on(source: str, data: str) -> None:
    ca = preset("[]", "[{name: OUT, objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}}]", name="ca")
    values = "[{name: host, value: $(TWICE)}, {name: args, value: ['<$(ONCE)>']}]"
    bindings = f"[{BOUND}, {{name: ONCE, {source}}}, {{name: TWICE, value: $(ONCE)}}]"
    fleet = bound_fleet(
        values,
        bindings,
        clusters=a_cluster("eu-1", zone=data, hostile=data),
        objects=documents(config_map("c", k=data), secret("s", k=data)),
        ca=documents(ca, definition_of("ca", "[{name: k, value: $(OUT)}]")),
    )
    assert option_on(fleet) == data
    assert option_on(fleet, "args") == [f"<{data}>"]


@pytest.mark.rule("R3-25")
def test_data_that_names_a_field_is_not_expanded_on_the_way() -> None:
    bindings = "[{name: A, value: '$$(B)'}, {name: B, value: b}, {name: X, value: $(A)}]"
    assert option_on(bound_fleet(HOST, bindings)) == "$(B)"
    named = field_of("ConfigMap", "$(NAME)", "/data/k")[:-1] + ", {name: NAME, value: $$(B)}, {name: B, value: c}]"
    fleet = bound_fleet(HOST, named, c=config_map("c", k="reached"))
    assert fleet.decisions.plugins["acme", "eu-1", "web-eu-1"].gates[0].message.endswith("no ConfigMap $(B) in acme")
