"""Delivery through Flux's own controllers, from a management cluster to a workload cluster: what they install, and what
is made of what they say of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tools.flux_schemas import folder as flux_crds
from tools.servers import flux_controllers

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServer, ApiServers, free_port
from support.kit import archive
from support.management import Management, management_cluster
from support.repositories import GitServer, Repository
from support.servers import HelmServer, OciServer
from support.waiting import until

pytestmark = pytest.mark.flux

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: acme}\nspec: "
CLUSTER = HEAD % ("Cluster", "eu-1") + "{access: {kubeconfig: {secret: {name: eu-1, key: kubeconfig}}}}"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: acme}\nstringData: {password: %s}\n"
PRESET = """{clusterSelector: {}, plugin: {pluginDefinition: {name: %s}, releaseNamespace: %s%s},
  delivery: {flux: {}}, rollout: {onFailure: Rollback, stages: [{name: all, clusterSelector: {}, deadline: 10m}]}}"""
WITH_PASSWORD = ", optionValues: [{name: password, valueFrom: {secret: {name: login, key: password}}}]"

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {version: "%s", password: {{ .Values.password | quote }}}
"""
# An API server refuses it: data are texts.
BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {version: [1]}\n"
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [all.yaml]\n"


class World:
    """A management cluster with Flux and Fleetform, and the cluster that they deliver to."""

    def __init__(self, hub: Management, workload: ApiServer) -> None:
        self.hub, self.workload = hub, Client(access_from_kubeconfig(workload.kubeconfig()))

    def apply(self, text: str) -> None:
        self.hub.client.apply(read_one(text), force=True)

    def release(self, name: str, version: str, source: str, options: str = "[]") -> None:
        spec = f"{{version: {version}, source: {source}, options: {options}}}"
        self.apply(HEAD % ("PluginDefinition", name) + spec)

    def namespace(self, name: str) -> None:
        self.workload.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def installed(self, namespace: str) -> dict[str, str] | None:
        found = self.workload.get(self.workload.resource("v1", "ConfigMap"), namespace, "web")
        return found["data"] if found is not None else None

    def status(self, plugin: str) -> Mapping[str, Any]:
        found = self.hub.client.get(self.hub.client.resource("fleetform.dev/v1alpha1", "Plugin"), "acme", plugin) or {}
        return found.get("status") or {}

    def told(self, plugin: str) -> tuple[str | None, str | None]:
        return self.status(plugin).get("running"), self.status(plugin).get("state")

    def failed(self, plugin: str, culprit: str) -> bool:
        return culprit in str(self.status(plugin).get("failure"))

    def is_back(self, plugin: str, version: str, rejected: str) -> bool:
        return self.told(plugin) == (version, "UpToDate") and self.status(plugin).get("rejected") == [rejected]

    def until_up_to_date(self, plugin: str, version: str) -> None:
        until(lambda: self.told(plugin) == (version, "UpToDate"), 240)


@pytest.fixture(scope="module")
def world(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("controllers")
    (workload,) = api_servers.start("workload-of-flux")
    with management_cluster(api_servers, "controllers", folder) as hub, ExitStack() as ends:
        applied = hub.kubectl("apply", "--server-side", "-f", str(flux_crds()))
        assert applied.returncode == 0, applied.stderr
        assert hub.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all").returncode == 0
        hub.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}})
        found = World(hub, workload)
        metadata = {"name": "eu-1", "namespace": "acme"}
        kubeconfig = {"kubeconfig": workload.kubeconfig()}
        hub.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": kubeconfig})
        for text in (CLUSTER, SECRET % "one"):
            found.apply(text)
        _start_flux(ends, hub, folder)
        command = [FLEETFORM, "operator", "--kubeconfig", str(hub.kubeconfig), "--interval", "1s"]
        _start(ends, [*command, "--state-dir", str(folder / "state")], folder / "operator.log", dict(os.environ))
        yield found


def _start_flux(ends: ExitStack, hub: Management, folder: Path) -> None:
    (folder / "storage").mkdir()
    address = f"127.0.0.1:{free_port()}"
    storage = [f"--storage-path={folder / 'storage'}", f"--storage-addr={address}", f"--storage-adv-addr={address}"]
    environment = {**os.environ, "KUBECONFIG": str(hub.kubeconfig), "RUNTIME_NAMESPACE": "flux-system"}
    for name, program in flux_controllers().items():
        addresses = [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-addr=127.0.0.1:{free_port()}"]
        more = storage if name == "source-controller" else []
        command = [str(program), *addresses, "--events-addr=", "--enable-leader-election=false", *more]
        _start(ends, command, folder / f"{name}.log", environment)


def _start(ends: ExitStack, command: list[str], log: Path, environment: dict[str, str]) -> None:
    with log.open("wb") as into:
        process = subprocess.Popen(command, stdout=into, stderr=into, env=environment)
    ends.callback(process.wait)
    ends.callback(process.kill)


@pytest.fixture
def charts() -> Iterator[HelmServer]:
    with HelmServer() as found:
        yield found


@pytest.fixture(scope="module")
def kustomizations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A source by the version of the plugin; 1.2.0 is broken."""
    folder = tmp_path_factory.mktemp("repositories")
    repository = Repository(folder / "apps", bare=True)
    for version, text in (("1.0.0", _plain("1.0.0")), ("1.1.0", _plain("1.1.0")), ("1.2.0", BROKEN)):
        repository.commit({"kustomization.yaml": KUSTOMIZATION, "all.yaml": text})
        repository.tag(version)
    with GitServer(folder) as server:
        yield f"{{kustomize: {{git: {{url: 'http://{server.host}/apps', ref: {{tag: %s}}}}}}}}"


def _plain(version: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{version: {version}}}\n"


def _chart(charts: HelmServer, version: str, template: str) -> str:
    """Publishes a version of a chart; the source that names it."""
    charts.add("web", version, archive(template, version))
    return f"{{helm: {{repository: '{charts.repository}', chart: web, version: {version}}}}}"


@pytest.mark.rule("R3-5", "B1")
def test_a_chart_is_healthy_once_it_is_installed_with_what_its_secrets_hold_now(
    world: World, charts: HelmServer
) -> None:
    options = "[{name: password, type: secret}]"
    world.release("web", "1.0.0", _chart(charts, "1.0.0", TEMPLATE % "1.0.0"), options)
    world.apply(HEAD % ("PluginPreset", "web") + PRESET % ("web", "web", WITH_PASSWORD))
    world.until_up_to_date("web-eu-1", "1.0.0")
    assert world.installed("web") == {"version": "1.0.0", "password": "one"}

    # Nothing of Flux's objects differs but what it was asked: without that it would look again in ten minutes.
    before = world.status("web-eu-1")["admitted"]
    world.apply(SECRET % "two")
    until(lambda: world.status("web-eu-1").get("admitted") != before, 240)
    world.until_up_to_date("web-eu-1", "1.0.0")
    assert world.installed("web") == {"version": "1.0.0", "password": "two"}

    # Flux has not read the index of the repository since: it is asked to.
    world.release("web", "1.1.0", _chart(charts, "1.1.0", TEMPLATE % "1.1.0"), options)
    world.until_up_to_date("web-eu-1", "1.1.0")
    assert world.installed("web") == {"version": "1.1.0", "password": "two"}


@pytest.mark.rule("R3-5", "B1")
def test_a_kustomization_is_healthy_once_it_has_the_revision_that_its_source_has(
    world: World, kustomizations: str
) -> None:
    world.release("apps", "1.0.0", kustomizations % "1.0.0")
    world.namespace("apps")
    world.apply(HEAD % ("PluginPreset", "apps") + PRESET % ("apps", "apps", ""))
    world.until_up_to_date("apps-eu-1", "1.0.0")
    assert world.installed("apps") == {"version": "1.0.0"}
    # The Kustomization itself stays as it is: only its source changes.
    world.release("apps", "1.1.0", kustomizations % "1.1.0")
    world.until_up_to_date("apps-eu-1", "1.1.0")
    assert world.installed("apps") == {"version": "1.1.0"}


@pytest.mark.rule("R3-5")
def test_a_chart_of_a_registry_is_healthy_once_it_is_the_one_that_its_source_has(world: World) -> None:
    with OciServer() as registry:
        for version in ("1.0.0", "1.1.0"):
            registry.push_chart("charts/web", version, archive(_plain(version), version))
        source = f"{{helm: {{repository: '{registry.repository('charts')}', chart: web, version: %s}}}}"
        world.release("oci", "1.0.0", source % "1.0.0")
        world.apply(HEAD % ("PluginPreset", "oci") + PRESET % ("oci", "oci", ""))
        world.until_up_to_date("oci-eu-1", "1.0.0")
        assert world.installed("oci") == {"version": "1.0.0"}
        # The HelmRelease itself stays as it is.
        world.release("oci", "1.1.0", source % "1.1.0")
        world.until_up_to_date("oci-eu-1", "1.1.0")
        assert world.installed("oci") == {"version": "1.1.0"}


@pytest.mark.rule("R3-5", "B1", "B34")
def test_what_flux_cannot_install_fails_and_goes_back(world: World, charts: HelmServer, kustomizations: str) -> None:
    """After all retries: seven minutes."""
    plugins = {"chart": "HelmRelease acme/chart-eu-1", "plain": "Kustomization acme/plain-eu-1"}
    world.namespace("plain")
    world.release("chart", "1.1.0", _chart(charts, "1.1.0", _plain("1.1.0")))
    world.release("plain", "1.1.0", kustomizations % "1.1.0")
    for name in plugins:
        world.apply(HEAD % ("PluginPreset", name) + PRESET % (name, name, ""))
        world.until_up_to_date(f"{name}-eu-1", "1.1.0")

    world.release("chart", "1.2.0", _chart(charts, "1.2.0", BROKEN))
    world.release("plain", "1.2.0", kustomizations % "1.2.0")
    for name, culprit in plugins.items():
        until(partial(world.failed, f"{name}-eu-1", culprit), 240)
    for name in plugins:
        until(partial(world.is_back, f"{name}-eu-1", "1.1.0", "1.2.0"), 720)
        assert world.installed(name) == {"version": "1.1.0"}
