"""A management cluster: an API server with our kinds, asked by kubectl as people do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fleetform.dialects.native.crds import crds
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_out import write_yaml
from support.api_servers import ApiServer, ApiServers
from support.kit import tools


class Management:
    """The cluster, with its administrator's client."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server = server
        self.client = Client(access_from_kubeconfig(server.kubeconfig()))
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")

    def kubectl(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(tools() / "kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


@contextmanager
def management_cluster(api_servers: ApiServers, name: str, folder: Path) -> Iterator[Management]:
    """One of its own for a module of tests, with the namespaces acme and fleetform-system."""
    (server,) = api_servers.start(name)
    found = Management(server, folder)
    given = "---\n".join(write_yaml(each) for each in crds())
    applied = found.kubectl("apply", "--server-side", "-f", "-", given=given)
    assert applied.returncode == 0, applied.stderr
    waited = found.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    assert waited.returncode == 0, waited.stderr
    for namespace in ("acme", "fleetform-system"):
        found.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    try:
        yield found
    finally:
        server.process.kill()
