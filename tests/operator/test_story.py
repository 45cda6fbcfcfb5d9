"""A version over three real clusters by the operator as a process: it fails on one, and goes back everywhere by itself.

What a person sees with kubectl on the way is part of it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import read_one
from support.api_servers import ApiServer, ApiServers
from support.management import Management, management_cluster
from support.waiting import until
from support.workloads import MANIFESTS, become

# Pauses between tries add up to seven minutes: for this process a second is twenty.
_HURRIED = dedent(
    """
    from datetime import timedelta
    from fleetform.wiring import clock
    now, first = clock.SystemClock.now, None
    def hurried(self):
        global first
        at = now(self)
        first = first or at
        return at + 19 * (at - first)
    clock.SystemClock.now = hurried
    from fleetform.cli.main import main
    main()
    """
)
_HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: acme%s}\nspec: "
_STAGES = "[{name: first, clusterSelector: {matchLabels: {tier: dev}}}, {name: rest, remainder: true}]"
_PRESET = (
    "{clusterSelector: {}, plugin: {pluginDefinition: {name: web}, releaseNamespace: story},"
    f" rollout: {{stages: {_STAGES}, onFailure: Rollback}}}}"
)


class Story:
    def __init__(self, management: Management, servers: Sequence[ApiServer], folder: Path) -> None:
        self.management, self.folder = management, folder
        self.clusters = {
            f"c{number}": Client(access_from_kubeconfig(each.kubeconfig())) for number, each in enumerate(servers, 1)
        }
        for (name, _), server in zip(self.clusters.items(), servers, strict=True):
            metadata = {"name": name, "namespace": "acme"}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            management.client.create({**secret, "stringData": {"kubeconfig": server.kubeconfig()}})
            tier = "dev" if name == "c1" else "gold"
            access = f"{{access: {{kubeconfig: {{secret: {{name: {name}, key: kubeconfig}}}}}}}}"
            self.apply("Cluster", name, access, f", labels: {{tier: {tier}}}")

    def apply(self, kind: str, name: str, spec: str, more: str = "") -> None:
        self.management.client.apply(read_one(_HEAD % (kind, name, more) + spec), force=True)

    def release(self, version: str) -> None:
        manifests = self.folder / version
        manifests.mkdir()
        (manifests / "web.yaml").write_text(MANIFESTS.replace("${version}", version), encoding="utf-8")
        self.apply("PluginDefinition", "web", f"{{version: {version}, source: {{manifests: {{path: {manifests}}}}}}}")

    def there(self) -> dict[str, str | None]:
        """The version that each cluster has."""
        return {name: self._version(client) for name, client in self.clusters.items()}

    @staticmethod
    def _version(client: Client) -> str | None:
        found = client.get(client.resource("v1", "ConfigMap"), "story", "web")
        return found["data"]["version"] if found is not None else None

    def become(self, cluster: str, healthy: bool = True) -> None:
        become(self.clusters[cluster], "story", healthy)

    def kubectl(self, *arguments: str) -> str:
        done = self.management.kubectl(*arguments, "-n", "acme")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def columns(self, kind: str, *names: str) -> list[tuple[str, ...]]:
        """What `kubectl get` prints under some headings, line by line."""
        header, *lines = self.kubectl("get", kind, "-o", "wide").splitlines()
        begins = [header.index(name) for name in names]
        return [tuple(line[at:].split("  ")[0].strip() for at in begins) for line in lines]


@pytest.fixture
def story(api_servers: ApiServers, workload_servers: list[ApiServer], tmp_path: Path) -> Iterator[Story]:
    with management_cluster(api_servers, "story", tmp_path) as management:
        found = Story(management, workload_servers, tmp_path)
        command = [sys.executable, "-c", _HURRIED, "operator", "--kubeconfig", str(management.kubeconfig)]
        command += ["--state-dir", str(tmp_path / "state"), "--sources-dir", str(tmp_path), "--interval", "1s"]
        with (tmp_path / "log").open("wb") as log:
            operator = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield found
            assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")
        finally:
            operator.kill()
            operator.wait()


@pytest.mark.rule("R2-14", "R2-15", "B1", "B10", "B33")
def test_a_version_that_fails_on_one_of_three_clusters_goes_back_on_all(story: Story) -> None:
    story.release("1.0.0")
    story.apply("PluginPreset", "web", _PRESET)
    for several in (["c1"], ["c2", "c3"]):
        until(lambda several=several: all(story.there()[each] == "1.0.0" for each in several))  # type: ignore[misc]
        for each in several:
            story.become(each)
    until(lambda: story.columns("rollouts", "PHASE") == [("Succeeded",)])

    story.release("1.1.0")
    until(lambda: story.there()["c1"] == "1.1.0")
    assert story.there() == {"c1": "1.1.0", "c2": "1.0.0", "c3": "1.0.0"}, "the others come after the first stage"
    story.become("c1")
    until(lambda: set(story.there().values()) == {"1.1.0"})
    story.become("c3")
    story.become("c2", healthy=False)
    until(lambda: ("web-c2", "Failed") in story.columns("plugins", "NAME", "STATUS"))
    assert "ReplicaSet has timed out progressing" in story.kubectl("describe", "plugin", "web-c2")

    until(lambda: set(story.there().values()) == {"1.0.0"})
    for each in story.clusters:
        story.become(each)
    until(lambda: ("1.1.0", "Halted") in story.columns("rollouts", "TO", "PHASE"))
    until(lambda: {each for (each,) in story.columns("plugins", "VERSION")} == {"1.0.0"})
    events = story.kubectl("events", "--for", "plugin/web-c2")
    assert all(reason in events for reason in ("Started", "Failed", "RolledBack", "Healthy"))
    assert story.kubectl("get", "plugin", "web-c2", "-o", "jsonpath={.status.rejected[*]}") == "1.1.0"
    assert set(story.there().values()) == {"1.0.0"}
