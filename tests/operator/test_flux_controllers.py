"""Delivery through Flux's own controllers: what they install, and what they say of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tools.flux_schemas import folder as flux_crds
from tools.servers import flux_controllers

from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServers, free_port
from support.kit import TEMPLATE, archive
from support.management import Management, management_cluster
from support.servers import HelmServer
from support.waiting import until

pytestmark = pytest.mark.flux

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: acme}\nspec: "
CLUSTER = HEAD % ("Cluster", "eu-1") + "{access: {kubeconfig: {secret: {name: eu-1, key: kubeconfig}}}}"
PRESET = """{clusterSelector: {}, plugin: {pluginDefinition: {name: web}, releaseNamespace: web},
  delivery: {flux: {}}, rollout: {onFailure: Pause, stages: [{name: all, clusterSelector: {}, deadline: 1h}]}}"""
# An API server refuses it.
BROKEN = TEMPLATE.replace("data: {", "data: {broken: [1], ")


@pytest.fixture(scope="module")
def charts() -> Iterator[HelmServer]:
    with HelmServer() as found:
        for version, template in (("1.0.0", TEMPLATE), ("1.1.0", TEMPLATE), ("1.2.0", BROKEN)):
            found.add("web", version, archive(template, version))
        yield found


@pytest.fixture(scope="module")
def cluster(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Management]:
    folder = tmp_path_factory.mktemp("controllers")
    with management_cluster(api_servers, "controllers", folder) as found, ExitStack() as ends:
        applied = found.kubectl("apply", "--server-side", "-f", str(flux_crds()))
        assert applied.returncode == 0, applied.stderr
        assert found.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all").returncode == 0
        found.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}})
        config = {"kubeconfig": found.kubeconfig.read_text(encoding="utf-8")}
        metadata = {"name": "eu-1", "namespace": "acme"}
        found.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": config})
        (folder / "storage").mkdir()
        address = f"127.0.0.1:{free_port()}"
        storage = [f"--storage-path={folder / 'storage'}", f"--storage-addr={address}", f"--storage-adv-addr={address}"]
        environment = {**os.environ, "KUBECONFIG": str(found.kubeconfig), "RUNTIME_NAMESPACE": "flux-system"}
        for name, program in flux_controllers().items():
            more = storage if name == "source-controller" else []
            addresses = [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-addr=127.0.0.1:{free_port()}"]
            command = [str(program), *addresses, "--events-addr=", "--enable-leader-election=false", *more]
            _start(ends, command, folder / f"{program.name}.log", environment)
        command = [FLEETFORM, "operator", "--kubeconfig", str(found.kubeconfig), "--interval", "1s"]
        _start(ends, [*command, "--state-dir", str(folder / "state")], folder / "log", dict(os.environ))
        yield found


def _start(ends: ExitStack, command: list[str], log: Path, environment: dict[str, str]) -> None:
    with log.open("wb") as into:
        process = subprocess.Popen(command, stdout=into, stderr=into, env=environment)
    ends.callback(process.wait)
    ends.callback(process.kill)


def _release(cluster: Management, charts: HelmServer, version: str) -> None:
    source = f"{{helm: {{repository: '{charts.repository}', chart: web, version: {version}}}}}"
    spec = f"{{version: {version}, source: {source}}}"
    cluster.client.apply(read_one(HEAD % ("PluginDefinition", "web") + spec), force=True)


def _status(cluster: Management) -> dict[str, Any]:
    plugin = cluster.client.get(cluster.client.resource("fleetform.dev/v1alpha1", "Plugin"), "acme", "web-eu-1") or {}
    found: dict[str, Any] = plugin.get("status", {})
    return found


def _told(cluster: Management) -> tuple[str | None, str | None]:
    return _status(cluster).get("running"), _status(cluster).get("state")


def _installed(cluster: Management) -> bool:
    return cluster.client.get(cluster.client.resource("v1", "ConfigMap"), "web", "web") is not None


@pytest.mark.rule("R3-5", "B1")
def test_flux_installs_and_upgrades_and_what_it_cannot_do_is_told(cluster: Management, charts: HelmServer) -> None:
    for text in (CLUSTER, HEAD % ("PluginPreset", "web") + PRESET):
        cluster.client.apply(read_one(text))
    _release(cluster, charts, "1.0.0")
    until(lambda: _told(cluster) == ("1.0.0", "UpToDate"), 180)
    assert _installed(cluster)

    _release(cluster, charts, "1.1.0")
    until(lambda: _told(cluster) == ("1.1.0", "UpToDate"), 180)

    _release(cluster, charts, "1.2.0")
    until(lambda: bool(_status(cluster).get("failure")), 180)
    assert "web" in str(_status(cluster)["failure"])
    assert _told(cluster)[1] != "UpToDate"
    assert _installed(cluster)
