"""A fleet in a folder that is delivered to real API servers, and what controllers would do there."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any
from uuid import uuid4

from fleetform.clusters.ownership import Manifest
from fleetform.loop.control import PassReport
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_out import write_yaml
from fleetform.wiring.plane import Plane, open_plane
from support.api_servers import ApiServer
from support.fleets import NOW

MANIFESTS = dedent(
    """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: "registry.example.com/web:${version}"}]}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: web}
    data: {version: "${version}"}
    """
)

TOKEN = {"name": "TOKEN", "valueFrom": {"secret": {"name": "web", "key": "token"}}}
WITH_SECRET = MANIFESTS + dedent(
    """
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: web}
    stringData: {token: "${TOKEN}"}
    """
)
OPTIONS = [{"name": "TOKEN", "type": "secret"}]


def document(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> str:
    tree = {
        "apiVersion": "fleetform.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "acme", **metadata},
        "spec": spec,
    }
    return write_yaml(tree)


class Workloads:
    """Clusters `c1`, `c2`, … on API servers, a preset `web` on all of them, and the control plane that serves them."""

    def __init__(self, folder: Path, servers: Sequence[ApiServer], **delivery: Any) -> None:
        self.folder, self.servers = folder, list(servers)
        self.namespace = f"web-{uuid4().hex[:8]}"
        self.delivery = delivery
        self.at = NOW
        self.said: list[PassReport] = []
        self.options: dict[str, Any] = {}
        self.plane: Plane | None = None
        self.clients: dict[str, Client] = {}
        (folder / "fleet").mkdir()
        for server in servers:
            self.add(server)
        stages = [
            {"name": "first", "clusterSelector": {"matchLabels": {"tier": "first"}}},
            {"name": "rest", "remainder": True},
        ]
        self.write("policy.yaml", document("RolloutPolicy", "standard", {"stages": stages, "onFailure": "Rollback"}))
        self.offer("1.0.0")
        self.write_preset()

    # ---- What people do

    def write(self, name: str, text: str) -> None:
        (self.folder / "fleet" / name).write_text(text, encoding="utf-8")

    def add(self, server: ApiServer) -> None:
        """One more cluster."""
        name = f"c{len(self.clients) + 1}"
        self.clients[name] = Client(access_from_kubeconfig(server.kubeconfig()))
        self.reach_by(name, server.kubeconfig())
        access = {"kubeconfig": {"secret": {"name": name, "key": "kubeconfig"}}}
        labels = {"tier": "first" if name == "c1" else "rest"}
        self.write(f"{name}.yaml", document("Cluster", name, {"access": access}, labels=labels))

    def write_preset(self, **spec: Any) -> None:
        written = {
            "clusterSelector": {},
            "rolloutPolicy": "standard",
            "plugin": {
                "pluginDefinition": {"name": "web"},
                "releaseNamespace": self.namespace,
                "optionValues": spec.pop("optionValues", []),
            },
            "delivery": {"kubernetes": self.delivery},
            **spec,
        }
        written = {name: each for name, each in written.items() if each is not None}
        self.write("preset.yaml", document("PluginPreset", "web", written))

    def offer(self, version: str, manifests: str = MANIFESTS, **spec: Any) -> None:
        """A version of the definition."""
        source = self.folder / "sources" / version
        source.mkdir(parents=True)
        (source / "web.yaml").write_text(manifests.replace("${version}", version), encoding="utf-8")
        made = {"version": version, "source": {"manifests": {"path": f"../sources/{version}"}}, **spec}
        made = {name: each for name, each in made.items() if each is not None}
        self.write(f"web-{version}.yaml", document("PluginDefinition", "web", made))

    def keep_secret(self, name: str, **texts: str) -> None:
        metadata = {"name": name, "namespace": "acme"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts}
        self.write(f"kept-{name}.yaml", write_yaml(secret))

    def reach_by(self, cluster: str, kubeconfig: str) -> None:
        data = {"kubeconfig": b64encode(kubeconfig.encode()).decode()}
        metadata = {"name": cluster, "namespace": "acme"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        self.write(f"secret-{cluster}.yaml", write_yaml(secret))

    # ---- The control plane

    def opened(self) -> Plane:
        if self.plane is None:
            self.plane = open_plane(
                [str(self.folder / "fleet")],
                str(self.folder / "state.db"),
                self.said.append,
                _raise,
                lambda line: None,
                lambda care: None,
                output_folder=str(self.folder / "out"),
                at=self.at.isoformat(),
                **self.options,
            )
        return self.plane

    def settle(self) -> PassReport:
        """Everything that is due now, what is under way on clusters included."""
        return self.opened().driver.run_once()

    def wait(self, seconds: float = 6) -> PassReport:
        self.at += timedelta(seconds=seconds)
        self.opened().turn_clock(self.at)
        return self.settle()

    def restart(self) -> None:
        if self.plane is not None:
            self.plane.close()
        self.plane = None

    def close(self) -> None:
        self.restart()
        for each in self.clients.values():
            each.close()

    def state(self, cluster: str) -> Any:
        return self.opened().control.image.plugin(("acme", cluster, f"web-{cluster}"))

    def record(self, cluster: str) -> Any:
        return self.opened().control.image.deliveries.get(("acme", cluster, f"web-{cluster}"))

    def trouble(self, cluster: str) -> Any:
        """Why it is not where it should be."""
        return self.record(cluster).trouble

    def events(self, cluster: str) -> list[str]:
        """What happened on a cluster, in order."""
        found = self.opened().control._around.store.events("acme", cluster, limit=50)
        return [each.event for each in reversed(list(found))]

    def look_for_drift(self) -> None:
        """Has clusters looked at, and takes what was found."""
        control = self.opened().control
        control.find_drift(everything=True)
        self.settle()
        control.find_drift(everything=True)

    def said_of_drift(self) -> list[str]:
        found = self.opened().control._around.store.events("acme", "c1", limit=50)
        return [each.reason for each in found if each.event == "Drifted"]

    # ---- What is on clusters

    def get(self, cluster: str, kind: str, name: str = "web", api_version: str = "v1") -> Manifest | None:
        client = self.clients[cluster]
        return client.get(client.resource(api_version, kind), self.namespace, name)

    def versions(self, clusters: Iterable[str] | None = None) -> dict[str, str | None]:
        """What the clusters run."""
        found = {cluster: self.get(cluster, "ConfigMap") for cluster in clusters or self.clients}
        return {cluster: live["data"]["version"] if live is not None else None for cluster, live in found.items()}

    def change(self, cluster: str, kind: str, patch: Manifest, api_version: str = "v1", by: str = "somebody") -> None:
        """What somebody else does to an object."""
        client = Client(self.clients[cluster].access, by)
        client.merge(client.resource(api_version, kind), self.namespace, "web", patch)
        client.close()

    def become(self, cluster: str, healthy: bool = True) -> None:
        become(self.clients[cluster], self.namespace, healthy)

    def installed(self) -> None:
        """1.0.0 is everywhere, and healthy."""
        for cluster in self.clients:
            self.settle()
            if self.state(cluster).admitted is None:
                self.wait()
            self.become(cluster)
            self.wait()


def become(client: Client, namespace: str, healthy: bool) -> None:
    """What the controller of Deployments writes into the status, once all replicas run or none will."""
    deployments = client.resource("apps/v1", "Deployment")
    live = client.get(deployments, namespace, "web")
    assert live is not None
    replicas = live["spec"]["replicas"]
    conditions = [
        {"type": "Available", "status": "True"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
    ]
    if not healthy:
        replicas = 0
        message = "ReplicaSet has timed out progressing"
        conditions = [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": message}
        ]
    status = {
        "observedGeneration": live["metadata"]["generation"],
        **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas),
        "conditions": conditions,
    }
    client.merge(deployments, namespace, "web", {"status": status}, "status")


def _raise(error: Exception) -> None:
    raise error


Started = Callable[..., Workloads]
