"""Cluster API's clusters as they are."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fleetform.dialects.fleeet.cluster_api import read_cluster
from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.fleet import Access, ClusterSpec, KubeconfigAccess
from fleetform.model.objects import Origin, Ref
from fleetform.syntax.yaml_in import read_one
from support.fleets import codes, fleet_of

CLUSTER = """
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: eu-1
  namespace: fleet
  labels: {env: prod}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}
  controlPlaneEndpoint: {host: 10.1.2.3, port: 6443}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerCluster, name: eu-1}
  topology: {class: quick-start, version: v1.31.0}
status:
  phase: Provisioned
  infrastructureReady: true
"""
ORIGIN = Origin("all.yaml", 1, 99)


def test_a_cluster_is_one_with_its_labels_reached_by_its_kubeconfig() -> None:
    reading = read_cluster(read_one(CLUSTER), ORIGIN, "acme")
    found = reading.object
    assert found is not None
    assert reading.diagnostics == ()
    assert (found.ref, found.dialect, found.labels) == (Ref("Cluster", "acme", "eu-1"), "cluster-api", {"env": "prod"})
    secret = SecretKey("eu-1-kubeconfig", "value")
    assert found.spec == ClusterSpec(access=Access(kubeconfig=KubeconfigAccess(secret)))
    assert found.at("spec", "access", "kubeconfig").path[:2] == ("metadata", "name")


def test_all_of_a_cluster_is_kept_for_bindings_to_read() -> None:
    found = read_cluster(read_one(CLUSTER), ORIGIN, "acme").object
    assert found is not None
    assert found.content == read_one(CLUSTER)
    assert found.content["spec"]["controlPlaneEndpoint"]["host"] == "10.1.2.3"
    assert found.content["metadata"]["namespace"] == "fleet"


@pytest.mark.parametrize("version", ["v1alpha3", "v1alpha4", "v1beta1", "v1beta2"])
@pytest.mark.parametrize("rest", ["", "spec: {paused: true, what: [ever]}\nstatus: {v1beta2: {}}", "spec: null"])
def test_any_version_with_any_spec_is_a_cluster(version: str, rest: str) -> None:
    fleet = fleet_of(f"apiVersion: cluster.x-k8s.io/{version}\nkind: Cluster\nmetadata: {{name: eu-1}}\n{rest}")
    assert (list(fleet.snapshot.clusters), codes(fleet)) == ([Ref("Cluster", "default", "eu-1")], [])


@pytest.mark.parametrize(
    ("metadata", "code", "path"),
    [
        ("{labels: {a: b}}", "bad-name", "metadata"),
        ("{name: EU}", "bad-value", "metadata.name"),
        ("{name: eu-1, labels: {a: 1}}", "bad-value", "metadata.labels.a"),
    ],
)
def test_what_is_wrong_with_a_clusters_metadata_is_told(metadata: str, code: str, path: str) -> None:
    tree = read_one(f"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {metadata}")
    reading = read_cluster(tree, ORIGIN, "acme")
    assert [(each.code, each.severity, each.path) for each in reading.diagnostics] == [(code, "error", path)]
    assert reading.object is None


def test_other_kinds_of_cluster_api_are_kept_as_they_are() -> None:
    text = """
    apiVersion: cluster.x-k8s.io/v1beta1
    kind: Machine
    metadata: {name: eu-1-a}
    spec: {clusterName: eu-1}
    """
    fleet = fleet_of(dedent(text))
    assert [each.dialect for each in fleet.snapshot.others.values()] == ["foreign:cluster.x-k8s.io/v1beta1"]
