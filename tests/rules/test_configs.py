"""Configs of a plugin: three places, three modes, hashes, values, changes."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.configs.combine import plural_of
from fleetform.engine.desired import values_tree
from fleetform.syntax.hashing import spec_hash
from support.answers import diff, explain, get
from support.fleets import CLUSTERS, codes, documents, fleet_of, plugin_on

ACME = Scope("acme")
GROUP = "example.com"


def crd(resource: str) -> str:
    kind = resource.upper()
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"metadata: {{name: {resource}.{GROUP}, namespace: acme}}\n"
        f"spec: {{group: {GROUP}, names: {{kind: {kind}, plural: {resource}}}}}\n"
    )


def config(resource: str, name: str, spec: str = "{}", namespace: str = "acme") -> str:
    return (
        f"apiVersion: {GROUP}/v1\nkind: {resource.upper()}\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {spec}\n"
    )


def ref(resource: str, name: str, more: str = "") -> str:
    return f"{{group: {GROUP}, resource: {resource}, name: {name}{more}}}"


R1 = f"{{group: {GROUP}, resource: r1, default: {{name: n1}}}}"
R2 = f"{{group: {GROUP}, resource: r2}}"
CONFIGS = documents(
    crd("r1"),
    crd("r2"),
    config("r1", "n1", "{level: info}"),
    *(config("r2", f"n{number}", f"{{number: {number}}}") for number in (1, 2, 3)),
)


def definition(configs: str = f"{R1}, {R2}", more: str = "", options: str = "") -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\nmetadata: {name: web, namespace: acme}\n"
        f"spec:\n  version: 1.0.0\n  source: {{manifests: {{path: ./m}}}}\n  configs: [{configs}]\n"
        f"  options: [{options}]\n{more}"
    )


def preset(configs: str = "", more: str = "", values: str = "") -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginPreset\nmetadata: {name: web, namespace: acme}\n"
        f"spec:\n  clusterSelector: {{}}\n{more}  plugin:\n    pluginDefinition: {{name: web}}\n"
        f"    configs: [{configs}]\n    optionValues: [{values}]\n"
    )


def instance(configs: str, cluster: str = "eu-1", values: str = "") -> str:
    return (
        f"apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {{name: web-{cluster}, namespace: acme}}\n"
        f"spec: {{presetRef: {{name: web}}, clusterName: {cluster}, configs: [{configs}], optionValues: [{values}]}}\n"
    )


BOTH = f"{ref('r2', 'n1')}, {ref('r2', 'n2')}"


def fleet(**files: str) -> Fleet:
    base = {"clusters": CLUSTERS, "configs": CONFIGS, "definition": definition(), "preset": preset(BOTH)}
    base["instance"] = instance(ref("r2", "n3"))
    return fleet_of({f"{name}.yaml": text for name, text in {**base, **files}.items() if text})


def listed(fleet: Fleet, cluster: str = "eu-1") -> list[str]:
    return [f"{each.identity[1]}/{each.identity[3]}" for each in plugin_on(fleet, cluster).configs.effective]


def hidden(fleet: Fleet, cluster: str = "eu-1") -> list[tuple[str, str]]:
    found = plugin_on(fleet, cluster).configs.hidden
    return [(f"{each.reference.identity[1]}/{each.reference.identity[3]}", each.reason) for each in found]


# ---- Places and modes


@pytest.mark.rule("R1-1", "R1-2", "R1-4", "R1-5", "R1-19")
def test_by_type_a_later_place_takes_the_place_of_an_earlier_one() -> None:
    read = fleet()
    assert (read.findings.errors, listed(read)) == ((), ["r1/n1", "r2/n3"])
    assert hidden(read) == [("r2/n1", "replaced"), ("r2/n2", "replaced")]
    assert listed(read, "us-1") == ["r1/n1", "r2/n1", "r2/n2"]


@pytest.mark.rule("R1-6", "S4", "S31")
def test_merge_lists_all_the_highest_first() -> None:
    read = fleet(preset=preset(BOTH, "  configMode: Merge\n"))
    assert listed(read) == ["r2/n3", "r2/n2", "r2/n1", "r1/n1"]


@pytest.mark.rule("R1-6")
def test_override_takes_the_last_place_whole() -> None:
    read = fleet(preset=preset(BOTH, "  configMode: Override\n"))
    assert (listed(read), listed(read, "us-1")) == (["r2/n3"], ["r2/n1", "r2/n2"])


@pytest.mark.rule("R1-6")
def test_the_definitions_mode_holds_where_the_preset_chooses_none() -> None:
    merging = definition(more="  configMode: Merge\n")
    assert listed(fleet(definition=merging))[0] == "r2/n3"
    assert listed(fleet(definition=merging, preset=preset(BOTH, "  configMode: Override\n"))) == ["r2/n3"]


@pytest.mark.rule("R1-7")
def test_three_of_a_type_in_the_third_place_are_exactly_these_in_that_order() -> None:
    three = ", ".join(ref("r2", name) for name in ("n1", "n2", "n3"))
    assert listed(fleet(instance=instance(three))) == ["r1/n1", "r2/n1", "r2/n2", "r2/n3"]


@pytest.mark.rule("R1-8")
def test_each_reference_knows_its_place_and_index() -> None:
    read = fleet(preset=preset(BOTH, "  configMode: Merge\n"))
    found = plugin_on(read, "eu-1").configs.effective
    assert [each.fold for each in found] == [(3, 0), (2, 1), (2, 0), (1, 0)]


@pytest.mark.rule("R1-9")
def test_the_same_config_counts_once() -> None:
    twice = f"{ref('r2', 'n1')}, {ref('r2', 'n2')}, {ref('r2', 'n1')}"
    read = fleet(preset=preset(twice), instance="")
    assert (listed(read), hidden(read)) == (["r1/n1", "r2/n1", "r2/n2"], [("r2/n1", "duplicate")])
    assert [(each.code, each.severity) for each in read.findings.all] == [("repeated-value", "warning")]
    merging = fleet(preset=preset(BOTH, "  configMode: Merge\n"), instance=instance(ref("r2", "n1")))
    assert listed(merging) == ["r2/n1", "r2/n2", "r1/n1"]


@pytest.mark.rule("R1-1", "S1")
def test_the_last_group_that_names_a_type_takes_the_place_of_the_presets() -> None:
    groups = (
        "  groups:\n"
        f"  - {{name: eu, clusterSelector: {{matchLabels: {{region: eu}}}}, configs: [{ref('r2', 'n2')}]}}\n"
        f"  - {{name: gold, clusterSelector: {{matchLabels: {{tier: gold}}}}, configs: [{ref('r2', 'n3')}]}}\n"
        f"  - {{name: dev, clusterSelector: {{matchLabels: {{tier: dev}}}}, configs: [{ref('r1', 'n1')}]}}\n"
    )
    read = fleet(preset=preset(ref("r2", "n1"), groups), instance="")
    assert [listed(read, cluster) for cluster in ("eu-1", "eu-2", "us-1")] == [
        ["r1/n1", "r2/n3"],
        ["r1/n1", "r2/n2"],
        ["r1/n1", "r2/n3"],
    ]
    merging = fleet(preset=preset(ref("r2", "n1"), groups + "  configMode: Merge\n"), instance="")
    assert listed(merging) == ["r2/n3", "r2/n1", "r1/n1"]
    # Named by the preset, too, it keeps its group's place.
    both = f"{ref('r2', 'n3')}, {ref('r2', 'n1')}"
    twice = fleet(preset=preset(both, groups + "  configMode: Merge\n"), instance="")
    assert listed(twice) == ["r2/n3", "r2/n1", "r1/n1"]


@pytest.mark.rule("R1-20")
@pytest.mark.parametrize(
    ("place", "files", "expected"),
    [
        (1, {"preset": preset(), "instance": ""}, ["r1/n1"]),
        (2, {"instance": ""}, ["r1/n1", "r2/n1", "r2/n2"]),
        (3, {"preset": preset()}, ["r1/n1", "r2/n3"]),
    ],
)
def test_every_place_reaches_the_plugin(place: int, files: dict[str, str], expected: list[str]) -> None:
    read = fleet(**files)
    assert (read.findings.errors, listed(read)) == ((), expected)
    assert place in {each.place for each in plugin_on(read, "eu-1").configs.effective}


def test_a_plugin_made_by_hand_names_its_configs_in_the_third_place() -> None:
    by_hand = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {name: mine, namespace: acme}\n"
        f"spec: {{pluginDefinition: {{name: web}}, clusterName: eu-1, configs: [{ref('r2', 'n2')}]}}\n"
    )
    read = fleet(preset="", instance=by_hand)
    found = read.decisions.plugins["acme", "eu-1", "mine"].configs.effective
    assert [(each.identity[3], each.place) for each in found] == [("n1", 1), ("n2", 3)]


# ---- What is wrong


@pytest.mark.rule("R1-3")
def test_a_second_default_of_a_type_is_refused() -> None:
    twice = f"{R1}, {{group: {GROUP}, resource: r1, default: {{name: n2}}}}"
    read = fleet(definition=definition(f"{twice}, {R2}"))
    assert [(each.code, each.path) for each in read.findings.errors] == [("duplicate-object", "spec.configs[1]")]


@pytest.mark.rule("R1-13")
def test_a_type_that_the_definition_does_not_take_is_refused_and_suggests_the_nearest() -> None:
    read = fleet(preset=preset(ref("r22", "n1")), instance="")
    (found,) = read.findings.errors
    assert (found.code, found.hint) == ("unsupported-config", "did you mean r2.example.com?")
    assert hidden(read) == [("r22/n1", "not-supported")]


@pytest.mark.rule("R1-12")
def test_a_config_that_does_not_exist_blocks_that_plugin_alone_by_name() -> None:
    read = fleet(instance=instance(ref("r2", "n9")))
    found = {plugin.cluster.ref.name: plugin for plugin in read.decisions.plugins.values()}
    assert [(gate.gate, "n9" in gate.message) for gate in found["eu-1"].blocked_by] == [("config-missing", True)]
    assert [each.spec_hash for each in found["eu-1"].configs.effective if each.identity[3] == "n9"] == [""]
    assert found["us-1"].blocked_by == ()
    assert "missing-reference" in [each.code for each in read.findings.all]


@pytest.mark.rule("B15", "S31")
def test_a_config_of_another_organization_is_out_of_reach_and_nothing_of_it_shows() -> None:
    theirs = config("r2", "theirs", "{password: hunter2}", namespace="globex")
    read = fleet(theirs=theirs, preset=preset(ref("r2", "theirs", ", namespace: globex")), instance="")
    assert [each.code for each in read.findings.errors] == ["out-of-reach"]
    reference = plugin_on(read, "eu-1").configs.effective[-1]
    assert (reference.config, reference.spec_hash) == (None, "")
    platform = config("r2", "ours", namespace="fleetform-system")
    shared = fleet(ours=platform, preset=preset(ref("r2", "ours", ", namespace: fleetform-system")), instance="")
    assert (shared.findings.errors, plugin_on(shared, "eu-1").blocked_by) == ((), ())


# ---- Hashes, explain, status


@pytest.mark.rule("R1-10", "R1-11")
def test_status_lists_references_with_the_hash_of_their_content() -> None:
    view = get(fleet(), ACME, "plugins", ["web-eu-1"])["items"][0]["status"]["configReferences"]
    expected = spec_hash({"spec": {"number": 3}})
    assert [each["desiredConfig"]["name"] for each in view] == ["n1", "n3"]
    assert view[1]["desiredConfig"] == {"namespace": "acme", "name": "n3", "specHash": expected}


@pytest.mark.rule("R1-11", "B18")
def test_the_content_of_a_secret_is_not_hashed_without_a_key() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme}\nstringData: {a: hunter2}\n"
    taking = definition("{group: '', resource: secrets}")
    read = fleet(
        secret=secret, definition=taking, preset=preset("{group: '', resource: secrets, name: s}"), instance=""
    )
    assert [each.spec_hash for each in plugin_on(read, "eu-1").configs.effective] == ["unknown"]


@pytest.mark.rule("R1-8")
def test_explain_shows_what_counts_and_what_is_hidden_with_places_and_reasons() -> None:
    read = fleet()
    view = explain(read, plugin_on(read, "eu-1"))
    assert [(each["name"], each["place"], each["index"]) for each in view["configs"]] == [("n1", 1, 0), ("n3", 3, 0)]
    assert [(each["name"], each["reason"]) for each in view["configsHidden"]] == [
        ("n1", "replaced"), ("n2", "replaced"),
    ]  # fmt: skip
    assert view["configs"][1]["from"]["place"]["file"] == "instance.yaml"


@pytest.mark.rule("S31")
@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("ConfigMap", "configmaps"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Gateway", "gateways"),
        ("Mailbox", "mailboxes"),
    ],
)
def test_a_kind_gives_its_resource(kind: str, resource: str) -> None:
    assert plural_of(kind) == resource


# ---- Values


def taking(values: str, more: str = "", options: str = "{name: settings, type: map}") -> str:
    return definition(f"{R1}, {{group: {GROUP}, resource: r2, values: {values}{more}}}", options=options)


def settings(read: Fleet, cluster: str = "eu-1") -> Any:
    return values_tree(plugin_on(read, cluster).options).get("settings")


@pytest.mark.rule("R1-14")
def test_the_last_config_becomes_the_value_and_names_its_object_file_and_line() -> None:
    read = fleet(definition=taking("{from: /spec, to: settings}"))
    assert (settings(read), settings(read, "us-1")) == ({"number": 3}, {"number": 2})
    (option,) = explain(read, plugin_on(read, "eu-1"), "settings")["options"]
    assert (option["winner"]["layer"], option["winner"]["object"]["name"]) == ("config", "n3")
    assert option["winner"]["object"]["place"]["file"] == "configs.yaml"
    assert option["winner"]["object"]["place"]["line"] > 1


@pytest.mark.rule("R1-14", "S31")
def test_all_configs_become_a_list_in_effective_order() -> None:
    read = fleet(definition=taking("{to: settings, use: All}", options="{name: settings, type: list}"))
    assert settings(read, "us-1") == [{"number": 1}, {"number": 2}]
    assert "settings" not in values_tree(
        plugin_on(fleet(definition=taking("{to: settings, use: None}")), "eu-1").options
    )


@pytest.mark.rule("R1-14")
def test_without_a_path_the_values_go_to_the_top_and_need_no_option() -> None:
    read = fleet(definition=taking("{}"))
    assert values_tree(plugin_on(read, "eu-1").options)["number"] == 3


@pytest.mark.rule("R1-14", "B5")
def test_an_explicit_value_of_the_same_place_wins_and_overrides_never_edit_configs() -> None:
    values = "{name: settings.number, value: 40}"
    read = fleet(definition=taking("{to: settings}"), preset=preset(BOTH, values=values), instance="")
    assert settings(read) == {"number": 40}
    # A later place's config goes over an earlier place's value.
    later = fleet(definition=taking("{to: settings}"), preset=preset(BOTH, values=values))
    assert settings(later) == {"number": 3}
    own = fleet(
        definition=taking("{to: settings}"),
        instance=instance(ref("r2", "n3"), values="{name: settings.number, value: 7}"),
    )
    assert settings(own) == {"number": 7}


@pytest.mark.rule("R1-6", "R1-14", "S31")
def test_fields_of_several_configs_merge_in_order_with_provenance_for_each() -> None:
    merging = documents(
        crd("r1"), crd("r2"), config("r1", "n1"),
        config("r2", "n1", "{a: {x: 1, w: 1}, list: [1]}"),
        config("r2", "n2", "{a: {w: 2}, b: 2}"),
        config("r2", "n3", "{a: {z: 3}, list: [3]}"),
    )  # fmt: skip
    read = fleet(configs=merging, definition=taking("{to: settings}", ", mergeFields: true"))
    assert settings(read) == {"a": {"x": 1, "w": 2, "z": 3}, "b": 2, "list": [3]}
    assert listed(read) == ["r1/n1", "r2/n1", "r2/n2", "r2/n3"]
    (option,) = explain(read, plugin_on(read, "eu-1"), "settings")["options"]
    by = {part["inside"]: part["winner"]["object"]["name"] for part in option["parts"]}
    assert (by["a.w"], by["a.z"], by["b"]) == ("n2", "n3", "n2")


@pytest.mark.rule("R1-14", "S33")
def test_an_addon_deployment_config_needs_no_mapping() -> None:
    group, resource = "addon.open-cluster-management.io", "addondeploymentconfigs"
    deployment = f"""
apiVersion: {group}/v1alpha1
kind: AddOnDeploymentConfig
metadata: {{name: deploy, namespace: acme}}
spec:
  customizedVariables: [{{name: LOG_LEVEL, value: debug}}]
  nodePlacement: {{nodeSelector: {{role: infra}}, tolerations: [{{key: infra, operator: Exists}}]}}
  registries: [{{source: quay.io, mirror: mirror.example.com}}]
  proxyConfig: {{httpProxy: "http://proxy.example.com"}}
"""
    read = fleet(
        deploy=deployment,
        definition=definition(f"{{group: {group}, resource: {resource}}}"),
        preset=preset(f"{{group: {group}, resource: {resource}, name: deploy}}"),
        instance="",
    )
    values = values_tree(plugin_on(read, "eu-1").options)
    assert values == {
        "LOG_LEVEL": "debug",
        "nodeSelector": {"role": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "registries": [{"source": "quay.io", "mirror": "mirror.example.com"}],
        "proxyConfig": {"httpProxy": "http://proxy.example.com"},
    }


# ---- Changes


@pytest.mark.rule("R1-15")
@pytest.mark.parametrize(
    ("files", "changes"),
    [
        ({"configs": CONFIGS.replace("number: 1", "number: 10")}, {("n1", "changed")}),
        ({"preset": preset(ref("r2", "n1"))}, {("n2", "removed")}),
        ({"preset": preset(f"{BOTH}, {ref('r2', 'n3')}")}, {("n3", "added")}),
        ({"preset": preset(f"{ref('r2', 'n2')}, {ref('r2', 'n1')}")}, {("n1", "moved"), ("n2", "moved")}),
        ({"configs": CONFIGS.replace("{name: n1, namespace", "{name: n1, labels: {a: b}, namespace")}, set()),
    ],
)
def test_a_change_of_content_set_or_order_is_named(files: dict[str, str], changes: set[tuple[str, str]]) -> None:
    view = diff(fleet(instance=""), fleet(instance="", **files), ACME)
    on_us = [change for change in view["changes"] if change["cluster"] == "us-1"]
    assert {(each["name"], each["change"]) for change in on_us for each in change["configs"]} == changes
    assert bool(on_us) == bool(changes)


# ---- Secrets, namespaces


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme}\nstringData: {password: hunter2}\n"


@pytest.mark.rule("B18", "S5")
@pytest.mark.parametrize("use", ["Last", "All", "None"])
def test_a_secret_as_config_shows_nothing_of_its_content(use: str) -> None:
    taking = definition(f"{{group: '', resource: secrets, values: {{from: /stringData, to: creds, use: {use}}}}}")
    read = fleet(
        secret=SECRET, definition=taking, preset=preset("{group: '', resource: secrets, name: s}"), instance=""
    )
    view = explain(read, plugin_on(read, "eu-1"))
    assert "hunter2" not in str(view)
    assert view["target"]["inputHash"] is None
    assert [each.code for each in read.findings.errors] == (["bad-value"] if use == "All" else [])


def test_a_config_without_a_namespace_lies_in_its_organization() -> None:
    bare = f"apiVersion: {GROUP}/v1\nkind: R2\nmetadata: {{name: n3}}\nspec: {{number: 3}}\n"
    others = CONFIGS.replace(config("r2", "n3", "{number: 3}"), "").rstrip("-\n") + "\n"
    files = {"configs": others, "bare": bare}
    base = {"clusters": CLUSTERS, "definition": definition(), "preset": preset(ref("r2", "n3"))}
    texts = {
        f"{name}.yaml": text.replace("namespace: acme", "namespace: default")
        for name, text in {**base, **files}.items()
    }
    read = fleet_of(texts)
    plugin = read.decisions.plugins["default", "eu-1", "web-eu-1"]
    assert [(each.identity[3], each.config is not None) for each in plugin.configs.effective] == [
        ("n1", True), ("n3", True),
    ]  # fmt: skip


@pytest.mark.rule("R1-14")
def test_one_key_of_a_secret_can_be_meant() -> None:
    taking = definition(
        "{group: '', resource: secrets, values: {from: /stringData/password, to: pw}}",
        options="{name: pw, type: secret}",
    )
    read = fleet(
        secret=SECRET, definition=taking, preset=preset("{group: '', resource: secrets, name: s}"), instance=""
    )
    value = plugin_on(read, "eu-1").options["pw"].value
    assert (read.findings.errors, plugin_on(read, "eu-1").blocked_by, value.ref.key) == ((), (), "password")


@pytest.mark.rule("R1-15", "B18")
def test_other_content_of_a_secret_is_a_change_that_shows_nothing() -> None:
    taking = definition("{group: '', resource: secrets}")
    files = {"definition": taking, "preset": preset("{group: '', resource: secrets, name: s}"), "instance": ""}
    view = diff(fleet(secret=SECRET, **files), fleet(secret=SECRET.replace("hunter2", "hunter3"), **files), ACME)
    assert {each["change"] for change in view["changes"] for each in change["configs"]} == {"changed"}
    assert "hunter" not in str(view)


def test_a_definitions_own_default_that_does_not_exist_is_told() -> None:
    missing = definition(f"{{group: {GROUP}, resource: r1, default: {{name: n9}}}}, {R2}")
    found = [(each.code, each.path) for each in fleet(definition=missing).findings.all]
    assert ("missing-reference", "spec.configs[0].default") in found


@pytest.mark.parametrize(
    ("configs", "found"),
    [
        ("", ["no-source"]),
        (R1, ["no-source"]),
        ("{group: addon.open-cluster-management.io, resource: addontemplates}", []),
        (f"{R1}, {{group: addon.open-cluster-management.io, resource: addontemplates}}", []),
    ],
)
def test_a_definition_without_a_source_needs_a_template_to_render(configs: str, found: list[str]) -> None:
    text = definition(configs).replace("  source: {manifests: {path: ./m}}\n", "")
    assert [each for each in codes(fleet_of(text)) if each == "no-source"] == found
