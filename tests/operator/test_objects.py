"""The objects of an API server as files: what is input of them, who sees them, and that changes come by themselves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from fleetform.operator.objects import ApiObjects
from fleetform.operator.references import KindName, Names, referred_kinds, texts_of
from fleetform.operator.source import OrganizationSource, earlier_versions
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServers
from support.management import Management, management_cluster

PRESET = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme, annotations: {team: a}}
spec:
  clusterSelector: {}
  plugin:
    pluginDefinition: {name: web}
    optionValues: [{name: token, valueFrom: {secret: {name: web-login, key: token}}}]
  controlPlaneBindings:
    - {name: HOST, objectFieldRef: {apiVersion: apps/v1, kind: Deployment, name: gate, fieldPath: /spec/replicas}}
"""
DEFINITION = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: fleetform-system}
spec: {version: 1.0.0, source: {manifests: {path: ./web}}, options: [{name: token, type: secret}]}
"""
OTHERS = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: fast, namespace: globex}
spec: {overrides: [{path: replicas, value: 1}]}
"""
GENERATED = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-eu-1, namespace: acme, labels: {fleetform.dev/preset: web}}
spec: {pluginDefinition: web, clusterName: eu-1, presetRef: {name: web}}
"""


@pytest.fixture(scope="module")
def cluster(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Management]:
    with management_cluster(api_servers, "objects", tmp_path_factory.mktemp("objects")) as found:
        found.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "globex"}})
        for text in (PRESET, DEFINITION, OTHERS, GENERATED):
            found.client.apply(read_one(text))
        for name, type_ in (("web-login", "Opaque"), ("unrelated", "Opaque"), ("sh.helm.web", "helm.sh/release.v1")):
            found.client.create(_secret(name, type_))
        yield found


def _secret(name: str, type_: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "acme"}
    return {"apiVersion": "v1", "kind": "Secret", "type": type_, "metadata": metadata, "stringData": {"token": "s3"}}


@pytest.fixture
def objects(cluster: Management) -> Iterator[ApiObjects]:
    changed.clear()
    client = Client(cluster.client.access, connections=40)
    made = ApiObjects(client, changed.set)
    made.start()
    assert made.wait(30)
    # A first list may be older than what was just made.
    _until(lambda: len(made.files().files) >= 4 and made.is_whole)
    yield made
    made.stop()


changed = Event()


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        changed.wait(0.05)
        changed.clear()
    raise AssertionError("it did not come to that")


def test_before_everything_was_listed_nothing_is_known_to_be_gone(cluster: Management) -> None:
    client = Client(cluster.client.access)
    assert ApiObjects(client, lambda: None).files().problems
    client.close()


def test_whoever_waits_for_all_to_be_known_is_told_although_there_is_nothing(cluster: Management) -> None:
    known: list[bool] = []
    made = ApiObjects(Client(cluster.client.access, connections=40), lambda: known.append(made.is_whole))
    made.start()
    _until(lambda: made.is_whole)
    _until(lambda: known[-1:] == [True])
    made.stop()


def test_an_organization_that_is_new_is_waited_for_by_itself_alone(objects: ApiObjects) -> None:
    objects._namespaces |= {"new"}
    (problem,) = objects.files("new").problems
    assert problem.message == "the Secrets of new are not known yet"
    assert not objects.files("acme").problems
    assert objects.files().problems


@pytest.mark.rule("B15")
def test_an_organization_sees_its_own_objects_and_what_the_platform_offers(objects: ApiObjects) -> None:
    assert sorted(objects.files("acme").files) == [
        "acme/pluginpresets.fleetform.dev/web",
        "acme/secrets/web-login",
        "fleetform-system/plugindefinitions.fleetform.dev/web@1.0.0",
    ]
    assert sorted(objects.files("globex").files) == [
        "fleetform-system/plugindefinitions.fleetform.dev/web@1.0.0",
        "globex/pluginoverrides.fleetform.dev/fast",
    ]
    assert objects.organizations() == {"acme", "globex", "fleetform-system"}
    assert not objects.files().problems


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.rule("B15")
@pytest.mark.usefixtures("often")
def test_what_several_read_at_a_time_is_whole_for_each_of_them(api_servers: ApiServers, tmp_path: Path) -> None:
    with management_cluster(api_servers, "several", tmp_path) as cluster:
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "globex"}})
        for name, home in ((f"many-{number}", home) for number in range(100) for home in ("acme", "globex")):
            text = OTHERS.replace("name: fast", f"name: {name}").replace("globex", home)
            cluster.client.create(read_one(text))
        objects = ApiObjects(Client(cluster.client.access, connections=40), lambda: None)
        objects.start()
        _until(lambda: objects.is_whole and len(objects.files().files) == 200)
        expected = {each: objects.files(each) for each in ("acme", "globex")}

        def read(organization: str) -> int:
            return sum(objects.files(organization) != expected[organization] for _ in range(500))

        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(read, expected)) == [0, 0]
        objects.stop()


def test_what_only_the_server_needs_is_no_part_of_a_file(objects: ApiObjects) -> None:
    preset = objects.files("acme").files["acme/pluginpresets.fleetform.dev/web"].decode()
    assert '"annotations":{"team":"a"}' in preset
    assert '"creationTimestamp"' in preset
    for noise in ("managedFields", "resourceVersion", "last-applied"):
        assert noise not in preset


@pytest.mark.rule("R0-19")
def test_a_status_that_is_written_changes_no_file(cluster: Management, objects: ApiObjects) -> None:
    before = objects.files().files
    resource = cluster.client.resource("fleetform.dev/v1alpha1", "PluginPreset")
    cluster.client.merge(resource, "acme", "web", {"status": {"total": 3}}, subresource="status")
    cluster.client.merge(resource, "acme", "web", {"metadata": {"labels": {"seen": "yes"}}})
    name = "acme/pluginpresets.fleetform.dev/web"
    _until(lambda: b"seen" in objects.files().files[name])
    after = objects.files().files
    assert {each for each in after if after[each] != before[each]} == {name}
    assert b"total" not in after[name]


@pytest.mark.rule("B4")
def test_of_a_generated_plugin_only_what_a_person_says_in_it_is_input(cluster: Management, objects: ApiObjects) -> None:
    name = "acme/plugins.fleetform.dev/web-eu-1"
    assert name not in objects.files("acme").files
    resource = cluster.client.resource("fleetform.dev/v1alpha1", "Plugin")
    said = {"spec": {"optionValues": [{"name": "replicas", "value": 3}]}}
    cluster.client.merge(resource, "acme", "web-eu-1", said)
    _until(lambda: name in objects.files("acme").files)
    spec = read_one(objects.files("acme").files[name].decode())["spec"]
    assert spec == {"clusterName": "eu-1", "presetRef": {"name": "web"}, **said["spec"]}
    cluster.client.merge(resource, "acme", "web-eu-1", {"spec": {"optionValues": None}})
    _until(lambda: name not in objects.files("acme").files)


@pytest.mark.rule("R0-16")
def test_each_kind_of_change_is_told(cluster: Management, objects: ApiObjects) -> None:
    """Made, changed and deleted: of our kinds, of a Secret that something refers to, of a kind that a binding reads."""
    client = cluster.client
    override = {**read_one(OTHERS), "metadata": {"name": "new", "namespace": "acme"}}
    client.create(override)
    _until(lambda: "acme/pluginoverrides.fleetform.dev/new" in objects.files("acme").files)
    client.delete(client.resource("fleetform.dev/v1alpha1", "PluginOverride"), "acme", "new")
    _until(lambda: "acme/pluginoverrides.fleetform.dev/new" not in objects.files("acme").files)
    # What is referred to is looked at again when objects change: until then it is a problem, not an absence.
    _until(lambda: not objects.files("acme").problems)
    before = objects.files("acme").files["acme/secrets/web-login"]
    client.merge(client.resource("v1", "Secret"), "acme", "web-login", {"stringData": {"token": "other"}})
    _until(lambda: objects.files("acme").files["acme/secrets/web-login"] != before)
    pod = {"containers": [{"name": "c", "image": "i"}]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}
    metadata = {"name": "gate", "namespace": "acme"}
    client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    _until(lambda: "acme/deployments.apps/gate" in objects.files("acme").files)


@pytest.mark.rule("B15", "S7")
def test_kinds_of_another_system_are_read_once_it_is_installed(cluster: Management, objects: ApiObjects) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "managedclusters", "kind": "ManagedCluster"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    group = "cluster.open-cluster-management.io"
    cluster.client.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"managedclusters.{group}"},
            "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
        }
    )
    made = {"apiVersion": f"{group}/v1", "kind": "ManagedCluster", "metadata": {"name": "eu-1"}, "spec": {}}
    _tried(lambda: cluster.client.create(made))
    objects.look()
    # It belongs to one organization, and to no other (S7, B15).
    _until(lambda: f"managedclusters.{group}/eu-1" in objects.files("default").files)
    assert f"managedclusters.{group}/eu-1" not in objects.files("acme").files
    assert "default" in objects.organizations()


def _tried(action: Callable[[], object]) -> None:
    """A kind is served a moment after its CRD was made."""
    for _ in range(100):
        try:
            action()
            return
        except Exception:
            time.sleep(0.1)
    action()


def test_names_with_variables_may_mean_what_clusters_make_of_them() -> None:
    names = Names([texts_of({"a": ["login", {"b": "$(CLUSTER_NAME)-token"}], "c": "x-${REGION}", "d": 3})])
    assert [each for each in ("login", "eu-1-token", "x-eu", "token", "a", "-token") if names.may_mean(each)] == [
        "login",
        "eu-1-token",
        "x-eu",
    ]


def test_kinds_that_bindings_and_configs_name_are_found_wherever_they_stand() -> None:
    tree = {"spec": {"configs": [{"group": "opentelemetry.io", "resource": "collectors"}], "list": [read_one(PRESET)]}}
    assert referred_kinds([tree]) == {KindName("opentelemetry.io", plural="collectors"), KindName("apps", "Deployment")}


@pytest.mark.rule("R2-36")
def test_versions_that_a_definition_had_stay_known_as_long_as_it_is_there() -> None:
    name = "acme/plugindefinitions.fleetform.dev/web"
    accepted = {f"{name}@1.{number}.0": b"%d" % number for number in range(12)} | {"acme/plugins/x": b""}
    found = earlier_versions({f"{name}@1.12.0": b"12"}, accepted)
    assert sorted(found) == sorted(f"{name}@1.{number}.0" for number in range(3, 12))
    assert earlier_versions({"acme/plugins/x": b""}, accepted) == {}


def test_a_source_gives_the_versions_beside_what_is_there(objects: ApiObjects) -> None:
    name = "fleetform-system/plugindefinitions.fleetform.dev/web"
    found = OrganizationSource(objects, "globex", lambda: {f"{name}@0.9.0": b"before"}).read()
    assert found.files[f"{name}@0.9.0"] == b"before"
    assert f"{name}@1.0.0" in found.files
