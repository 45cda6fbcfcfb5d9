"""The operator as a real process on real API servers, killed at a write of a rollout: SIGKILL, so that nothing of it
runs any more.

Every kind of write is a boundary, before its request is sent and after it was answered: what is stored (the journal),
who works (the lease), what is shown (objects that Fleetform makes, statuses, Events), and what is brought to clusters
(applies, and the inventory there). Killed there and started again, it must end where an undisturbed rollout does.

    PYTHONPATH=.:tests python -m support.operator_kills

kills it at every single write of a rollout, one after the other.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServers
from support.management import Management, management_cluster
from support.waiting import until

Moment = Literal["before", "after"]
KINDS = ("lease", "journal", "object", "status", "event", "apply", "inventory")
# Ends the process at the nth write of a kind ("any": of all), before it is sent or after it was answered.
_CHILD = dedent(
    """
    import os, signal, sys
    from urllib.parse import urlsplit
    kind, number, moment = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    from fleetform.outside.kubernetes.client import Client

    def kind_of(path):
        if "/leases" in path:
            return "lease"
        if "/namespaces/fleetform-system/secrets" in path:
            return "journal"
        if path.endswith("/status"):
            return "status"
        if "/events" in path:
            return "event"
        if "/fleetform.dev/" in path:
            return "object"
        return "inventory" if "fleetform" in path.rpartition("/")[2] else "apply"

    counts = {}
    send = Client._send

    def counted(self, method, path, *rest, **more):
        if method == "GET":
            return send(self, method, path, *rest, **more)
        found = kind_of(urlsplit(path).path)
        for each in (found, "any"):
            counts[each] = counts.get(each, 0) + 1
        hit = counts.get(kind) == number and kind in (found, "any")
        if hit and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = send(self, method, path, *rest, **more)
        if hit:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    Client._send = counted
    from fleetform.cli.main import main
    main()
    """
)
_HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: acme%s}\nspec: "
_PRESET = """{clusterSelector: {}, plugin: {pluginDefinition: {name: web}, releaseNamespace: web},
  rollout: {stages: [{name: first, clusterSelector: {matchLabels: {tier: dev}}}, {name: rest, remainder: true}]}}"""
_MANIFESTS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {version: "%s"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-more}
data: {version: "%s"}
"""
_OWN = ("PluginDefinition", "PluginDefinitionRevision", "PluginPreset", "Plugin", "Rollout", "Cluster")
# What tells one rollout from another, and one time from another.
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_HASHES = re.compile(r"\b[0-9a-f]{7,64}\b")
_COUNTED = ("generation", "observedGeneration", "resourceVersion", "uid", "managedFields", "number", "selfLink")


class Kills:
    """An organization with a preset on two clusters, each an API server; version says what was released last."""

    def __init__(self, management: Management, workload: Client, folder: Path, config: str) -> None:
        self._management, self._folder = management, folder
        self.clusters = {"eu-1": management.client, "eu-2": workload}
        self._minor = 0
        self._process: subprocess.Popen[bytes] | None = None
        for name, text in (("eu-1", management.kubeconfig.read_text(encoding="utf-8")), ("eu-2", config)):
            metadata = {"name": name, "namespace": "acme"}
            management.client.create(
                {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"kubeconfig": text}}
            )
            labels = f", labels: {{tier: {'dev' if name == 'eu-1' else 'gold'}}}"
            access = f"{{access: {{kubeconfig: {{secret: {{name: {name}, key: kubeconfig}}}}}}}}"
            management.client.apply(read_one(_HEAD % ("Cluster", name, labels) + access))
        self.release()
        management.client.apply(read_one(_HEAD % ("PluginPreset", "web", "") + _PRESET))
        self.start()
        self.wait_until_settled()
        self.release()
        self.wait_until_settled()
        self.end = self.state()
        self.stop()

    @property
    def version(self) -> str:
        return f"1.{self._minor}.0"

    def release(self) -> None:
        """The next version of the definition."""
        self._minor += 1
        manifests = self._folder / "manifests" / self.version
        manifests.mkdir(parents=True)
        (manifests / "web.yaml").write_text(_MANIFESTS % (self.version, self.version), encoding="utf-8")
        spec = f"{{version: {self.version}, source: {{manifests: {{path: {manifests}}}}}}}"
        self._management.client.apply(read_one(_HEAD % ("PluginDefinition", "web", "") + spec), force=True)

    # ---- The process

    def start(self, kind: str = "none", number: int = 1, moment: Moment = "before") -> None:
        """Begins it, to be killed at a write. The lease of the one before it runs out first: nobody waits for that."""
        leases = self._management.client.resource("coordination.k8s.io/v1", "Lease")
        if self._management.client.get(leases, "fleetform-system", "fleetform-shard-0") is not None:
            patch = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
            self._management.client.merge(leases, "fleetform-system", "fleetform-shard-0", patch)
        command = [sys.executable, "-c", _CHILD, kind, str(number), moment, "operator"]
        command += ["--kubeconfig", str(self._management.kubeconfig), "--state-dir", str(self._folder / "state")]
        command += ["--sources-dir", str(self._folder), "--interval", "1s"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def was_killed(self) -> bool:
        assert self._process is not None
        ended = self._process.poll()
        assert ended in (None, -9), f"it ended with {ended}:\n{self.log()[-2000:]}"
        return ended is not None

    def log(self) -> str:
        return (self._folder / "log").read_text(encoding="utf-8")

    # ---- What it came to

    @property
    def is_settled(self) -> bool:
        plugins = self._items("Plugin")
        statuses = [each.get("status", {}) for each in plugins]
        told = [(each.get("running"), each.get("state")) for each in statuses]
        return told == [(self.version, "UpToDate")] * 2 and all(
            each.get("status", {}).get("phase") == "Succeeded" for each in self._items("Rollout")
        )

    def wait_until_settled(self) -> None:
        """It has come to its end, and stays there."""
        until(lambda: self.is_settled)
        before: object = None
        while (now := self.state()) != before:
            before = now
            time.sleep(1.5)

    def wait_for_the_end(self) -> None:
        """As an undisturbed rollout ends."""
        until(lambda: self.is_settled)
        end = time.monotonic() + 20
        while (found := self.state()) != self.end:
            assert time.monotonic() < end, _difference(self.end, found)
            time.sleep(0.1)

    def state(self) -> dict[str, Any]:
        """Everything of the last release and the one before it, here and on the clusters, as far as it does not differ
        between any two releases."""
        found: dict[str, Any] = {}
        for kind in _OWN:
            for each in self._items(kind):
                if not self._is_older(kind, each):
                    found[self._plain(f"{kind} {each['metadata']['name']}")] = self._plain_tree(each)
        for cluster, client in self.clusters.items():
            for each in client.items(client.resource("v1", "ConfigMap"), "web"):
                name = each["metadata"]["name"]
                if name != "kube-root-ca.crt":
                    found[f"{cluster} {name}"] = self._plain_tree(each)
        return found

    def _is_older(self, kind: str, manifest: dict[str, Any]) -> bool:
        """Whether it is of an earlier release alone."""
        if kind == "PluginDefinitionRevision":
            return manifest["spec"]["version"] not in (self.version, f"1.{self._minor - 1}.0")
        return kind == "Rollout" and manifest.get("status", {}).get("to") != self.version

    def _items(self, kind: str) -> list[dict[str, Any]]:
        client = self._management.client
        return list(client.items(client.resource("fleetform.dev/v1alpha1", kind), "acme"))

    def _plain_tree(self, tree: Any) -> Any:
        if isinstance(tree, dict):
            return {self._plain(key): self._plain_tree(each) for key, each in tree.items() if key not in _COUNTED}
        if isinstance(tree, list):
            return [self._plain_tree(each) for each in tree]
        return self._plain(tree) if isinstance(tree, str) else tree

    def _plain(self, text: str) -> str:
        for version, word in ((self.version, "NEW"), (f"1.{self._minor - 1}.0", "OLD")):
            text = re.sub(rf"\b{re.escape(version)}\b", word, text)
        return _HASHES.sub("HASH", _TIMES.sub("TIME", text))


def _difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    names = sorted(expected.keys() | found.keys())
    lines = [
        f"{name}\n  expected {expected.get(name)}\n  found    {found.get(name)}"
        for name in names
        if expected.get(name) != found.get(name)
    ]
    return "it does not end as an undisturbed rollout does:\n" + "\n".join(lines)


@contextmanager
def kills(api_servers: ApiServers, folder: Path) -> Iterator[Kills]:
    (server,) = api_servers.start("killed-workload")
    config = server.kubeconfig()
    try:
        with management_cluster(api_servers, "killed", folder) as management:
            found = Kills(management, Client(access_from_kubeconfig(config)), folder, config)
            try:
                yield found
            finally:
                found.stop()
    finally:
        server.process.kill()


def main() -> int:
    """At every write of a rollout: a release for each, until one ends without having come to it."""
    with ApiServers() as servers, tempfile.TemporaryDirectory() as folder, kills(servers, Path(folder)) as found:
        for moment in ("before", "after"):
            number = 1
            while _killed_at(found, number, moment):
                number += 1
            print(f"killed {moment} each of {number - 1} writes: it ends the same", flush=True)
    return 0


def _killed_at(found: Kills, number: int, moment: Moment) -> bool:
    """Whether the rollout had so many writes."""
    found.release()
    found.start("any", number, moment)
    # Leases are renewed for as long as it runs: a rollout that has ended has no further boundary.
    until(lambda: found.was_killed or found.is_settled)
    killed = found.was_killed
    if killed:
        found.start()
    found.wait_for_the_end()
    found.stop()
    return killed


if __name__ == "__main__":
    sys.exit(main())
