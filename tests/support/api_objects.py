"""The fleet of a control plane that reads it from an API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.operator.generated import is_generated, persons_part
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.sources import SourceFiles
from support.plane import Files


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
        return SourceFiles(files, [], separate=True)


def _written(tree: Mapping[str, Any]) -> bytes:
    metadata = {key: each for key, each in tree["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return msgspec.json.encode({key: each for key, each in {**tree, "metadata": metadata}.items() if key != "status"})
