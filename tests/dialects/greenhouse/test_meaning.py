"""Manifests of Greenhouse mean here what its own controllers and webhooks make of them."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.greenhouse.test_greenhouse import CLUSTERS, DEFINITION, PRESET
from fleetform.app.explain import explain
from fleetform.app.fleet import Fleet
from fleetform.model.results.decisions import PluginDecision
from support.fleets import documents, fleet_of


def fleet(preset: str = PRESET, *more: str, definition: str = DEFINITION, clusters: str = CLUSTERS) -> Fleet:
    return fleet_of(documents(clusters, definition, preset, *more))


def on(found: Fleet, cluster: str = "eu-1", name: str = "perses") -> PluginDecision:
    return found.decisions.plugins["acme", cluster, f"{name}-{cluster}"]


def worst(found: Fleet) -> list[tuple[str, str]]:
    """Errors and warnings."""
    return [(each.code, each.severity) for each in found.findings.all if each.severity != "info"]


def with_value(item: str) -> str:
    return PRESET.replace("{name: perses.replicas, value: 2}", item)


PLUGIN = """
apiVersion: greenhouse.sap/v1alpha1
kind: Plugin
metadata: {name: mine, namespace: acme}
spec:
  pluginDefinitionRef: {kind: ClusterPluginDefinition, name: perses}
  clusterName: eu-1
  releaseName: mine
  optionValues: [{name: perses.host, value: a.example}]
"""


# ---- Definitions


@pytest.mark.parametrize("kind", ["kind: PluginDefinition, ", ""])
def test_a_reference_without_the_cluster_wide_kind_means_the_organizations_own(kind: str) -> None:
    preset = PRESET.replace("kind: ClusterPluginDefinition, ", kind)
    found = fleet(preset)
    assert [gate.gate for gate in on(found).gates] == ["version"]
    (missing,) = [each for each in found.findings.all if each.code == "missing-definition"]
    assert missing.hint.endswith("write kind: ClusterPluginDefinition")
    own = DEFINITION.replace("ClusterPluginDefinition", "PluginDefinition").replace(
        "{name: perses}", "{name: perses, namespace: acme}"
    )
    assert on(fleet(preset, own.replace("0.9.0", "9.0.0"))).version == "9.0.0"
    (missing,) = [each for each in fleet(definition=own).findings.all if each.code == "missing-definition"]
    assert missing.hint == "there is a PluginDefinition of that name: write kind: PluginDefinition"


def test_the_older_spelling_finds_either() -> None:
    preset = PRESET.replace(
        "pluginDefinitionRef: {kind: ClusterPluginDefinition, name: perses}", "pluginDefinition: perses"
    )
    assert on(fleet(preset)).version == "0.9.0"


NEW = "pluginDefinitionRef: {kind: ClusterPluginDefinition, name: perses%s}%s"
PLANNED = "pluginDefinition: {kind: ClusterPluginDefinition, name: perses%s}%s"
BESIDE = "\n    pluginDefinitionVersion: %s"


@pytest.mark.parametrize(
    ("reference", "version"),
    [
        (NEW % ("", ""), "1.1.0"),
        (NEW % (", version: 0.9.0", ""), "0.9.0"),
        (NEW % ("", BESIDE % "0.9.0"), "0.9.0"),
        (NEW % (", version: 1.0.0", BESIDE % "0.9.0"), "1.0.0"),
        (PLANNED % (", version: 0.9.0", ""), "0.9.0"),
        (PLANNED % ("", BESIDE % "0.9.0"), "0.9.0"),
        ("pluginDefinition: perses", "1.1.0"),
        ("pluginDefinition: perses" + BESIDE % "0.9.0", "0.9.0"),
    ],
)
def test_a_version_is_named_in_the_reference_or_else_beside_it(reference: str, version: str) -> None:
    preset = PRESET.replace("pluginDefinitionRef: {kind: ClusterPluginDefinition, name: perses}", reference)
    newer = [DEFINITION.replace("0.9.0", each) for each in ("1.0.0", "1.1.0")]
    assert on(fleet(preset, *newer)).version == version


def test_a_lone_pre_release_is_used_and_a_stable_version_before_it() -> None:
    alpha = DEFINITION.replace("version: 0.9.0\n", "version: 0.9.0-alpha.1\n")
    assert on(fleet(definition=alpha)).version == "0.9.0-alpha.1"
    assert on(fleet(PRESET, alpha.replace("0.9.0-alpha.1", "2.0.0-rc.1"))).version == "0.9.0"


def test_a_chart_without_a_repository_lies_beside_its_definition() -> None:
    text = DEFINITION.replace("repository: oci://example.com/charts", 'repository: ""')
    found = fleet(definition=text)
    assert worst(found) == []
    revision = on(found).target.revision
    assert revision is not None
    source = revision.object.spec.source
    assert source is not None
    assert source.helm is not None
    assert (source.helm.repository, source.helm.chart) == (".", "perses")


@pytest.mark.rule("S54")
def test_odd_option_names_load_with_a_warning_and_options_inside_others_too() -> None:
    odd = "".join(f"  - {{name: {name}, type: string, required: false}}\n" for name in (".Values.k", "perses.labels.a"))
    found = fleet(with_value("{name: .Values.k, value: x}"), definition=DEFINITION + odd)
    assert worst(found) == [("bad-path", "warning"), ("duplicate-option", "warning"), ("bad-path", "warning")]
    assert on(found).gates == ()


# ---- Values


def test_a_fraction_fits_an_int_option_there_and_a_text_does_not() -> None:
    found = fleet(with_value("{name: perses.replicas, value: 2.5}"))
    assert worst(found) == []
    assert on(found, "us-1").options["perses.replicas"].value == 2.5
    assert worst(fleet(with_value("{name: perses.replicas, value: '2'}"))) == [("wrong-type", "error")]


@pytest.mark.parametrize("item", ["{name: perses.replicas}", "{name: perses.replicas, value: null}"])
def test_an_option_without_a_value_is_refused(item: str) -> None:
    assert worst(fleet(with_value(item))) == [("exactly-one", "error")]


def test_a_secret_may_be_kept_in_a_vault_and_plain_text_is_refused() -> None:
    by_vault = PRESET.replace("valueFrom: {secret: {name: s, key: k}}", "value: 'vault+kvv2:///secrets/perses#token'")
    found = fleet(by_vault)
    assert worst(found) == []
    rendered = found.inputs.render_input(on(found))
    assert rendered is not None
    assert rendered.values["perses"]["token"] == "vault+kvv2:///secrets/perses#token"
    assert found.inputs.holds_secrets(on(found)) == []
    plain = PRESET.replace("valueFrom: {secret: {name: s, key: k}}", "value: hunter2")
    assert worst(fleet(plain)) == [("plain-secret", "error")]


def test_an_empty_selector_and_a_repeated_wait_are_refused() -> None:
    empty = PRESET.replace("\n    matchExpressions: [{key: region, operator: In, values: [eu, us]}]", " {}")
    assert worst(fleet(empty)) == [("bad-value", "error")]
    twice = PRESET + "  waitFor: [{pluginRef: {name: a}}, {pluginRef: {pluginPreset: a}}, {pluginRef: {name: a}}]\n"
    assert worst(fleet(twice)) == [("duplicate-object", "error")]


# ---- What Greenhouse adds


def global_values(found: Fleet, cluster: str = "eu-1") -> dict[str, Any]:
    rendered = found.inputs.render_input(on(found, cluster))
    assert rendered is not None
    values: dict[str, Any] = rendered.values["global"]["greenhouse"]
    assert explain(found, on(found, cluster)).values["global"]["greenhouse"] == values
    return values


def test_charts_get_what_greenhouse_adds() -> None:
    labels = CLUSTERS.replace(
        "metadata.greenhouse.sap/region: eu-de-1",
        "metadata.greenhouse.sap/region: eu-de-1, metadata.greenhouse.sap/site.zone: a",
    )
    owned = PRESET.replace(
        "{name: perses, namespace: acme}", "{name: perses, namespace: acme, labels: {greenhouse.sap/owned-by: sre}}"
    )
    assert global_values(fleet(owned, clusters=labels)) == {
        "organizationName": "acme",
        "clusterName": "eu-1",
        "ownedBy": "sre",
        "metadata": {"region": "eu-de-1", "site": {"zone": "a"}},
    }


def test_what_greenhouse_adds_goes_over_what_is_written_and_is_part_of_the_input() -> None:
    found = fleet(with_value("{name: global.greenhouse.clusterName, value: wrong}"))
    assert global_values(found)["clusterName"] == "eu-1"
    before, relabelled = fleet(), fleet(clusters=CLUSTERS.replace("eu-de-1", "eu-de-2"))
    assert relabelled.inputs.parts(on(relabelled)) != before.inputs.parts(on(before))


def test_expressions_read_what_greenhouse_adds_and_one_that_cannot_be_read_blocks() -> None:
    def host(expression: str, *more: str) -> PluginDecision:
        text = f'{{name: perses.host, expression: "{expression}"}}'
        preset = PRESET.replace(
            PRESET[PRESET.index("- name: perses.host") : PRESET.index("    - {name: perses.token")], f"- {text}\n"
        )
        return on(fleet(preset, *more))

    assert host("${has(global.greenhouse.metadata.nope) ? 'a' : 'b'}").options["perses.host"].value == "b"
    for unreadable in (
        "${global.greenhouse.metadata.nope}",
        "${1 +}",
        "${1",
        "${nope}",
        "${global.greenhouse.baseDomain}",
    ):
        blocked = host(unreadable)
        assert [(gate.gate, gate.option) for gate in blocked.gates] == [("value-type", "perses.host")], unreadable
    organization = """
apiVersion: greenhouse.sap/v1alpha1
kind: Organization
metadata: {name: acme, annotations: {fleetform.dev/base-domain: gh.example.com}}
"""
    clusters = CLUSTERS[: CLUSTERS.rindex("---")]
    assert "Organization" not in clusters
    text = PRESET.replace("${global.greenhouse.clusterName}", "${global.greenhouse.baseDomain}")
    found = fleet_of(documents(clusters, organization, DEFINITION, text))
    assert on(found).options["perses.host"].value == "perses.gh.example.com.eu-de-1.example.com"


# ---- Live objects


LIVE = """
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: greenhouse.sap/v1alpha1
  kind: Plugin
  metadata:
    name: perses-eu-1
    namespace: acme
    uid: 8d2
    generation: 3
    creationTimestamp: "2026-01-01T00:00:00Z"
    labels: {greenhouse.sap/pluginpreset: perses, greenhouse.sap/cluster: eu-1}
    ownerReferences: [{apiVersion: greenhouse.sap/v1alpha1, kind: PluginPreset, name: perses, uid: 1, controller: true}]
    managedFields: [{manager: greenhouse, operation: Update}]
    finalizers: [greenhouse.sap/cleanup]
  spec:
    pluginDefinitionRef: {kind: ClusterPluginDefinition, name: perses}
    clusterName: eu-1
    releaseName: perses
    optionValues:
    - {name: perses.host, value: old.example}
    - {name: global.greenhouse.clusterName, value: eu-1}
    - {name: global.greenhouse.baseDomain, value: gh.example.com}
  status: {version: 0.8.0, helmReleaseStatus: {status: deployed}, statusConditions: {conditions: []}}
"""


@pytest.mark.rule("S65")
def test_a_plugin_that_a_preset_made_is_what_runs_and_not_what_someone_wrote() -> None:
    found = fleet(PRESET, LIVE)
    assert worst(found) == []
    assert on(found).options["perses.host"].value == "perses.eu-1.eu-de-1.example.com"
    assert (on(found).running, on(found).version, on(found, "us-1").running) == ("0.8.0", "0.9.0", None)
    assert global_values(found)["baseDomain"] == "gh.example.com"
    assert worst(fleet_of(documents(CLUSTERS, DEFINITION, LIVE))) == [("missing-reference", "warning")]


@pytest.mark.rule("S65")
def test_values_that_greenhouse_wrote_into_a_plugin_are_not_what_someone_wrote() -> None:
    stale = "[{name: global.greenhouse.clusterName, value: stale}, {name"
    found = fleet(PRESET, PLUGIN.replace("[{name", stale))
    assert worst(found) == []
    wrong = fleet_of({"plugin.yaml": PLUGIN.replace("[{name", stale).replace("a.example", "4"), "b.yaml": DEFINITION})
    (error,) = wrong.findings.errors
    assert error.path == "spec.optionValues[1].value"
    plugin = found.decisions.plugins["acme", "eu-1", "mine"]
    assert [name for name in plugin.options if name.startswith("global")] == []
    assert found.inputs.values(plugin)["global"]["greenhouse"]["clusterName"] == "eu-1"


def test_a_plugin_is_suspended_by_its_annotation() -> None:
    text = PLUGIN.replace("namespace: acme}", "namespace: acme, annotations: {greenhouse.sap/suspend: ''}}")
    found = fleet(PRESET, text)
    assert found.decisions.plugins["acme", "eu-1", "mine"].target.owner.spec.suspend is True
    assert fleet(PRESET, PLUGIN).decisions.plugins["acme", "eu-1", "mine"].target.owner.spec.suspend is False


def test_a_cluster_that_is_being_deleted_is_left_alone() -> None:
    going = CLUSTERS.replace("{name: eu-1,", "{name: eu-1, deletionTimestamp: '2026-01-01T00:00:00Z',", 1)
    assert sorted(key[1] for key in fleet(clusters=going).decisions.plugins) == ["us-1"]


@pytest.mark.parametrize("kind", ["TeamRoleBinding", "Team"])
def test_kinds_of_the_second_version_are_noted(kind: str) -> None:
    text = f"apiVersion: greenhouse.sap/v1alpha2\nkind: {kind}\nmetadata: {{name: a, namespace: acme}}\n"
    assert worst(fleet(PRESET, text)) == []


def test_a_converted_preset_still_gets_what_greenhouse_adds() -> None:
    native = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: native, namespace: acme, annotations: {fleetform.dev/injects: greenhouse}}
spec:
  clusterSelector: {clusterNames: [eu-1]}
  plugin:
    pluginDefinition: {name: perses}
    releaseName: native
    optionValues: [{name: perses.host, expression: "global.greenhouse.metadata.region"}]
"""
    found = fleet(PRESET, native)
    assert worst(found) == []
    plugin = on(found, name="native")
    assert plugin.options["perses.host"].value == "eu-de-1"
    assert found.inputs.values(plugin)["global"]["greenhouse"]["clusterName"] == "eu-1"
