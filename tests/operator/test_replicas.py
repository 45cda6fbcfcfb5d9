"""Replicas as real processes on a real API server: shared, killed, frozen and woken, told to end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fleetform.operator.workers import shard_of
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServers
from support.management import Management, management_cluster
from support.waiting import until

# An organization for each of three shards.
ORGANIZATIONS = [
    next(name for name in map("org-{}".format, range(99)) if shard_of(name, 3) == shard) for shard in range(3)
]
FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {version: "%s"}
"""


def _objects(organization: str, version: str, folder: Path) -> list[str]:
    manifests = folder / version
    manifests.mkdir(exist_ok=True)
    (manifests / "web.yaml").write_text(MANIFEST % version, encoding="utf-8")
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: " + organization + "}\nspec: "
    plugin = f"{{pluginDefinition: {{name: web}}, releaseNamespace: {organization}-web}}"
    return [
        head % ("PluginDefinition", "web") + f"{{version: {version}, source: {{manifests: {{path: {manifests}}}}}}}",
        head % ("Cluster", "eu-1") + "{access: {kubeconfig: {secret: {name: eu-1, key: kubeconfig}}}}",
        head % ("PluginPreset", "web") + f"{{clusterSelector: {{}}, plugin: {plugin}}}",
    ]


@pytest.fixture(scope="module")
def cluster(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Management]:
    with management_cluster(api_servers, "replicas", tmp_path_factory.mktemp("replicas")) as found:
        for name in ORGANIZATIONS:
            found.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            # The cluster is a workload cluster of each of them, too.
            metadata, config = {"name": "eu-1", "namespace": name}, found.kubeconfig.read_text(encoding="utf-8")
            found.client.create(
                {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"kubeconfig": config}}
            )
        yield found


class _Replica:
    def __init__(self, cluster: Management, folder: Path) -> None:
        folder.mkdir()
        self._log = folder / "log"
        command = [FLEETFORM, "operator", "--kubeconfig", str(cluster.kubeconfig)]
        command += ["--state-dir", str(folder / "state"), "--shards", "3", "--interval", "1s"]
        command += ["--sources-dir", str(folder.parent)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        until(lambda: "operator " in self.said() or self.process.poll() is not None)
        self.identity = self.said().split("operator ", 1)[1].split()[0]

    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")


def _holders(cluster: Management) -> list[str]:
    lease = cluster.client.resource("coordination.k8s.io/v1", "Lease")
    found = {each["metadata"]["name"]: each for each in cluster.client.items(lease, "fleetform-system")}
    return [str(found.get(f"fleetform-shard-{n}", {}).get("spec", {}).get("holderIdentity") or "") for n in range(3)]


def _version(cluster: Management, organization: str) -> str:
    """The version that the plugin of an organization runs: on its cluster, if its status tells the same."""
    plugin = cluster.client.resource("fleetform.dev/v1alpha1", "Plugin")
    found = cluster.client.get(plugin, organization, "web-eu-1") or {}
    there = cluster.client.get(cluster.client.resource("v1", "ConfigMap"), f"{organization}-web", "web") or {}
    told = (found.get("status", {}).get("running"), found.get("status", {}).get("state"))
    version = str(there.get("data", {}).get("version"))
    return version if told == (version, "UpToDate") else f"{version} there, {told} told"


def _release(cluster: Management, organization: str, version: str, folder: Path) -> None:
    for each in _objects(organization, version, folder):
        cluster.client.apply(read_one(each), force=True)


def test_replicas_share_organizations_and_what_one_leaves_another_goes_on_with(
    cluster: Management, tmp_path: Path
) -> None:
    for name in ORGANIZATIONS:
        _release(cluster, name, "1.0.0", tmp_path)
    with ExitStack() as ends:
        replicas = {}
        for number in range(3):
            made = _Replica(cluster, tmp_path / f"replica-{number}")
            ends.callback(made.process.wait)
            ends.callback(made.process.kill)
            replicas[made.identity] = made
        until(lambda: sorted(_holders(cluster)) == sorted(replicas))
        until(lambda: all(_version(cluster, name) == "1.0.0" for name in ORGANIZATIONS))

        # Killed: its organization goes on under another replica, from what was stored.
        killed, frozen, ending = (replicas[holder] for holder in _holders(cluster))
        killed.process.send_signal(signal.SIGKILL)
        _release(cluster, ORGANIZATIONS[0], "1.1.0", tmp_path)
        until(lambda: _version(cluster, ORGANIZATIONS[0]) == "1.1.0")

        # Frozen: the same; woken, it changes nothing any more.
        frozen.process.send_signal(signal.SIGSTOP)
        _release(cluster, ORGANIZATIONS[1], "1.1.0", tmp_path)
        until(lambda: _version(cluster, ORGANIZATIONS[1]) == "1.1.0")
        assert frozen.identity not in _holders(cluster)
        frozen.process.send_signal(signal.SIGCONT)
        _release(cluster, ORGANIZATIONS[1], "1.2.0", tmp_path)
        until(lambda: _version(cluster, ORGANIZATIONS[1]) == "1.2.0")

        # Told to end: it hands over at once, and says nothing of a failure.
        ending.process.send_signal(signal.SIGTERM)
        assert ending.process.wait(60) == 0
        assert ending.identity not in _holders(cluster)
        until(lambda: set(_holders(cluster)) == {frozen.identity})
        for name in ORGANIZATIONS:
            _release(cluster, name, "1.3.0", tmp_path)
        until(lambda: all(_version(cluster, name) == "1.3.0" for name in ORGANIZATIONS))
        for each in (frozen, ending):
            assert "Traceback" not in each.said()
            assert "it is a bug" not in each.said()


@pytest.mark.rule("B16")
def test_a_value_is_read_on_the_cluster_and_another_replica_goes_on_with_it(
    cluster: Management, tmp_path: Path
) -> None:
    home = ORGANIZATIONS[0]
    manifest = MANIFEST.replace('"%s"', "1.0.0, zone: '${ZONE}'")
    (tmp_path / "reads").mkdir()
    (tmp_path / "reads" / "web.yaml").write_text(manifest, encoding="utf-8")
    binding = "{name: ZONE, objectFieldRef: {kind: ConfigMap, name: net, fieldPath: /data/zone}}"
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: reads, namespace: " + home + "}\nspec: "
    plugin = "{pluginDefinition: {name: reads}, releaseNamespace: " + home + "-reads}"
    preset = f"{{clusterSelector: {{}}, plugin: {plugin}, bindings: [{binding}], substitute: {{ZONE: $(ZONE)}}}}"
    source = f"{{version: 1.0.0, source: {{manifests: {{path: {tmp_path / 'reads'}}}}}}}"
    for text in (head % "PluginDefinition" + source, head % "PluginPreset" + preset):
        cluster.client.apply(read_one(text), force=True)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{home}-reads"}}
    cluster.client.apply(namespace, force=True)
    _release(cluster, home, "1.0.0", tmp_path)

    def status() -> dict[str, Any]:
        plugin = cluster.client.resource("fleetform.dev/v1alpha1", "Plugin")
        found: dict[str, Any] = (cluster.client.get(plugin, home, "reads-eu-1") or {}).get("status", {})
        return found

    def say(zone: str) -> None:
        metadata = {"name": "net", "namespace": f"{home}-reads"}
        net = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"zone": zone}}
        cluster.client.apply(net, force=True)

    def zone() -> str | None:
        live = cluster.client.get(cluster.client.resource("v1", "ConfigMap"), f"{home}-reads", "web")
        return live["data"]["zone"] if live is not None else None

    with ExitStack() as ends:
        first = _Replica(cluster, tmp_path / "first")
        ends.callback(first.process.kill)
        until(lambda: any("there is no ConfigMap net /data/zone" in str(each) for each in status().get("blocked", [])))
        say("north")
        until(lambda: zone() == "north" and status()["state"] == "UpToDate")
        first.process.send_signal(signal.SIGTERM)
        assert first.process.wait(60) == 0
        before = status()["admitted"]
        assert before == status()["target"] == status()["lastHealthy"]
        say("south")
        second = _Replica(cluster, tmp_path / "second")
        ends.callback(second.process.wait)
        ends.callback(second.process.kill)
        until(lambda: zone() == "south" and status()["lastHealthy"] != before)
        after = status()["lastHealthy"]
        assert before.partition(".")[0] == after.partition(".")[0]


def test_an_api_server_that_goes_and_comes_back_is_waited_for(
    cluster: Management, api_servers: ApiServers, tmp_path: Path
) -> None:
    name = ORGANIZATIONS[0]
    _release(cluster, name, "2.0.0", tmp_path)
    with ExitStack() as ends:
        replica = _Replica(cluster, tmp_path / "replica")
        ends.callback(replica.process.wait)
        ends.callback(replica.process.kill)
        until(lambda: _version(cluster, name) == "2.0.0")
        cluster.server.process.kill()
        cluster.server.process.wait()
        api_servers.start_again(cluster.server)
        _release(cluster, name, "2.1.0", tmp_path)
        until(lambda: _version(cluster, name) == "2.1.0")
        assert replica.process.poll() is None
        assert "Traceback" not in replica.said()


def test_a_cluster_without_our_kinds_is_said(api_servers: ApiServers, tmp_path: Path) -> None:
    (server,) = api_servers.start("bare")
    config = tmp_path / "kubeconfig"
    config.write_text(server.kubeconfig(), encoding="utf-8")
    command = [FLEETFORM, "operator", "--kubeconfig", str(config)]
    with subprocess.Popen(
        [*command, "--state-dir", str(tmp_path / "state")], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(3)]
        process.kill()
    server.process.kill()
    assert "apply the CRDs first" in "".join(lines)
