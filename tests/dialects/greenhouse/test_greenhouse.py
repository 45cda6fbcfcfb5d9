"""Greenhouse's manifests as they are."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.desired import values_tree
from fleetform.model.objects import Ref
from support.fleets import codes, documents, fleet_of

CLUSTERS = """
apiVersion: greenhouse.sap/v1alpha1
kind: Cluster
metadata: {name: eu-1, namespace: acme, labels: {region: eu, metadata.greenhouse.sap/region: eu-de-1}}
spec: {accessMode: direct}
---
apiVersion: greenhouse.sap/v1alpha1
kind: Cluster
metadata: {name: us-1, namespace: acme, labels: {region: us, metadata.greenhouse.sap/region: us-east-1}}
spec: {accessMode: direct}
---
apiVersion: greenhouse.sap/v1alpha1
kind: Organization
metadata: {name: acme}
spec: {displayName: ACME}
"""
DEFINITION = """
apiVersion: greenhouse.sap/v1alpha1
kind: ClusterPluginDefinition
metadata: {name: perses}
spec:
  version: 0.9.0
  displayName: Perses
  docMarkDownUrl: https://example.com/README.md
  helmChart: {name: perses, repository: oci://example.com/charts, version: 0.9.0}
  options:
  - {name: perses.replicas, type: int, default: 1, required: false}
  - {name: perses.host, type: string, required: true, regex: '^[a-z0-9.-]+$'}
  - {name: perses.labels, type: map, required: false}
  - {name: perses.token, type: secret, default: "", required: false}
"""
PRESET = """
apiVersion: greenhouse.sap/v1alpha1
kind: PluginPreset
metadata: {name: perses, namespace: acme}
spec:
  clusterSelector:
    matchExpressions: [{key: region, operator: In, values: [eu, us]}]
  deletionPolicy: Delete
  plugin:
    pluginDefinitionRef: {kind: ClusterPluginDefinition, name: perses}
    releaseName: perses
    releaseNamespace: kube-monitoring
    optionValues:
    - {name: perses.replicas, value: 2}
    - name: perses.host
      expression: |
        "perses.${global.greenhouse.clusterName}.${global.greenhouse.metadata.region}.example.com"
    - {name: perses.token, valueFrom: {secret: {name: s, key: k}}}
  clusterOptionOverrides:
  - {clusterName: eu-1, overrides: [{name: perses.replicas, value: 3}]}
  - {clusterName: eu-1, overrides: [{name: perses.labels, value: {a: b}}]}
"""


def fleet(*more: str) -> Fleet:
    return fleet_of(documents(CLUSTERS, DEFINITION, PRESET, *more))


def values(fleet: Fleet, cluster: str, plugin: str = "perses") -> dict[str, Any]:
    tree: dict[str, Any] = values_tree(fleet.decisions.plugins["acme", cluster, f"{plugin}-{cluster}"].options)[
        "perses"
    ]
    return tree


def test_definitions_presets_clusters_and_organizations_load_without_errors_or_warnings() -> None:
    assert {each.severity for each in fleet().findings.all} == {"info"}
    assert set(codes(fleet())) == {"foreign-note"}


def test_a_cluster_wide_definition_is_offered_by_the_platform() -> None:
    (found,) = fleet().snapshot.definitions.values()
    assert found.ref == Ref("PluginDefinition", "fleetform-system", "perses")
    assert (found.spec.source.helm.chart, found.spec.docs_url) == ("perses", "https://example.com/README.md")  # type: ignore[union-attr]


def test_values_blocks_and_expressions_mean_what_they_mean_there() -> None:
    assert values(fleet(), "eu-1")["host"] == "perses.eu-1.eu-de-1.example.com"
    assert values(fleet(), "us-1")["host"] == "perses.us-1.us-east-1.example.com"
    assert (values(fleet(), "eu-1")["replicas"], values(fleet(), "us-1")["replicas"]) == (3, 2)


@pytest.mark.rule("R0-13")
def test_a_second_block_of_a_cluster_is_not_lost() -> None:
    assert values(fleet(), "eu-1")["labels"] == {"a": "b"}


def test_a_secret_reference_beside_a_default_is_not_lost() -> None:
    token = values(fleet(), "eu-1")["token"]
    assert (token.ref.name, token.ref.key) == ("s", "k")


@pytest.mark.rule("S14")
def test_an_undeclared_option_warns_and_is_passed_on() -> None:
    found = fleet_of(
        documents(
            CLUSTERS, DEFINITION, PRESET.replace("{name: perses.replicas, value: 2}", "{name: perses.extra, value: 2}")
        )
    )
    assert [(each.code, each.severity) for each in found.findings.all if each.severity != "info"] == [
        ("undeclared-option", "warning")
    ]
    assert values(found, "us-1")["extra"] == 2


def test_unknown_fields_warn_at_their_place_and_are_left_out() -> None:
    found = fleet_of(documents(CLUSTERS, DEFINITION, PRESET.replace("releaseName: perses", "releaseNam: perses")))
    (warning,) = [each for each in found.findings.all if each.severity == "warning"]
    assert (warning.code, warning.path, warning.hint) == (
        "unknown-field",
        "spec.plugin.releaseNam",
        "did you mean releaseName?",
    )
    assert ("acme", "eu-1", "perses-eu-1") in found.decisions.plugins


def test_the_regex_of_an_option_is_enforced() -> None:
    plugin = """
    apiVersion: greenhouse.sap/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec:
      pluginDefinition: perses
      clusterName: eu-1
      releaseName: mine
      optionValues: [{name: perses.host, value: NOT A HOST}]
    """
    assert [each.code for each in fleet(plugin).findings.errors] == ["wrong-type"]


def test_places_point_into_the_manifest_as_it_was_written() -> None:
    text = PRESET.replace("name: perses}\n    releaseName", "name: nothing}\n    releaseName")
    found = fleet_of({"a.yaml": CLUSTERS, "b.yaml": DEFINITION, "preset.yaml": text})
    (missing,) = [each for each in found.findings.all if each.code == "missing-definition"]
    assert missing.at is not None
    place = found.input.locator.place(missing.at)
    assert (place.file, place.line) == ("preset.yaml", 10)


def test_what_has_no_counterpart_is_noted_at_its_place() -> None:
    plugin = """
    apiVersion: greenhouse.sap/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec:
      displayName: Mine
      pluginDefinitionRef: {name: perses}
      clusterName: eu-1
      releaseName: mine
      optionValues:
      - {name: perses.host, value: a.example}
      - {name: perses.labels, valueFrom: {ref: {kind: Plugin, name: other, expression: x}}}
      ignoreDifferences: [{kind: Deployment, paths: [/spec]}]
    """
    notes = [each.path for each in fleet(plugin).findings.all if each.object == Ref("Plugin", "acme", "mine")]
    assert "spec.displayName" in notes
    assert "spec.optionValues[1].valueFrom" in notes
    assert "spec.ignoreDifferences" in notes


@pytest.mark.rule("S8")
@pytest.mark.parametrize(
    ("spec", "noted"),
    [("{}", []), ("{accessMode: direct}", ["spec.accessMode"]), ("{kubeConfig: {}}", ["spec.kubeConfig"])],
)
def test_how_greenhouse_gets_into_a_cluster_is_noted_where_it_is_said(spec: str, noted: list[str]) -> None:
    text = f"apiVersion: greenhouse.sap/v1alpha1\nkind: Cluster\nmetadata: {{name: c, namespace: acme}}\nspec: {spec}\n"
    assert [each.path for each in fleet_of(text).findings.all] == noted


def test_a_release_is_named_after_the_chart_in_the_organizations_namespace() -> None:
    text = PRESET.replace("    releaseName: perses\n    releaseNamespace: kube-monitoring\n", "")
    chart = DEFINITION.replace("helmChart: {name: perses", "helmChart: {name: perses-chart")
    found = fleet_of(documents(CLUSTERS, chart, text)).decisions.plugins["acme", "eu-1", "perses-eu-1"].target
    assert (found.release_name, found.release_namespace) == ("perses-chart", "acme")


def test_a_cluster_wide_definition_is_meant_even_beside_one_of_the_organization() -> None:
    own = DEFINITION.replace("ClusterPluginDefinition", "PluginDefinition").replace(
        "{name: perses}", "{name: perses, namespace: acme}"
    )
    found = fleet(own.replace("0.9.0", "9.0.0")).decisions.plugins["acme", "eu-1", "perses-eu-1"]
    assert found.version == "0.9.0"


@pytest.mark.rule("S62")
def test_a_plugin_without_a_cluster_is_reported_and_left_alone() -> None:
    plugin = """
    apiVersion: greenhouse.sap/v1alpha1
    kind: Plugin
    metadata: {name: central, namespace: acme}
    spec: {pluginDefinitionRef: {name: perses}, optionValues: [{name: perses.host, value: a}]}
    """
    found = fleet(plugin)
    assert found.findings.errors == ()
    assert "no-effect" in [each.code for each in found.findings.all if each.object == Ref("Plugin", "acme", "central")]


CATALOG = """
apiVersion: greenhouse.sap/v1alpha1
kind: Catalog
metadata: {name: extensions, namespace: acme}
spec:
  sources:
  - repository: https://git.example.com/extensions
    ref: {sha: abc, branch: main}
    resources: [perses/plugindefinition.yaml]
    secretName: git
    interval: 24h
    overrides:
    - {name: perses, alias: perses-stable}
    - {name: thanos, repository: oci://mirror.example.com, optionsOverride: [{name: a, value: b}]}
"""


def test_a_catalog_offers_what_stands_at_its_ref_under_its_aliases() -> None:
    read = fleet(CATALOG)
    (catalog,) = [each for each in read.snapshot.others.values() if each.ref.kind == "Catalog"]
    (source,) = catalog.spec.sources
    assert (source.git.url, source.git.ref.commit, source.git.ref.branch, source.git.versions) == (
        "https://git.example.com/extensions", "abc", None, "Head",
    )  # fmt: skip
    assert (source.include, source.interval, source.secret_ref.name) == (["perses/plugindefinition.yaml"], "24h", "git")
    assert [(each.name, each.as_) for each in source.rename] == [("perses", "perses-stable")]
    (override,) = source.overrides
    assert (override.name, override.repository) == ("thanos", "oci://mirror.example.com")
    assert [(each.name, each.value) for each in override.options] == [("a", "b")]
