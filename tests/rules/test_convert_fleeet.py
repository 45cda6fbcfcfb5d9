"""What converting Fleeet's modules loses is told."""

from __future__ import annotations

import pytest

from fleetform.app.convert import convert
from fleetform.app.fleet import Fleet
from support.bound import config_map
from support.fleets import CLUSTERS, fleet_of

READS = "{kind: ConfigMap, name: zone, fieldPath: /data/zone}"
MODULE = """\
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Module
metadata: {name: it, namespace: apps}
spec:
  selector: {}
  controlPlaneBindings: [{name: ZONE, objectFieldRef: REF}]
  sync:
    source: {git: {url: https://git.example.com/it, version: {tag: v1.0.0}}}
    package: {kustomize: {substitute: {ZONE: $(ZONE)}}}
"""
OF_DEFAULT = CLUSTERS.replace("namespace: acme", "namespace: default")


def module(reference: str = READS, namespace: str = "apps", kind: str = "Module") -> Fleet:
    text = MODULE.replace("REF", reference).replace("namespace: apps", f"namespace: {namespace}")
    zones = config_map("zone", namespace, zone="eu")
    return fleet_of({"module.yaml": text.replace("Module", kind), "zones.yaml": zones, "clusters.yaml": OF_DEFAULT})


def told(fleet: Fleet) -> list[str]:
    assert fleet.findings.errors == ()
    return [each.message for each in convert(fleet).losses if "out of reach" in each.message]


@pytest.mark.rule("B31", "R3-30")
@pytest.mark.parametrize("kind", ["Module", "BootstrapModule"])
@pytest.mark.parametrize("reference", [READS, READS.replace("name: zone", "name: zone, namespace: apps")])
def test_a_namespace_that_a_native_preset_cannot_look_into_is_told(reference: str, kind: str) -> None:
    fleet = module(reference, kind=kind)
    assert told(fleet) == ["objects in apps, where its bindings look first, are out of reach of native manifests"]
    [loss] = [each for each in convert(fleet).losses if "out of reach" in each.message]
    assert (loss.code, loss.severity, loss.hint) == ("foreign-note", "info", "move those that it reads to default")
    assert loss.at is not None
    assert fleet.input.locator.place(loss.at).line == 6
    # It is so.
    plugins = fleet.decisions.plugins.values()
    assert [each.unresolved for each in plugins] == [()] * 3
    texts = {each.path: each.text() for each in convert(fleet).files}
    again = fleet_of({**texts, "zones.yaml": config_map("zone", "apps", zone="eu"), "clusters.yaml": OF_DEFAULT})
    assert all(each.unresolved for each in again.decisions.plugins.values())


@pytest.mark.rule("B31")
@pytest.mark.parametrize(
    "fleet",
    [
        module(namespace="default"),
        module("{kind: Cluster, name: $(CLUSTER_NAME), fieldPath: /metadata/name}"),
        module("{kind: ConfigMap, name: zone, namespace: default, fieldPath: /data/zone}"),
    ],
    ids=["in-the-organization", "clusters", "named"],
)
def test_what_stays_in_reach_is_not_told(fleet: Fleet) -> None:
    assert told(fleet) == []


@pytest.mark.rule("B31")
@pytest.mark.parametrize("selector", ["", "  selector: {}\n"])
def test_that_nothing_travels_any_more_is_told_of_modules_on_any_cluster_or_none(selector: str) -> None:
    text = (
        MODULE.replace("REF", READS)
        .replace("  selector: {}\n", selector)
        .replace("namespace: apps", "namespace: default")
    )
    node = "    bindings: [{name: NODE, objectFieldRef: {kind: Node, name: first, fieldPath: /x}}]\n"
    for clusters in ({}, {"clusters.yaml": OF_DEFAULT}):
        fleet = fleet_of({"module.yaml": text + node, **clusters})
        assert [each.message for each in convert(fleet).losses if "travel" in each.message] == [
            "variables that are resolved on the cluster do not travel there in an Assemblage any more"
        ]
