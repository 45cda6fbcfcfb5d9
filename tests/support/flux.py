"""Flux's own controllers, and a fleet that is delivered through them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.flux_schemas import folder as flux_crds
from tools.servers import flux_controllers

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServer, free_port
from support.kit import archive
from support.management import Management
from support.repositories import Repository
from support.servers import HelmServer
from support.waiting import until

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: acme}\nspec: "
CLUSTER = HEAD % ("Cluster", "eu-1") + "{access: {kubeconfig: {secret: {name: eu-1, key: kubeconfig}}}}"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: acme}\nstringData: {password: %s}\n"
PRESET = """{clusterSelector: {}, plugin: {pluginDefinition: {name: %s}, releaseNamespace: %s%s}, delivery: {flux: %s},
  rollout: {onFailure: Rollback, stages: [{name: all, clusterSelector: {}, deadline: 10m}]}}"""
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {version: "%s", password: {{ .Values.password | quote }}}
"""
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [all.yaml]\n"
# An API server refuses it: data are texts.
BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {version: [1]}\n"


class World:
    """A management cluster with Fleetform, and the cluster that is delivered to, through Flux on one of the two."""

    def __init__(self, hub: Management, workload: ApiServer) -> None:
        self.hub, self.workload = hub, Client(access_from_kubeconfig(workload.kubeconfig()))
        metadata, kubeconfig = {"name": "eu-1", "namespace": "acme"}, {"kubeconfig": workload.kubeconfig()}
        hub.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": kubeconfig})
        self.apply(CLUSTER)

    def apply(self, text: str) -> None:
        self.hub.client.apply(read_one(text), force=True)

    def release(self, name: str, version: str, source: str, options: str = "[]") -> None:
        spec = f"{{version: {version}, source: {source}, options: {options}}}"
        self.apply(HEAD % ("PluginDefinition", name) + spec)

    def preset(self, name: str, more: str = "", flux: str = "{}") -> None:
        """Of the definition of its name, into a namespace of that name."""
        self.apply(HEAD % ("PluginPreset", name) + PRESET % (name, name, more, flux))

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


def install_flux(client: Client) -> None:
    """The kinds of Flux and its namespace, on a cluster of which nobody has asked anything yet."""
    for each in sorted(flux_crds().glob("*.yaml")):
        client.apply(read_one(each.read_text(encoding="utf-8")), force=True)
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}})
    kinds = client.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")

    def are_there() -> bool:
        found = [each.get("status", {}).get("conditions") or [] for each in client.items(kinds)]
        return all(any(each["type"] == "Established" for each in conditions) for conditions in found)

    until(are_there)


def start_flux(ends: ExitStack, kubeconfig: Path, folder: Path) -> None:
    (folder / "storage").mkdir()
    address = f"127.0.0.1:{free_port()}"
    storage = [f"--storage-path={folder / 'storage'}", f"--storage-addr={address}", f"--storage-adv-addr={address}"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "RUNTIME_NAMESPACE": "flux-system"}
    for name, program in flux_controllers().items():
        addresses = [f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-addr=127.0.0.1:{free_port()}"]
        more = storage if name == "source-controller" else []
        command = [str(program), *addresses, "--events-addr=", "--enable-leader-election=false", *more]
        start(ends, command, folder / f"{name}.log", environment)


def start(ends: ExitStack, command: list[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as into:
        process = subprocess.Popen(command, stdout=into, stderr=into, env=environment)
    ends.callback(process.wait)
    ends.callback(process.kill)
    return process


def start_operator(ends: ExitStack, hub: Management, folder: Path) -> subprocess.Popen[bytes]:
    command = [FLEETFORM, "operator", "--kubeconfig", str(hub.kubeconfig), "--interval", "1s"]
    return start(ends, [*command, "--state-dir", str(folder / "state")], folder / "operator.log", dict(os.environ))


def plain(version: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{version: {version}}}\n"


def published(charts: HelmServer, version: str, template: str) -> str:
    """Publishes a version of a chart; the source that names it."""
    charts.add("web", version, archive(template, version))
    return f"{{helm: {{repository: '{charts.repository}', chart: web, version: {version}}}}}"


def published_kustomizations(folder: Path) -> None:
    """A repository apps with a tag for each version; 1.2.0 is broken."""
    repository = Repository(folder / "apps", bare=True)
    for version, text in (("1.0.0", plain("1.0.0")), ("1.1.0", plain("1.1.0")), ("1.2.0", BROKEN)):
        repository.commit({"kustomization.yaml": KUSTOMIZATION, "all.yaml": text})
        repository.tag(version)
