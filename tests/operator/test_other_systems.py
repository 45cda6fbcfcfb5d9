"""Objects of Greenhouse and of Open Cluster Management on the API server, worked for by the operator as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServers
from support.kit import archive, path_with, tools
from support.management import Management, management_cluster
from support.servers import HelmServer
from support.waiting import until

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
GREENHOUSE, CLUSTERS, ADD_ONS = (
    "greenhouse.sap",
    "cluster.open-cluster-management.io",
    "addon.open-cluster-management.io",
)
# As these systems have them: Open Cluster Management's kinds of one group are of several versions.
KINDS = (
    *((GREENHOUSE, "v1alpha1", kind, True) for kind in ("Cluster", "Plugin", "PluginPreset", "PluginOverride")),
    (GREENHOUSE, "v1alpha1", "ClusterPluginDefinition", False),
    (GREENHOUSE, "v1alpha2", "TeamRoleBinding", True),
    (CLUSTERS, "v1", "ManagedCluster", False),
    (CLUSTERS, "v1beta2", "ManagedClusterSet", False),
    (CLUSTERS, "v1beta2", "ManagedClusterSetBinding", True),
    (CLUSTERS, "v1beta1", "Placement", True),
    (ADD_ONS, "v1alpha1", "ClusterManagementAddOn", False),
    (ADD_ONS, "v1alpha1", "ManagedClusterAddOn", True),
    (ADD_ONS, "v1alpha1", "AddOnDeploymentConfig", True),
    ("example.com", "v1", "Level", True),
)
GREENHOUSES = """
apiVersion: greenhouse.sap/v1alpha1
kind: ClusterPluginDefinition
metadata: {name: web}
spec:
  version: 1.0.0
  helmChart: {name: web, repository: "REPOSITORY", version: 1.0.0}
  options: [{name: replicas, type: int, required: false, default: 1}]
---
apiVersion: greenhouse.sap/v1alpha1
kind: Cluster
metadata: {name: eu-1, namespace: acme, labels: {region: eu}}
spec: {accessMode: direct}
---
apiVersion: greenhouse.sap/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {matchLabels: {region: eu}}
  plugin:
    pluginDefinitionRef: {name: web, kind: ClusterPluginDefinition}
    releaseNamespace: web
    optionValues: [{name: replicas, value: 2}]
---
apiVersion: greenhouse.sap/v1alpha1
kind: Plugin
metadata: {name: own, namespace: acme}
spec:
  pluginDefinitionRef: {name: web, kind: ClusterPluginDefinition}
  clusterName: eu-1
  releaseName: own
  releaseNamespace: own
  optionValues: [{name: replicas, value: 2}]
---
apiVersion: greenhouse.sap/v1alpha1
kind: Plugin
metadata: {name: theirs, namespace: acme}
spec:
  pluginDefinitionRef: {name: web, kind: ClusterPluginDefinition}
  clusterName: eu-1
  releaseName: theirs
  releaseNamespace: theirs
---
apiVersion: greenhouse.sap/v1alpha1
kind: PluginOverride
metadata: {name: more, namespace: acme}
spec:
  pluginDefinitionNames: [web]
  clusterSelector: [{matchLabels: {region: eu}}]
  overrides: [{path: replicas, value: 3}]
"""
HUB = """
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1, labels: {region: eu}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c2, labels: {region: us}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: global}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: ops}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: eu, namespace: ops}
spec: {predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}}]}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: logs}
spec:
  supportedConfigs:
    - {group: example.com, resource: levels, defaultConfig: {namespace: ops, name: usual}}
    - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs}
  installStrategy:
    type: Placements
    placements:
      - name: eu
        namespace: ops
        configs:
          - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: ops, name: eu}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: eu, namespace: ops}
spec: {customizedVariables: [{name: LEVEL, value: warn}]}
---
apiVersion: example.com/v1
kind: Level
metadata: {name: usual, namespace: ops}
spec: {level: info}
---
apiVersion: example.com/v1
kind: Level
metadata: {name: loud, namespace: ops}
spec: {level: debug}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: logs, namespace: c1}
spec: {}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: logs, namespace: c2}
spec: {}
"""


TEXT, TIME = {"type": "string"}, {"type": "string", "format": "date-time"}
# As Greenhouse declares it: what it does not know is refused, and conditions have owners of their own.
PLUGIN_STATUS = {
    "type": "object",
    "properties": {
        "version": TEXT,
        "description": TEXT,
        "helmChart": {
            "type": "object",
            "required": ["name", "repository", "version"],
            "properties": {"name": TEXT, "repository": TEXT, "version": TEXT},
        },
        "helmReleaseStatus": {
            "type": "object",
            "required": ["status"],
            "properties": {"status": TEXT, "firstDeployed": TIME, "lastDeployed": TIME, "diff": TEXT},
        },
        "statusConditions": {
            "type": "object",
            "properties": {
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {
                        "type": "object",
                        "required": ["type", "status", "lastTransitionTime"],
                        "properties": {
                            "type": TEXT, "status": TEXT, "reason": TEXT, "message": TEXT, "lastTransitionTime": TIME,
                        },
                    },
                }
            },
        },
    },
}  # fmt: skip


def _crd(group: str, version: str, kind: str, namespaced: bool) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    status = PLUGIN_STATUS if (group, kind) == (GREENHOUSE, "Plugin") else anything
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": status}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [served],
        },
    }


@pytest.fixture(scope="module")
def cluster(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Management]:
    folder = tmp_path_factory.mktemp("others")
    with management_cluster(api_servers, "others", folder) as found:
        for each in KINDS:
            found.client.apply(_crd(*each))
        assert found.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all").returncode == 0
        for group, version, kind, _ in KINDS:
            # A kind is established a little before it is listed among those that are served.
            until(lambda of=(f"{group}/{version}", kind): of[1] in found.client.kinds(of[0]))  # type: ignore[misc]
        for name in ("globex", "ops", "c1", "c2"):
            found.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for text in HUB.split("---"):
            found.client.apply(read_one(text))
        command = [FLEETFORM, "operator", "--kubeconfig", str(found.kubeconfig), "--interval", "1s"]
        with (found.kubeconfig.with_name("log")).open("wb") as log:
            environment = {**os.environ, "PATH": path_with(tools())}
            command += ["--state-dir", str(folder / "state")]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        yield found
        process.kill()
        process.wait()
        said = (found.kubeconfig.with_name("log")).read_text(encoding="utf-8")
        assert "Traceback" not in said
        assert "it is a bug" not in said


def _get(cluster: Management, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
    return cluster.client.get(cluster.client.resource(api_version, kind), namespace, name) or {}


THEIRS = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T12:00:00Z"}


def _ready(plugin: dict[str, Any] | None) -> tuple[str, str] | None:
    """Of a Plugin of Greenhouse: its condition, and why."""
    conditions = (plugin or {}).get("status", {}).get("statusConditions", {}).get("conditions", [])
    return next(((each["status"], each["reason"]) for each in conditions if each["type"] == "Ready"), None)


def _status(cluster: Management, name: str) -> dict[str, Any]:
    found: dict[str, Any] = _get(cluster, "fleetform.dev/v1alpha1", "Plugin", "acme", name).get("status", {})
    return found


@pytest.mark.rule("B4", "R0-16")
def test_a_fleet_of_greenhouse_with_an_override_is_delivered_and_told(cluster: Management) -> None:
    with HelmServer() as charts:
        charts.add("web", "1.0.0", archive())
        kubeconfig = cluster.kubeconfig.read_text(encoding="utf-8")
        metadata = {"name": "eu-1", "namespace": "acme"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "greenhouse.sap/kubeconfig"}
        cluster.client.create({**secret, "stringData": {"greenhousekubeconfig": kubeconfig}})
        for text in GREENHOUSES.replace("REPOSITORY", charts.repository).split("---"):
            cluster.client.apply(read_one(text))
        written = {"version": "0.9.0", "statusConditions": {"conditions": [THEIRS]}}
        greenhouse = Client(cluster.client.access, manager="greenhouse")
        plugins = greenhouse.resource("greenhouse.sap/v1alpha1", "Plugin")
        greenhouse.merge(plugins, "acme", "theirs", {"status": written}, "status")

        def replicas() -> str | None:
            there = _get(cluster, "v1", "ConfigMap", "web", "web").get("data", {})
            state = _status(cluster, "web-eu-1")
            is_told = (state.get("running"), state.get("state")) == ("1.0.0", "UpToDate")
            return there.get("replicas") if is_told else None

        # Above the value of the preset: seed 0's override.
        until(lambda: replicas() == "3")
        assert [each["name"] for each in _status(cluster, "web-eu-1")["appliedOverrides"]] == ["more"]
        # A Plugin that somebody wrote takes it, too.
        until(lambda: _get(cluster, "v1", "ConfigMap", "own", "own").get("data", {}).get("replicas") == "3")
        # Its own status tells as Greenhouse's users know it.
        until(lambda: _ready(greenhouse.get(plugins, "acme", "own")) == ("True", "Healthy"))
        told = (greenhouse.get(plugins, "acme", "own") or {})["status"]
        assert {each["type"] for each in told["statusConditions"]["conditions"]} == {"Ready", "HelmReleaseDeployed"}
        chart = {"name": "web", "repository": charts.repository, "version": "1.0.0"}
        assert (told["version"], told["helmChart"]) == ("1.0.0", chart)
        assert told["helmReleaseStatus"]["status"] == "deployed"
        # What Greenhouse wrote is left to it, and that is said once, whatever becomes of it.
        log = cluster.kubeconfig.with_name("log")
        until(lambda: bool(_get(cluster, "v1", "ConfigMap", "theirs", "theirs")))
        until(lambda: "Plugin/acme/theirs is left to who writes its status" in log.read_text(encoding="utf-8"))
        assert (greenhouse.get(plugins, "acme", "theirs") or {})["status"] == written
        override = cluster.client.resource("greenhouse.sap/v1alpha1", "PluginOverride")
        cluster.client.delete(override, "acme", "more")
        until(lambda: replicas() == "2")
        assert log.read_text(encoding="utf-8").count("is left to who writes its status") == 1

        # With its preset the plugin goes, and what we made to tell of it.
        preset = cluster.client.resource("greenhouse.sap/v1alpha1", "PluginPreset")
        cluster.client.delete(preset, "acme", "web")
        until(lambda: not _get(cluster, "v1", "ConfigMap", "web", "web"))
        until(lambda: not _get(cluster, "fleetform.dev/v1alpha1", "Plugin", "acme", "web-eu-1"))


def _configs(cluster: Management, namespace: str) -> dict[str, str] | None:
    """The config of each type that an add-on should have; None where nothing is told."""
    found = _get(cluster, f"{ADD_ONS}/v1alpha1", "ManagedClusterAddOn", namespace, "logs")
    told = found.get("status", {}).get("configReferences")
    return {each["resource"]: each["desiredConfig"]["name"] for each in told} if told is not None else None


@pytest.mark.rule("R1-10", "R1-18", "R1-20")
def test_an_add_on_tells_its_configs_from_each_place_as_the_hub_would(cluster: Management) -> None:
    # Of the definition, and of the placement.
    until(lambda: _configs(cluster, "c1") == {"levels": "usual", "addondeploymentconfigs": "eu"})
    found = _get(cluster, f"{ADD_ONS}/v1alpha1", "ManagedClusterAddOn", "c1", "logs")
    level = next(each for each in found["status"]["configReferences"] if each["resource"] == "levels")
    assert {**level, "desiredConfig": {**level["desiredConfig"], "specHash": ""}} == {
        "group": "example.com", "resource": "levels", "namespace": "ops", "name": "usual", "lastObservedGeneration": 1,
        "desiredConfig": {"namespace": "ops", "name": "usual", "specHash": ""},
    }  # fmt: skip
    # A placement does not choose it, so nothing is wanted of it.
    assert _configs(cluster, "c2") is None

    # Of the cluster.
    own = "{configs: [{group: example.com, resource: levels, namespace: ops, name: loud}]}"
    head = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\n"
    cluster.client.apply(read_one(f"{head}metadata: {{name: logs, namespace: c1}}\nspec: {own}"), force=True)
    until(lambda: _configs(cluster, "c1") == {"levels": "loud", "addondeploymentconfigs": "eu"})

    def spec_hash() -> str:
        there = _get(cluster, f"{ADD_ONS}/v1alpha1", "ManagedClusterAddOn", "c1", "logs")["status"]["configReferences"]
        return str(next(each for each in there if each["resource"] == "levels")["desiredConfig"]["specHash"])

    # Another content of a config has another hash.
    before = spec_hash()
    changed = "apiVersion: example.com/v1\nkind: Level\nmetadata: {name: loud, namespace: ops}\nspec: {level: trace}"
    cluster.client.apply(read_one(changed), force=True)
    until(lambda: spec_hash() != before)


@pytest.mark.rule("R1-18")
def test_add_ons_of_placements_are_made_by_the_hub_and_told_once_they_are_there(cluster: Management) -> None:
    rollouts = cluster.client.resource("fleetform.dev/v1alpha1", "Rollout")

    def clusters() -> int:
        # One is made, and then told of.
        told = [each["status"] for each in cluster.client.items(rollouts, "default") if "status" in each]
        found = [each["clusters"]["total"] for each in told]
        return max(found, default=0)

    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c3"}})
    head = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
    cluster.client.apply(read_one(f"{head}metadata: {{name: c3, labels: {{region: eu}}}}\nspec: {{}}"))
    # Decided and rolled out, with nothing there that could tell it.
    until(lambda: clusters() == 2)
    add_ons = cluster.client.resource(f"{ADD_ONS}/v1alpha1", "ManagedClusterAddOn")
    assert cluster.client.get(add_ons, "c3", "logs") is None
    # As the hub's add-on manager makes it.
    made = f"apiVersion: {ADD_ONS}/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {{name: logs, namespace: c3}}\n"
    cluster.client.apply(read_one(f"{made}spec: {{}}"))
    until(lambda: _configs(cluster, "c3") == {"levels": "usual", "addondeploymentconfigs": "eu"})


@pytest.mark.rule("B15", "S7")
def test_objects_of_the_hub_are_of_one_organization_and_no_other_sees_them(cluster: Management) -> None:
    until(lambda: bool(_configs(cluster, "c1")))
    # A preset for all clusters of an organization does not mean the hub's.
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: globex}\nspec: "
    cluster.client.apply(read_one(head % ("Cluster", "us-1") + "{}"))
    preset = "{clusterSelector: {}, plugin: {pluginDefinition: {name: none}}}"
    cluster.client.apply(read_one(head % ("PluginPreset", "all") + preset))
    plugin = cluster.client.resource("fleetform.dev/v1alpha1", "Plugin")
    until(lambda: bool(cluster.client.get(plugin, "globex", "all-us-1")))
    assert [each["metadata"]["name"] for each in cluster.client.items(plugin, "globex")] == ["all-us-1"]
