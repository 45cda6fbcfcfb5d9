"""A management cluster for tests: a real API server with our kinds, asked by kubectl as people do."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fleetform.dialects.native.crds import crds
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.operator.generated import is_generated, persons_part
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.sources import SourceFiles
from fleetform.syntax.yaml_out import write_yaml
from support.api_servers import ApiServer
from support.kit import tools
from support.plane import Files


class Management:
    """An API server that serves our kinds."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.access = access_from_kubeconfig(server.kubeconfig())
        self.client = Client(self.access)
        self._config = folder / "kubeconfig"
        self._config.write_text(server.kubeconfig(), encoding="utf-8")
        self.apply("---\n".join(write_yaml(each) for each in crds()))
        waited = self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        assert waited.returncode == 0, waited.stderr

    def kubectl(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(tools() / "kubectl"), "--kubeconfig", str(self._config), *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)

    def apply(self, manifests: str, *more: str) -> None:
        applied = self.kubectl("apply", "--server-side", "-f", "-", *more, given=manifests)
        assert applied.returncode == 0, applied.stderr

    def namespace(self, name: str) -> None:
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


class ApiObjects(Files):
    """What people wrote in some namespaces of an API server, as a source."""

    def __init__(self, client: Client, *namespaces: str) -> None:
        super().__init__({})
        self._client, self._namespaces = client, namespaces

    def read(self) -> SourceFiles:
        files: dict[str, bytes] = {}
        for kind in KINDS.values():
            if kind.written_by_fleetform:
                continue
            resource = self._client.resource(API_VERSION, kind.name)
            for namespace in self._namespaces:
                for each in self._client.items(resource, namespace):
                    manifest = {"apiVersion": API_VERSION, "kind": kind.name, **each}
                    tree = persons_part(manifest) if is_generated(manifest) else manifest
                    if tree is not None:
                        files[f"{kind.name}/{namespace}/{each['metadata']['name']}.yaml"] = _written(tree)
        return SourceFiles(files, [])


def _written(tree: Mapping[str, Any]) -> bytes:
    metadata = {key: each for key, each in tree["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return msgspec.json.encode({key: each for key, each in {**tree, "metadata": metadata}.items() if key != "status"})
