"""Open Cluster Management's manifests as they are: which clusters get an add-on, with which configs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import render_plugins
from fleetform.app.scope import Scope
from fleetform.app.validate import validate
from fleetform.engine.decide import decide
from fleetform.model.objects import Ref
from fleetform.ports.state import KnownState
from fleetform.renderers.batch import Renderers
from support.answers import get
from support.fleets import documents, fleet_of

EVERYWHERE = Scope("default")
CLUSTER = "cluster.open-cluster-management.io"
ADDON = "addon.open-cluster-management.io"


def cluster(name: str, labels: str = "", more: str = "", spec: str = "") -> str:
    return (
        f"apiVersion: {CLUSTER}/v1\nkind: ManagedCluster\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n"
        f"spec: {{hubAcceptsClient: true{spec}}}\n{more}"
    )


def placement(name: str, spec: str = "{}") -> str:
    return f"apiVersion: {CLUSTER}/v1beta1\nkind: Placement\nmetadata: {{name: {name}, namespace: ops}}\nspec: {spec}\n"


SETS = documents(
    f"apiVersion: {CLUSTER}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: global}}\n"
    "spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}\n",
    f"apiVersion: {CLUSTER}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: global, namespace: ops}}\n"
    "spec: {clusterSet: global}\n",
)
CLUSTERS = documents(cluster("c1", "region: eu"), cluster("c2", "region: eu"), cluster("c3", "region: us"))


def config(name: str, variable: str) -> str:
    return (
        f"apiVersion: {ADDON}/v1alpha1\nkind: AddOnDeploymentConfig\nmetadata: {{name: {name}, namespace: ops}}\n"
        f"spec: {{customizedVariables: [{{name: LEVEL, value: {variable}}}]}}\n"
    )


CONFIGS = documents(config("default", "info"), config("all", "warn"), config("eu", "debug"), config("own", "trace"))
DEPLOYMENT = f"group: {ADDON}, resource: addondeploymentconfigs, namespace: ops"


def addon(install: str, version: str = "v1alpha1") -> str:
    supported = (
        f"supportedConfigs: [{{group: {ADDON}, resource: addondeploymentconfigs,"
        " defaultConfig: {namespace: ops, name: default}}]"
        if version == "v1alpha1"
        else f"defaultConfigs: [{{{DEPLOYMENT}, name: default}}]"
    )
    return (
        f"apiVersion: {ADDON}/{version}\nkind: ClusterManagementAddOn\nmetadata: {{name: agent}}\n"
        f"spec: {{{supported}, installStrategy: {install}}}\n"
    )


def installed(name: str, configs: str = "") -> str:
    return (
        f"apiVersion: {ADDON}/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {{name: agent, namespace: {name}}}\n"
        f"spec: {{configs: [{configs}]}}\n"
    )


def placed(*entries: str) -> str:
    return f"{{type: Placements, placements: [{', '.join(entries)}]}}"


def entry(name: str, config_name: str = "") -> str:
    configs = f", configs: [{{{DEPLOYMENT}, name: {config_name}}}]" if config_name else ""
    return f"{{name: {name}, namespace: ops{configs}}}"


ALL, EU = (
    placement("all"),
    placement("eu", "{predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}}]}"),
)


def fleet(*texts: str, state: KnownState | None = None) -> Fleet:
    return fleet_of({"all.yaml": documents(SETS, CLUSTERS, CONFIGS, ALL, EU, *texts)}, state=state)


def addons(read: Fleet) -> dict[str, list[str]]:
    """The configs of each add-on, by cluster."""
    items = get(read, EVERYWHERE, "addons")["items"]
    return {
        item["metadata"]["namespace"]: [each["desiredConfig"]["name"] for each in item["status"]["configReferences"]]
        for item in items
    }


@pytest.mark.rule("R1-18")
def test_placements_make_the_addon_where_they_choose_and_nowhere_else() -> None:
    read = fleet(addon(placed(entry("eu"))))
    assert (read.findings.errors, addons(read)) == ((), {"c1": ["default"], "c2": ["default"]})


@pytest.mark.rule("R1-18")
def test_manual_means_only_where_somebody_made_it() -> None:
    assert addons(fleet(addon("{type: Manual}"), installed("c3"))) == {"c3": ["default"]}


@pytest.mark.rule("R1-17", "S1")
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_the_last_placement_that_chooses_a_cluster_wins_whole(version: str) -> None:
    read = fleet(addon(placed(entry("all", "all"), entry("eu", "eu")), version))
    assert addons(read) == {"c1": ["eu"], "c2": ["eu"], "c3": ["all"]}
    # The last one counts even where it names no config.
    bare = fleet(addon(placed(entry("all", "all"), entry("eu")), version))
    assert addons(bare) == {"c1": ["default"], "c2": ["default"], "c3": ["all"]}


@pytest.mark.rule("R1-19")
def test_an_addons_own_config_goes_over_that_of_its_placement() -> None:
    read = fleet(addon(placed(entry("all", "all"))), installed("c1", f"{{{DEPLOYMENT}, name: own}}"))
    assert addons(read) == {"c1": ["own"], "c2": ["all"], "c3": ["all"]}


def said(read: Fleet, code: str) -> list[tuple[str, str]]:
    return [(each.severity, each.message) for each in read.findings.all if each.code == code]


@pytest.mark.rule("R1-18", "S62", "S65")
def test_an_addon_outside_every_placement_goes_and_is_reported() -> None:
    own = installed("c3", f"{{{DEPLOYMENT}, name: own}}")
    read = fleet(addon(placed(entry("eu", "eu"))), own)
    assert addons(read) == {"c1": ["eu"], "c2": ["eu"]}
    assert said(read, "no-effect") == [
        ("warning", "no placement of agent chooses c3: the add-on is not installed there")
    ]
    # Where a placement chooses, what the hub made is what runs, and adds nothing.
    made = fleet(addon(placed(entry("eu", "eu"))), installed("c1"))
    assert (addons(made), said(made, "no-effect")) == ({"c1": ["eu"], "c2": ["eu"]}, [])


@pytest.mark.rule("R1-18")
@pytest.mark.parametrize("strategy", [placed(entry("missing")), "{type: Placements}"])
def test_without_a_placement_there_is_no_addon(strategy: str) -> None:
    read = fleet(addon(strategy), installed("c3"))
    assert (read.findings.errors, addons(read)) == ((), {})
    assert len(said(read, "no-effect")) == 1


@pytest.mark.rule("R1-18")
@pytest.mark.parametrize(("lifecycle", "found"), [("self", ["c3"]), ("addon-manager", ["c1", "c2"])])
def test_an_addon_that_manages_itself_is_left_alone(lifecycle: str, found: list[str]) -> None:
    annotated = f"name: agent, annotations: {{{ADDON}/lifecycle: {lifecycle}}}}}"
    read = fleet(addon(placed(entry("eu"))).replace("name: agent}", annotated), installed("c3"))
    assert (read.findings.errors, sorted(addons(read))) == ((), found)


@pytest.mark.rule("S62")
def test_an_addon_on_a_cluster_that_is_not_there_is_reported() -> None:
    read = fleet(addon("{type: Manual}"), installed("c33"))
    assert addons(read) == {}
    (found,) = [each for each in read.findings.all if each.code == "unknown-name"]
    assert (found.message, found.hint, found.path) == (
        "there is no cluster c33 here",
        "did you mean c3?",
        "metadata.namespace",
    )


def test_an_addon_that_nobody_offers_is_called_by_its_kind() -> None:
    read = fleet(installed("c1"))
    (found,) = [each for each in read.findings.all if each.code == "missing-reference"]
    assert (found.message, found.hint) == (
        "there is no ClusterManagementAddOn agent",
        "add the ClusterManagementAddOn to the input",
    )


@pytest.mark.rule("S62")
def test_a_native_plugin_beside_a_preset_that_does_not_select_its_cluster_is_reported() -> None:
    preset = "{clusterSelector: {clusterNames: [a]}, plugin: {pluginDefinition: web}}"
    beside = native("Plugin", "web-b", "{presetRef: {name: web}, clusterName: b, optionValues: {count: 3}}")
    read = fleet_of(documents(NATIVE, native("PluginPreset", "web", preset), beside))
    assert said(read, "no-effect") == [("warning", "preset web does not select b: the Plugin has no effect")]
    assert [each.path for each in read.findings.all if each.code == "no-effect"] == ["spec.clusterName"]


@pytest.mark.rule("R1-14", "S33")
def test_the_config_that_counts_becomes_the_addons_values() -> None:
    read = fleet(addon(placed(entry("all", "all"), entry("eu", "eu"))))
    items = {
        item["spec"]["clusterName"]: item["status"]["values"] for item in get(read, EVERYWHERE, "plugins")["items"]
    }
    assert items == {"c1": {"LEVEL": "debug"}, "c2": {"LEVEL": "debug"}, "c3": {"LEVEL": "warn"}}


ODD = "{group: example.com, resource: odds, namespace: ops, name: x}"
AN_ODD = "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: x, namespace: ops}\nspec: {a: 1}\n"


@pytest.mark.rule("R1-13")
def test_a_type_that_the_addon_does_not_name_is_listed_all_the_same() -> None:
    read = fleet(addon(placed(f"{{name: eu, namespace: ops, configs: [{ODD}]}}")), AN_ODD)
    assert addons(read) == {"c1": ["default", "x"], "c2": ["default", "x"]}
    (item, *_) = get(read, EVERYWHERE, "addons")["items"]
    assert [each["type"] for each in item["status"]["conditions"]] == ["Configured"]
    assert (read.findings.errors, said(read, "unsupported-config")) == ((), [])


def test_a_config_may_lie_in_any_namespace_and_is_in_none_where_none_is_named() -> None:
    names = [f"{{{home}group: example.com, resource: odds, name: x}}" for home in ("", "namespace: elsewhere, ")]
    odds = [AN_ODD.replace(", namespace: ops", home) for home in ("", ", namespace: elsewhere")]
    read = fleet(addon("{type: Manual}"), *odds, installed("c1", names[0]), installed("c2", names[1]))
    assert (read.findings.errors, addons(read)) == ((), {"c1": ["default", "x"], "c2": ["default", "x"]})
    found = {key[1]: each.configs.effective[-1] for key, each in read.decisions.plugins.items()}
    assert {name: (each.identity[2], each.config is not None) for name, each in found.items()} == {
        "c1": ("", True),
        "c2": ("elsewhere", True),
    }


@pytest.mark.rule("R1-13")
def test_a_type_that_the_addons_own_status_does_not_list_is_a_condition() -> None:
    status = f"status: {{supportedConfigs: [{{group: {ADDON}, resource: addondeploymentconfigs}}]}}\n"
    read = fleet(addon("{type: Manual}"), AN_ODD, installed("c1", ODD) + status, installed("c2", ODD))
    assert addons(read) == {"c1": ["default", "x"], "c2": ["default", "x"]}
    items = {each["metadata"]["namespace"]: each for each in get(read, EVERYWHERE, "addons")["items"]}
    conditions = {name: [each["type"] for each in item["status"]["conditions"]] for name, item in items.items()}
    assert conditions == {"c1": ["UnsupportedConfiguration", "Configured"], "c2": ["Configured"]}
    message = "the add-on says that it takes no config of type odds.example.com"
    assert said(read, "unsupported-config") == [("warning", message)]


def test_a_placement_chooses_from_sets_that_are_bound_to_its_namespace() -> None:
    unbound = fleet_of({"all.yaml": documents(CLUSTERS, CONFIGS, ALL, addon(placed(entry("all"))))})
    assert addons(unbound) == {}


@pytest.mark.rule("B32")
def test_selection_has_memory_of_decisions_and_of_a_state() -> None:
    two = placement("two", "{numberOfClusters: 1}")
    decision = (
        f"apiVersion: {CLUSTER}/v1beta1\nkind: PlacementDecision\n"
        f"metadata: {{name: two-1, namespace: ops, labels: {{{CLUSTER}/placement: two}}}}\n"
        "status: {decisions: [{clusterName: c3}]}\n"
    )
    wanted = addon(placed(entry("two")))
    assert sorted(addons(fleet(two, wanted))) == ["c1"]
    assert sorted(addons(fleet(two, wanted, decision))) == ["c3"]
    state = KnownState(placements={Ref("Placement", "default", "ops/two"): ["c2"]})
    assert sorted(addons(fleet(two, wanted, decision, state=state))) == ["c2"]


def test_balance_counts_all_decisions_in_the_input() -> None:
    def decision(name: str, label: str, cluster: str) -> str:
        return (
            f"apiVersion: {CLUSTER}/v1beta1\nkind: PlacementDecision\n"
            f"metadata: {{name: {name}, namespace: ops, labels: {{{label}}}}}\n"
            f"status: {{decisions: [{{clusterName: {cluster}}}]}}\n"
        )

    one, wanted = placement("one", "{numberOfClusters: 1}"), addon(placed(entry("one")))
    # The placements that chose c1 are not in the input; one decision does not even say whose it is.
    elsewhere = decision("d1", f"{CLUSTER}/placement: elsewhere", "c1")
    nobodys = decision("d2", "", "c2")
    assert sorted(addons(fleet(one, wanted))) == ["c1"]
    assert sorted(addons(fleet(one, wanted, elsewhere))) == ["c2"]
    assert sorted(addons(fleet(one, wanted, elsewhere, nobodys))) == ["c3"]


@pytest.mark.rule("S32")
def test_decision_groups_by_claim_keep_the_canary_apart() -> None:
    claims = "status: {clusterClaims: [{name: channel, value: fast}]}\n"
    groups = (
        "{decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: canary, groupClusterSelector:"
        " {claimSelector: {matchExpressions: [{key: channel, operator: In, values: [fast]}]}}}]}}}"
    )
    read = fleet(placement("grouped", groups), cluster("c4", more=claims))
    (item,) = [each for each in get(read, EVERYWHERE, "placements")["items"] if each["metadata"]["name"] == "grouped"]
    found = [(each["decisionGroupName"], each["clusters"]) for each in item["status"]["decisionGroups"]]
    assert found == [("canary", ["c4"]), ("", ["c1", "c2", "c3"])]


@pytest.mark.rule("S32")
def test_placements_show_their_groups_and_why_others_are_not_chosen() -> None:
    groups = (
        "{predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}}],"
        " decisionStrategy: {groupStrategy: {decisionGroups:"
        " [{groupName: first, groupClusterSelector: {labelSelector: {matchLabels: {first: 'yes'}}}}]}}}"
    )
    read = fleet(placement("grouped", groups), cluster("c4", "region: eu, first: 'yes'"))
    (item,) = [each for each in get(read, EVERYWHERE, "placements")["items"] if each["metadata"]["name"] == "grouped"]
    found = [(each["decisionGroupName"], each["clusters"]) for each in item["status"]["decisionGroups"]]
    assert found == [("first", ["c4"]), ("", ["c1", "c2"])]
    (other,) = item["status"]["notSelected"]
    assert (other["clusters"], "region" in other["reason"]) == (["c3"], True)


def native(kind: str, name: str, spec: str) -> str:
    return (
        f"apiVersion: fleetform.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: acme,"
        f" labels: {{zone: {name}}}}}\nspec: {spec}\n"
    )


NATIVE = documents(
    *(native("Cluster", name, "{}") for name in ("a", "b", "c")),
    native(
        "PluginDefinition",
        "web",
        "{version: 1.0.0, source: {manifests: {path: ./m}}, options: [{name: count, type: int}]}",
    ),
    native("Placement", "two", "{numberOfClusters: 2}"),
    native("Placement", "one", "{numberOfClusters: 1}"),
)


def clusters_of(read: Fleet) -> dict[str, Any]:
    return {key[1]: plugin.options["count"].value for key, plugin in read.decisions.plugins.items()}


def test_native_presets_and_groups_take_placements_too() -> None:
    preset = (
        "{placement: {name: two}, plugin: {pluginDefinition: web, optionValues: {count: 1}},"
        " groups: [{name: first, placement: {name: one}, optionValues: {count: 2}}]}"
    )
    read = fleet_of(documents(NATIVE, native("PluginPreset", "web", preset)))
    assert (read.findings.errors, clusters_of(read)) == ((), {"a": 2, "b": 1})


def test_a_placement_that_is_not_there_warns_and_chooses_nothing() -> None:
    preset = "{placement: {name: tow}, plugin: {pluginDefinition: web}}"
    read = fleet_of(documents(NATIVE, native("PluginPreset", "web", preset)))
    assert read.decisions.plugins == {}
    assert [(each.code, each.hint) for each in read.findings.all if each.code == "missing-reference"] == [
        ("missing-reference", "did you mean two?")
    ]


@pytest.mark.parametrize(
    ("spec", "code", "path"),
    [
        (
            "{predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: a, operator: In}]}}}]}",
            "bad-selector",
            "spec.predicates[0].requiredClusterSelector.labelSelector.matchExpressions[0]",
        ),
        (
            "{predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['cluster.']}}}]}",
            "bad-expression",
            "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]",
        ),
        ("{tolerations: [{operator: Equal}]}", "bad-value", "spec.tolerations[0]"),
        (
            "{prioritizers: [{scoreCoordinate: {builtIn: Steadi}}]}",
            "bad-value",
            "spec.prioritizers[0].scoreCoordinate.builtIn",
        ),
        ("{prioritizers: [{scoreCoordinate: {type: AddOn}}]}", "missing-field", "spec.prioritizers[0].scoreCoordinate"),
    ],
)
def test_a_placement_that_cannot_mean_what_it_says_is_an_error_at_its_place(spec: str, code: str, path: str) -> None:
    read = fleet_of(documents(NATIVE, native("Placement", "odd", spec)))
    assert [(each.code, each.path) for each in read.findings.errors] == [(code, path)]


@pytest.mark.parametrize("odd", ["labels: foo", "labels: {}"])
@pytest.mark.parametrize("status", ["[1]", "{decisions: 3}", "{decisions: [1, {clusterName: [x]}]}"])
def test_a_decision_of_an_odd_shape_is_no_memory(odd: str, status: str) -> None:
    decision = (
        f"apiVersion: {CLUSTER}/v1beta1\nkind: PlacementDecision\nmetadata: {{name: d, namespace: ops, {odd}}}\n"
        f"status: {status}\n"
    )
    assert sorted(addons(fleet(addon(placed(entry("eu"))), decision))) == ["c1", "c2"]


def test_addons_whose_names_join_to_the_same_text_are_two() -> None:
    two = addon("{type: Manual}") + "---\n" + addon("{type: Manual}").replace("name: agent}", "name: agent-c}")
    clusters = documents(cluster("c-x"), cluster("x"))
    one, other = installed("c-x"), installed("x").replace("name: agent,", "name: agent-c,")
    read = fleet(two, clusters, one, other)
    assert (read.findings.errors, sorted(addons(read))) == ((), ["c-x", "x"])


# ---- AddOnTemplates

TEMPLATES = f"{{group: {ADDON}, resource: addontemplates, defaultConfig: {{name: agent-1}}}}"
TEMPLATED = addon(placed(entry("eu"))).replace("supportedConfigs: [", f"supportedConfigs: [{TEMPLATES}, ")


def template(name: str, text: str) -> str:
    manifest = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: x}}, data: {{level: '{text}'}}}}"
    return (
        f"apiVersion: {ADDON}/v1alpha1\nkind: AddOnTemplate\nmetadata: {{name: {name}}}\n"
        f"spec: {{addonName: agent, agentSpec: {{workload: {{manifests: [{manifest}]}}}}}}\n"
    )


def rendered(read: Fleet, folder: Path) -> dict[str, list[dict[str, Any]]]:
    made = render_plugins(read, read.decisions.plugins.values(), Renderers(str(folder)))
    assert [each.blocked for each in made if each.blocked] == []
    return {each.plugin.cluster.ref.name: list(each.objects) for each in made}


@pytest.mark.rule("R1-14", "S33")
def test_an_addon_with_a_template_is_rendered_with_the_values_of_its_configs(tmp_path: Path) -> None:
    read = fleet(TEMPLATED, template("agent-1", "{{LEVEL}} on {{CLUSTER_NAME}}"))
    assert read.findings.errors == ()
    assert {name: objects[0]["data"] for name, objects in rendered(read, tmp_path).items()} == {
        "c1": {"level": "info on c1"},
        "c2": {"level": "info on c2"},
    }
    # The hub fills in the namespace that the deployment config leaves out.
    assert rendered(read, tmp_path)["c1"][0]["metadata"]["namespace"] == "open-cluster-management-agent-addon"


@pytest.mark.rule("R1-8")
def test_of_several_templates_the_one_that_goes_over_the_others_is_rendered(tmp_path: Path) -> None:
    own = installed("c1", f"{{group: {ADDON}, resource: addontemplates, name: agent-2}}")
    read = fleet(TEMPLATED, template("agent-1", "one"), template("agent-2", "two"), own)
    levels = {name: objects[0]["data"]["level"] for name, objects in rendered(read, tmp_path).items()}
    assert levels == {"c1": "two", "c2": "one"}


def test_a_variable_of_a_template_without_a_value_is_reported_where_it_stands() -> None:
    read = fleet(TEMPLATED, template("agent-1", "{{LEVEL}}{{ LEVEL }}{{MODE}}{{HUB_KUBECONFIG}}{{INSTALL_NAMESPACE}}"))
    found = [(each.message, each.hint, each.path) for each in read.findings.all if each.code == "unbound"]
    nothing, place = "has no value on c1, c2: nothing comes in its place", "spec.agentSpec.workload.manifests[0]"
    wanted = "add {} to customizedVariables of an AddOnDeploymentConfig"
    assert found == [
        (f"{{{{ LEVEL }}}} {nothing}", "write {{LEVEL}}: blanks are a part of the name", place),
        (f"{{{{HUB_KUBECONFIG}}}} {nothing}", wanted.format("HUB_KUBECONFIG"), place),
        (f"{{{{MODE}}}} {nothing}", wanted.format("MODE"), place),
    ]


def test_where_a_deployment_config_has_an_addon_installed_is_shown() -> None:
    moved = config("default", "info").replace("spec: {", "spec: {agentInstallNamespace: elsewhere, ")
    read = fleet_of({"all.yaml": documents(SETS, CLUSTERS, moved, ALL, addon(placed(entry("all"))))})
    items = get(read, EVERYWHERE, "addons")["items"]
    assert {each["spec"]["installNamespace"] for each in items} == {"elsewhere"}


@pytest.mark.rule("S10")
def test_an_add_on_that_is_written_twice_is_one_finding_in_its_own_words() -> None:
    texts = {"a.yaml": addon(placed(entry("all"))), "b.yaml": addon("{type: Manual}")}
    own = documents(installed("c1"), installed("c1", f"{{{DEPLOYMENT}, name: own}}"))
    found = validate(fleet_of({"all.yaml": documents(SETS, CLUSTERS, CONFIGS, ALL, own), **texts})).diagnostics
    assert [(each.severity, each.message) for each in found if each.code == "duplicate-object"] == [
        ("error", "ManagedClusterAddOn c1/agent is written twice, with two contents"),
        ("error", "ClusterManagementAddOn agent is written twice, with two contents"),
    ]


def test_an_addon_of_a_cluster_that_is_not_there_is_not_in_the_way_of_an_edit() -> None:
    manual = addon("{type: Manual}")
    before = fleet(manual, installed("c1"), installed("gone"))
    after = fleet(manual.replace("name: default", "name: all"), installed("gone"))
    again = decide(after.snapshot, before.decisions)
    assert list(again.plugins) == list(after.decisions.plugins) == []
