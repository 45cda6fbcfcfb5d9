"""A namespace of a real cluster that plugins are applied to, and clients that stop in the middle."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

from tools.flux_schemas import folder as flux_crds

from fleetform.clusters.inventory import Inventory, ObjectRef
from fleetform.deliver.kubernetes.apply import ApplyOptions, ClusterApply
from fleetform.deliver.kubernetes.problems import Problem
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServer
from support.kit import tools
from support.waiting import finished

FLUX_HELM = "helm.toolkit.fluxcd.io/v2"
KEY: PluginKey = ("acme", "eu-1", "web-eu-1")
OTHER: PluginKey = ("acme", "eu-1", "db-eu-1")


class Target:
    """A namespace of a cluster that plugins are applied to."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.client = Client(access_from_kubeconfig(server.kubeconfig()))
        self.namespace = f"web-{uuid4().hex[:8]}"
        self._config = folder / "kubeconfig"
        self._config.write_text(server.kubeconfig(), encoding="utf-8")

    def apply(self, *objects: dict[str, Any], key: PluginKey = KEY, digest: str = "", **options: Any) -> list[Problem]:
        applying = ClusterApply(self.client).apply(key, self.namespace, objects, ApplyOptions(**options), digest)
        return list(finished(applying))

    def remove(self, key: PluginKey = KEY) -> list[Problem]:
        return list(finished(ClusterApply(self.client).remove(key, self.namespace)))

    def get(self, kind: str, name: str, api_version: str = "v1", namespace: str | None = None) -> dict[str, Any] | None:
        resource = self.client.resource(api_version, kind)
        return self.client.get(resource, self.namespace if namespace is None else namespace, name)

    def known(self, key: PluginKey = KEY) -> set[ObjectRef]:
        return set(Inventory(self.client, key, self.namespace).read().objects)

    def kubectl(self, *arguments: str, given: str = "") -> None:
        self._run("kubectl", arguments, given).check_returncode()

    def helm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("helm", arguments)

    def as_account_of(self, *namespaces: str) -> Client:
        """A client whose account may do everything in some namespaces, and nothing else."""
        user, group = f"of-{self.namespace}", "rbac.authorization.k8s.io"
        role = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
        for namespace in namespaces:
            binding = {
                "apiVersion": f"{group}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": user, "namespace": namespace},
                "roleRef": role,
                "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
            }
            self.client.apply(binding, force=True)
        return Client(self.client.access.acting_as(user, ("system:authenticated",)))

    def _run(self, tool: str, arguments: tuple[str, ...], given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(tools() / tool), "--kubeconfig", str(self._config), "-n", self.namespace, *arguments]
        return subprocess.run(command, input=given, text=True, check=False, capture_output=True)


def config(name: str = "web", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def custom(
    group: str, scope: str = "Namespaced", kind: str = "Thing", **subresources: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A kind and an object of it."""
    plural = f"{kind.lower()}s"
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": subresources,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    return crd, {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "one"}, "spec": {"size": 1}}


def flux_kind(target: Target, plural: str) -> None:
    """Has the cluster serve a kind of helm-controller."""
    crd = (flux_crds() / f"helm.toolkit.fluxcd.io_{plural}.yaml").read_text(encoding="utf-8")
    target.client.apply(read_one(crd), force=True)
    target.kubectl("wait", "--for=condition=Established", f"crd/{plural}.helm.toolkit.fluxcd.io")


class Stopping(Client):
    """A client whose process ends at its n-th write."""

    def __init__(self, client: Client, writes: int) -> None:
        super().__init__(client.access)
        self._left = writes

    def raw(self, method: str, path: str, *rest: Any, **more: Any) -> bytes:
        if method != "GET":
            if self._left == 0:
                raise BusyError("stopped")
            self._left -= 1
        return super().raw(method, path, *rest, **more)


class Failing(Client):
    """A client whose n-th request, and each after it, ends in an error."""

    def __init__(self, client: Client, requests: int, error: OutsideError) -> None:
        super().__init__(client.access)
        self._left, self._error, self.met = requests, error, False

    def raw(self, method: str, path: str, *rest: Any, **more: Any) -> bytes:
        if self._left == 0:
            self.met = True
            raise self._error
        self._left -= 1
        return super().raw(method, path, *rest, **more)
