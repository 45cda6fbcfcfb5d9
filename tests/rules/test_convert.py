"""What convert writes validates natively, and decides what was decided before: values, versions, configs, clusters."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.app.convert import convert
from fleetform.app.fleet import Fleet
from fleetform.syntax.yaml_out import write_documents
from properties.strategies import examples
from rules import test_fleeet as fleeet
from rules import test_ocm as ocm
from support.fleets import documents, fleet_of

ROOT = Path(__file__).parents[2]


def converted(fleet: Fleet) -> Fleet:
    """The fleet that the native files make, beside what stays as it is."""
    files = {each.path: each.text() for each in convert(fleet).files}
    stays = [each.content for each in fleet.snapshot.objects if each.content and each.dialect != "ocm"]
    return fleet_of({**files, "stays.yaml": write_documents(stays)} if stays else files)


def decided(fleet: Fleet) -> dict[tuple[str, str], object]:
    """By cluster and definition: the version, values, variables, configs by their content, and the release."""
    found: dict[tuple[str, str], object] = {}
    for plugin in fleet.decisions.plugins.values():
        configs = [(*each.type, each.spec_hash) for each in plugin.configs.effective]
        target = plugin.target
        release = (target.release_name, target.release_namespace)
        values, variables = fleet.inputs.values(plugin), fleet.inputs.substituted(plugin)
        found[plugin.cluster.ref.name, target.definition] = (plugin.version, values, variables, configs, release)
    return found


def holds(fleet: Fleet) -> None:
    assert fleet.findings.errors == ()
    after = converted(fleet)
    assert [(each.code, each.message) for each in after.findings.errors] == []
    assert decided(after) == decided(fleet)


# ---- Open Cluster Management

ADDONS = [
    ocm.addon("{type: Manual}"),
    ocm.addon(ocm.placed(ocm.entry("eu", "eu"))),
    ocm.addon(ocm.placed(ocm.entry("all", "all"), ocm.entry("eu"))),
    ocm.addon(ocm.placed(ocm.entry("eu"), ocm.entry("all", "all")), "v1beta1"),
    ocm.addon(ocm.placed(f"{{name: all, namespace: ops, configs: [{ocm.ODD}]}}", ocm.entry("eu", "eu"))),
    ocm.addon(ocm.placed(ocm.entry("missing"), ocm.entry("eu"), ocm.entry("eu", "own"))),
    ocm.addon("{type: Placements}"),
]
INSTALLED = [
    ocm.installed("c1"),
    ocm.installed("c2", f"{{{ocm.DEPLOYMENT}, name: own}}"),
    ocm.installed("c3", ocm.ODD),
    ocm.installed("gone", f"{{{ocm.DEPLOYMENT}, name: missing}}"),
]


@given(st.sampled_from(ADDONS), st.lists(st.sampled_from(INSTALLED), unique=True), st.booleans())
@examples(40)
def test_addons_of_any_kind_are_decided_as_before(addon: str, installed: list[str], with_odd: bool) -> None:
    holds(ocm.fleet(addon, *installed, *([ocm.AN_ODD] if with_odd else [])))


def test_configs_out_of_reach_are_copied_and_their_new_names_are_told() -> None:
    fleet = ocm.fleet(ADDONS[1])
    files, lost = convert(fleet)
    copies = {each.path: each.tree["metadata"] for each in files if "/configs/" in each.path}
    assert copies == {
        f"default/configs/addondeploymentconfigs-ops-{name}.yaml": {"name": f"ops-{name}", "namespace": "default"}
        for name in ("default", "eu")
    }
    told = [each.message for each in lost if "copies" in each.message]
    message = "native manifests cannot name its configs ops/{}: copies are written"
    assert told == [message.format("default"), message.format("eu")]


def test_an_addon_that_the_hub_made_is_not_written_down() -> None:
    kinds = [each.tree["kind"] for each in convert(ocm.fleet(ADDONS[1], INSTALLED[0])).files]
    assert "Plugin" not in kinds


# ---- Fleeet

MODULES = [
    fleeet.module("app", "a", more=fleeet.HOST),
    fleeet.module("app", "b", more=fleeet.HOST),
    fleeet.module("web", "a", "{matchLabels: {env: prod}}", more=fleeet.HOST),
    fleeet.module("boot", kind="BootstrapModule", more=fleeet.HOST),
]
CLUSTERS = [
    fleeet.cluster("one", "a"),
    fleeet.cluster("two", "b"),
    fleeet.cluster("three"),
    fleeet.cluster("four", "a", "env: lab"),
]


@given(st.lists(st.sampled_from(MODULES), unique=True, min_size=1), st.lists(st.sampled_from(CLUSTERS), unique=True))
@examples(40)
def test_modules_of_any_kind_are_decided_as_before(modules: list[str], clusters: list[str]) -> None:
    holds(fleet_of(documents(*modules, *clusters)))


def test_an_assemblage_is_decided_as_before() -> None:
    holds(fleet_of(fleeet.ASSEMBLAGE))


# ---- Examples of the project, and what cannot be native


@pytest.mark.parametrize("folder", ["seed-1/ocm", "seed-1/template", "seed-3/fleeet"])
def test_the_examples_are_decided_as_before(folder: str) -> None:
    files = sorted((ROOT / "examples" / folder).glob("*.yaml"))
    holds(fleet_of({each.name: each.read_text(encoding="utf-8") for each in files}))


GREENHOUSE = """\
apiVersion: greenhouse.sap/v1alpha1
kind: Cluster
metadata: {name: eu-1, namespace: acme}
---
apiVersion: greenhouse.sap/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: 1.0.0
  helmChart: {name: web-chart, repository: oci://example.com/charts, version: 1.0.0}
  options:
  - {name: replicas, type: int, default: 1}
"""
PRESET = """\
apiVersion: greenhouse.sap/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {matchLabels: {none: such}}
  plugin: {pluginDefinition: DEFINITION, optionValues: [{name: replicas, value: 2}]}
"""
PLUGIN = """\
apiVersion: greenhouse.sap/v1alpha1
kind: Plugin
metadata: {name: own, namespace: acme}
spec:
  pluginDefinition: web
  WHERE
  optionValues: [{name: extra.depth, value: 3}]
"""


def test_options_that_nobody_declares_are_declared_so_that_values_pass() -> None:
    holds(fleet_of(documents(GREENHOUSE, PLUGIN.replace("WHERE", "clusterName: eu-1"))))


def test_a_plugin_without_a_cluster_is_not_written_and_that_is_told() -> None:
    fleet = fleet_of(documents(GREENHOUSE, PLUGIN.replace("  WHERE\n", "")))
    files, lost = convert(fleet)
    assert [each.tree["kind"] for each in files] == ["Cluster", "PluginDefinition"]
    told = [each.message for each in lost if "is not written" in each.message]
    assert told == ["Plugin own is not written: natively it would be wrong, for a Plugin needs the field clusterName"]
    holds(fleet)


def test_a_release_is_named_after_its_chart_also_where_no_cluster_has_it() -> None:
    (preset,) = [
        each.whole["spec"]["plugin"]
        for each in convert(fleet_of(documents(GREENHOUSE, PRESET.replace("DEFINITION", "web")))).files
        if each.tree["kind"] == "PluginPreset"
    ]
    assert (preset["releaseName"], preset["releaseNamespace"]) == ("web-chart", "acme")


def test_a_release_name_that_cannot_be_known_is_not_guessed_but_told() -> None:
    files, lost = convert(fleet_of(documents(GREENHOUSE, PRESET.replace("DEFINITION", "gone"))))
    (preset,) = [each.whole["spec"]["plugin"] for each in files if each.tree["kind"] == "PluginPreset"]
    assert "releaseName" not in preset
    assert [each.message for each in lost if "releases" in each.message] == [
        "what its releases are called is not written: it is named after its chart, and there is no definition gone"
    ]


def test_every_addon_that_loses_something_is_told() -> None:
    two = ADDONS[1] + "---\n" + ADDONS[2].replace("name: agent}", "name: other}")
    lost = convert(ocm.fleet(two)).losses
    by_name = [each.object.name for each in lost if each.object is not None and "written by name" in each.message]
    assert by_name == ["agent", "other"]
