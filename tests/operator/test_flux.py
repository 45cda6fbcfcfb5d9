"""Delivery through Flux: its objects on the management cluster, and what becomes of them as its conditions tell."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tools.flux_schemas import folder as flux_crds

from fleetform.observe.object_health import FLUX_REQUEST
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServers
from support.management import Management, management_cluster
from support.waiting import until

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
HELM = "helm.toolkit.fluxcd.io/v2"
HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: acme}\nspec: "
CLUSTER = HEAD % ("Cluster", "eu-1") + "{access: {kubeconfig: {secret: {name: eu-1, key: kubeconfig}}}}"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: acme}\nstringData: {password: %s}\n"
PRESET = """{clusterSelector: {clusterNames: [eu-1]}, plugin: {pluginDefinition: {name: web},
    optionValues: [{name: password, valueFrom: {secret: {name: login, key: password}}}]},
  delivery: {flux: {}}, rollout: {onFailure: Rollback, stages: [{name: all, clusterSelector: {}, deadline: 1h}]}}"""
DEFINITION = """{version: %s, source: {helm: {repository: https://charts.example.com, chart: web, version: %s}},
  options: [{name: password, type: secret}], health: [{kind: Deployment, name: web}]}"""


@pytest.fixture(scope="module")
def cluster(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Management]:
    with management_cluster(api_servers, "flux", tmp_path_factory.mktemp("flux")) as found:
        applied = found.kubectl("apply", "--server-side", "-f", str(flux_crds()))
        assert applied.returncode == 0, applied.stderr
        assert found.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all").returncode == 0
        yield found


@pytest.fixture
def operator(cluster: Management, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [FLEETFORM, "operator", "--kubeconfig", str(cluster.kubeconfig), "--interval", "1s"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--state-dir", str(tmp_path / "state")], stdout=log, stderr=log)
    yield process
    process.kill()
    process.wait()


def _apply_fleet(cluster: Management) -> None:
    for text in (CLUSTER, SECRET % "one", HEAD % ("PluginPreset", "web") + PRESET):
        cluster.client.apply(read_one(text), force=True)


def _release(cluster: Management, version: str) -> None:
    cluster.client.apply(read_one(HEAD % ("PluginDefinition", "web") + DEFINITION % (version, version)), force=True)


def _helm_release(cluster: Management) -> dict[str, Any]:
    found = cluster.client.get(cluster.client.resource(HELM, "HelmRelease"), "acme", "web-eu-1")
    return found or {}


def _chart(cluster: Management) -> str:
    return str(_helm_release(cluster).get("spec", {}).get("chart", {}).get("spec", {}).get("version"))


def _asked(cluster: Management) -> str:
    """What Flux was asked to reconcile for, last."""
    return str(_helm_release(cluster).get("metadata", {}).get("annotations", {}).get(FLUX_REQUEST))


def _flux_says(cluster: Management, ready: bool, reason: str, message: str = "") -> None:
    """As its controllers write it, of the generation that is there; of the source, too."""
    sources = cluster.client.kinds("source.toolkit.fluxcd.io/v1").values()
    for resource in (*sources, cluster.client.resource(HELM, "HelmRelease")):
        for each in cluster.client.items(resource, "acme"):
            is_release = resource.kind == "HelmRelease"
            generation, name = each["metadata"]["generation"], each["metadata"]["name"]
            condition = {
                "type": "Ready",
                "status": "True" if ready or not is_release else "False",
                "reason": reason if is_release else "Succeeded",
                "message": message,
                "observedGeneration": generation,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            asked = each["metadata"]["annotations"][FLUX_REQUEST]
            status = {"observedGeneration": generation, "conditions": [condition], "lastHandledReconcileAt": asked}
            cluster.client.merge(resource, "acme", name, {"status": status}, subresource="status")


def _status(cluster: Management) -> dict[str, Any]:
    plugin = cluster.client.get(cluster.client.resource("fleetform.dev/v1alpha1", "Plugin"), "acme", "web-eu-1") or {}
    found: dict[str, Any] = plugin.get("status", {})
    return found


def _told(cluster: Management) -> tuple[str | None, str | None]:
    return _status(cluster).get("running"), _status(cluster).get("state")


@pytest.mark.rule("R3-5", "B1")
@pytest.mark.usefixtures("operator")
def test_a_version_goes_through_flux_and_its_conditions_tell_how_it_is_doing(cluster: Management) -> None:
    _apply_fleet(cluster)
    _release(cluster, "1.0.0")
    until(lambda: _chart(cluster) == "1.0.0" and _asked(cluster) != "None")
    # Nothing is healthy because nobody has said otherwise.
    until(lambda: _told(cluster) == ("1.0.0", "InFlight"))
    _flux_says(cluster, ready=True, reason="InstallSucceeded")
    until(lambda: _told(cluster) == ("1.0.0", "UpToDate"))

    first = _asked(cluster)
    cluster.client.apply(read_one(SECRET % "two"), force=True)
    # The objects are as they were: what Flux said of them was about the password before.
    until(lambda: _asked(cluster) != first and _told(cluster)[1] == "InFlight")
    _flux_says(cluster, ready=True, reason="UpgradeSucceeded")
    until(lambda: _told(cluster) == ("1.0.0", "UpToDate"))

    second = _asked(cluster)
    _release(cluster, "1.1.0")
    until(lambda: _chart(cluster) == "1.1.0" and _asked(cluster) != second)
    # What Flux said was about the generation before.
    assert _told(cluster)[1] == "InFlight"
    _flux_says(cluster, ready=False, reason="UpgradeFailed", message="it crashes")
    until(lambda: "it crashes" in str(_status(cluster).get("failure")))


@pytest.mark.usefixtures("operator")
def test_flux_does_no_rollback_of_its_own(cluster: Management) -> None:
    """By itself or after the other, which leaves a HelmRelease behind."""
    _apply_fleet(cluster)
    if not _helm_release(cluster):
        _release(cluster, "1.0.0")
    until(lambda: _helm_release(cluster) != {})
    spec = _helm_release(cluster)["spec"]
    for step in ("install", "upgrade"):
        assert "remediation" not in spec[step]


@pytest.mark.rule("B22")
@pytest.mark.usefixtures("operator")
def test_a_release_that_flux_has_already_is_taken_over_if_the_delivery_asks_for_it(cluster: Management) -> None:
    """Written by hand before, with a field that nobody names any more; on a cluster where nothing else is under way."""
    chart = {"spec": {"chart": "kept", "sourceRef": {"kind": "HelmRepository", "name": "kept"}}}
    by_hand = {
        "apiVersion": HELM,
        "kind": "HelmRelease",
        "metadata": {"name": "kept-eu-2", "namespace": "acme"},
        "spec": {"interval": "1h", "chart": chart, "maxHistory": 3},
    }
    config = cluster.kubeconfig.with_name("by-hand.json")
    config.write_bytes(msgspec.json.encode(by_hand))
    assert cluster.kubectl("create", "-f", str(config)).returncode == 0
    spec = (
        "{clusterSelector: {clusterNames: [eu-2]}, plugin: {pluginDefinition: {name: kept}},"
        " delivery: {flux: {adopt: %s}}}"
    )
    definition = HEAD % ("PluginDefinition", "kept") + DEFINITION % ("1.0.0", "1.0.0")
    preset = HEAD % ("PluginPreset", "kept") + spec
    for text in (CLUSTER.replace("eu-1", "eu-2"), definition, preset % "false"):
        cluster.client.apply(read_one(text), force=True)
    plugins = cluster.client.resource("fleetform.dev/v1alpha1", "Plugin")
    releases = cluster.client.resource(HELM, "HelmRelease")

    def told() -> str:
        status = (cluster.client.get(plugins, "acme", "kept-eu-2") or {}).get("status") or {}
        return " ".join(each["message"] for each in status.get("conditions", []) if each["type"] == "Ready")

    until(lambda: "delivery.flux.adopt: true takes it over" in told())
    assert ".spec.maxHistory" in told()
    cluster.client.apply(read_one(preset % "true"), force=True)
    until(lambda: "maxHistory" not in (cluster.client.get(releases, "acme", "kept-eu-2") or {})["spec"])
