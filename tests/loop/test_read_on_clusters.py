"""Values that bindings ask of clusters, read on real API servers by the whole control plane (B16)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetform.app.explain import explain
from fleetform.app.questions import find_plugin
from fleetform.app.scope import Scope
from fleetform.app.why import why
from fleetform.clusters.ownership import Manifest
from fleetform.model.answers.base import MASKED
from fleetform.outside.kubernetes.client import Client
from support.api_servers import ApiServer
from support.workloads import MANIFESTS, Workloads, document

READS_ZONE = MANIFESTS.replace('version: "${version}"}', 'version: "${version}", zone: "${ZONE}"}')


class Read(Workloads):
    """A fleet whose plugins read `/data/zone` of a ConfigMap `net` on their clusters."""

    def __init__(self, folder: Path, servers: list[ApiServer]) -> None:
        super().__init__(folder, servers)
        self.offer("1.0.1", READS_ZONE)
        self.bind()
        for cluster in self.clients:
            self.put(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.home}})

    @property
    def home(self) -> str:
        """The namespace of what is read."""
        return f"{self.namespace}-net"

    def bind(self, *, binding: dict[str, Any] | None = None, policy: str | None = "standard", **ref: Any) -> None:
        reference = {"kind": "ConfigMap", "namespace": self.home, "name": "net", "fieldPath": "/data/zone", **ref}
        bindings = [{"name": "ZONE", "objectFieldRef": reference, **(binding or {})}]
        self.write_preset(bindings=bindings, substitute={"ZONE": "$(ZONE)"}, rolloutPolicy=policy)

    def put(self, cluster: str, manifest: Manifest) -> None:
        client = Client(self.clients[cluster].access, "somebody")
        client.apply(manifest, force=True)
        client.close()

    def say(self, cluster: str, **data: str) -> None:
        """What the ConfigMap of a cluster holds."""
        metadata = {"name": "net", "namespace": self.home}
        self.put(cluster, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def zones(self) -> dict[str, str | None]:
        found = {cluster: self.get(cluster, "ConfigMap") for cluster in self.clients}
        return {cluster: live["data"].get("zone") if live is not None else None for cluster, live in found.items()}

    def everywhere(self) -> None:
        """What is wanted is on all clusters, and healthy."""
        self.settle()
        for _ in self.clients:
            for cluster in self.clients:
                if self.get(cluster, "ConfigMap") is not None:
                    self.become(cluster)
            self.wait()

    def gates(self, cluster: str) -> list[tuple[str, str]]:
        fleet = self.opened().control.fleet
        assert fleet is not None
        (item,) = why(fleet, Scope("acme", cluster), f"web-{cluster}").items
        return [(each.gate, each.message) for each in item.reasons]

    def happened(self, cluster: str) -> list[Any]:
        """The last first."""
        return list(self.opened().control._around.store.events("acme", cluster, limit=50))

    def hold(self, why: str | None) -> None:
        """What c1 says about changes there."""
        file = self.folder / "fleet" / "c1.yaml"
        lines = [line for line in file.read_text().splitlines() if "hold:" not in line]
        lines += [f"  hold: {why}"] if why is not None else []
        file.write_text("\n".join(lines) + "\n")

    def binding(self, cluster: str) -> Any:
        fleet = self.opened().control.fleet
        assert fleet is not None
        return explain(fleet, find_plugin(fleet, Scope("acme"), f"web-{cluster}", None)).bindings[0]


@pytest.fixture
def start(tmp_path: Path, workload_servers: list[ApiServer]) -> Iterator[Any]:
    made: list[Read] = []

    def start(clusters: int = 1) -> Read:
        made.append(Read(tmp_path, workload_servers[:clusters]))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.mark.rule("B16", "R3-3")
def test_each_cluster_gets_what_was_read_on_it(start: Any) -> None:
    fleet = start(2)
    fleet.bind(policy=None)
    fleet.say("c1", zone="eu-1a")
    fleet.say("c2", zone="us-2b")
    fleet.settle()
    assert fleet.zones() == {"c1": "eu-1a", "c2": "us-2b"}
    one, two = (fleet.state(each).admitted.input_hash for each in ("c1", "c2"))
    assert one.partition(".")[0] == two.partition(".")[0]
    assert one != two


@pytest.mark.rule("B16", "R3-26")
def test_nothing_starts_before_it_was_found_and_then_it_does(start: Any) -> None:
    fleet = start()
    fleet.settle()
    assert fleet.zones() == {"c1": None}
    ((gate, message),) = fleet.gates("c1")
    assert gate == "config-missing"
    assert message == f"ZONE cannot be resolved: there is no ConfigMap {fleet.home}/net /data/zone on the cluster"
    fleet.say("c1", other="x")
    fleet.wait(60)
    assert fleet.binding("c1").do == "it has /data/other"
    fleet.say("c1", zone="eu-1a")
    fleet.wait(60)
    assert fleet.zones() == {"c1": "eu-1a"}


@pytest.mark.rule("B16", "R3-26")
def test_a_default_counts_once_it_is_known_that_there_is_nothing(start: Any) -> None:
    fleet = start()
    fleet.bind(binding={"default": "nowhere"})
    fleet.settle()
    assert fleet.zones() == {"c1": "nowhere"}
    fleet.become("c1")
    fleet.wait()
    fleet.say("c1", zone="eu-1a")
    fleet.wait(90)
    assert fleet.zones() == {"c1": "eu-1a"}


@pytest.mark.rule("B16", "R0-16")
def test_another_value_is_a_change_of_that_cluster_alone_and_of_no_rollout(start: Any) -> None:
    fleet = start(2)
    for each in fleet.clients:
        fleet.say(each, zone="one")
    fleet.everywhere()
    assert fleet.zones() == {"c1": "one", "c2": "one"}
    known = fleet.opened().control.image.known.rollouts.rollouts
    # c2 is of the last stage, which waits for nobody here.
    fleet.say("c2", zone="two")
    fleet.wait(90)
    assert fleet.zones() == {"c1": "one", "c2": "two"}
    assert fleet.opened().control.image.known.rollouts.rollouts == known
    started = next(each for each in fleet.happened("c2") if each.event == "Started")
    assert started.reason == f"ZONE was read anew: ConfigMap {fleet.home}/net /data/zone"
    read = fleet.binding("c2")
    assert (read.value, read.resolved) == ("two", "downstream")
    assert (read.read.cluster, read.read.namespace, read.read.name) == ("c2", fleet.home, "net")
    assert read.read.since == fleet.at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.rule("B16")
def test_of_several_values_of_a_cluster_the_one_that_is_another_is_told(start: Any) -> None:
    fleet = start()
    field = {"kind": "ConfigMap", "namespace": fleet.home, "name": "net"}
    bindings = [
        {"name": name, "objectFieldRef": {**field, "fieldPath": f"/data/{name.lower()}"}} for name in ("RACK", "ZONE")
    ]
    fleet.write_preset(bindings=bindings, substitute={"ZONE": "$(ZONE)-$(RACK)"}, rolloutPolicy="standard")
    fleet.say("c1", zone="one", rack="r1")
    fleet.everywhere()
    reasons = []
    for data in ({"zone": "two", "rack": "r1"}, {"zone": "two", "rack": "r2"}):
        fleet.say("c1", **data)
        fleet.wait(90)
        assert fleet.zones() == {"c1": f"{data['zone']}-{data['rack']}"}
        fleet.become("c1")
        fleet.wait()
        reasons.append(next(each.reason for each in fleet.happened("c1") if each.event == "Started"))
    assert reasons == [
        f"{name} was read anew: ConfigMap {fleet.home}/net /data/{name.lower()}" for name in ("ZONE", "RACK")
    ]


@pytest.mark.rule("B16")
def test_nothing_is_stored_while_nothing_changes_also_after_a_restart(start: Any) -> None:
    fleet = start()
    fleet.say("c1", zone="one")
    fleet.everywhere()
    fleet.wait(3600)
    assert not fleet.wait(3600).wrote
    fleet.restart()
    fleet.wait(60)
    assert not fleet.wait(60).wrote
    assert fleet.zones() == {"c1": "one"}


@pytest.mark.rule("B16", "R2-38", "B1")
def test_a_way_back_brings_the_values_that_were_healthy(start: Any) -> None:
    fleet = start()
    fleet.say("c1", zone="one")
    fleet.everywhere()
    fleet.hold("a migration")
    fleet.say("c1", zone="two")
    fleet.wait(90)
    fleet.offer("1.1.0", READS_ZONE)
    fleet.hold(None)
    fleet.wait()
    assert (fleet.versions(), fleet.zones()) == ({"c1": "1.1.0"}, {"c1": "two"})
    fleet.become("c1", healthy=False)
    for seconds in (6, 70, 130, 250):
        fleet.wait(seconds)
    assert (fleet.versions(), fleet.zones()) == ({"c1": "1.0.1"}, {"c1": "one"})


@pytest.mark.rule("B16")
def test_the_veto_of_its_cluster_holds_another_value(start: Any) -> None:
    fleet = start()
    fleet.say("c1", zone="one")
    fleet.everywhere()
    fleet.hold("a migration")
    fleet.say("c1", zone="two")
    fleet.wait(90)
    assert fleet.zones() == {"c1": "one"}
    assert [gate for gate, _ in fleet.gates("c1")] == ["veto"]
    fleet.hold(None)
    fleet.wait()
    assert fleet.zones() == {"c1": "two"}


@pytest.mark.rule("B16")
def test_another_reference_is_read_before_anything_is_made_of_it(start: Any) -> None:
    fleet = start()
    fleet.say("c1", zone="one", area="north")
    fleet.everywhere()
    fleet.bind(fieldPath="/data/area")
    fleet.settle()
    assert fleet.zones() == {"c1": "north"}
    assert dict(fleet.state("c1").observed) == {"ZONE": "north"}


@pytest.mark.rule("B16", "B25")
def test_a_cluster_that_does_not_answer_keeps_what_was_read(start: Any) -> None:
    fleet = start()
    fleet.say("c1", zone="one")
    fleet.everywhere()
    reached = fleet.servers[0].kubeconfig()
    fleet.reach_by("c1", reached.replace(fleet.servers[0].url, "https://127.0.0.1:9"))
    fleet.wait(120)
    assert list(fleet.opened().control.image.known.rollouts.silent_since)
    assert fleet.binding("c1").value == "one"
    fleet.reach_by("c1", reached)
    fleet.say("c1", zone="two")
    fleet.wait(120)
    assert fleet.zones() == {"c1": "two"}
    assert not fleet.opened().control.image.known.rollouts.silent_since


@pytest.mark.rule("B16", "B25")
def test_a_cluster_of_which_nothing_is_wanted_and_that_has_nothing_is_not_asked(start: Any) -> None:
    fleet = start(2)
    fleet.say("c1", zone="one")
    written = (fleet.folder / "fleet" / "preset.yaml").read_text()
    fleet.write("preset.yaml", written.replace("clusterSelector: {}", "clusterSelector: {clusterNames: [c1]}"))
    fleet.reach_by("c2", fleet.servers[1].kubeconfig().replace(fleet.servers[1].url, "https://127.0.0.1:9"))
    fleet.settle()
    for _ in range(2):
        fleet.wait(600)
    assert fleet.zones() == {"c1": "one", "c2": None}
    assert not fleet.opened().control.image.known.rollouts.silent_since


def may(fleet: Read, *rules: dict[str, Any]) -> None:
    """What the account of the organization may do on its cluster, and nothing else."""
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": fleet.home}, "rules": [*rules]}
    bound = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": fleet.home},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": fleet.home},
        "subjects": [{"kind": "ServiceAccount", "name": "acme", "namespace": fleet.home}],
    }
    fleet.put("c1", role)
    fleet.put("c1", bound)


ALL_BUT_GET = (
    {"apiGroups": ["*"], "resources": ["deployments", "namespaces"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "create", "patch", "delete"]},
)
GET = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}


@pytest.mark.rule("B16")
def test_what_may_not_be_read_is_told_with_what_to_grant(start: Any) -> None:
    fleet = start()
    fleet.say("c1", zone="one")
    fleet.options["accounts_in"] = fleet.home
    may(fleet, *ALL_BUT_GET)
    fleet.settle()
    ((gate, message),) = fleet.gates("c1")
    assert gate == "downstream"
    assert message.startswith(f"ZONE waits for ConfigMap {fleet.home}/net /data/zone on the cluster, which cannot be")
    assert "forbidden" in message
    grant = f"let the account that this cluster is reached with get configmaps in the namespace {fleet.home}"
    assert fleet.binding("c1").do == grant
    may(fleet, *ALL_BUT_GET, GET)
    fleet.wait(60)
    assert fleet.zones() == {"c1": "one"}
    fleet.become("c1")
    fleet.wait()
    may(fleet, *ALL_BUT_GET)
    fleet.say("c1", zone="two")
    fleet.wait(90)
    assert fleet.zones() == {"c1": "one"}
    assert "forbidden" in fleet.binding("c1").read.problem
    assert fleet.binding("c1").value == "one"


@pytest.mark.rule("S63", "B16", "B17", "R3-4")
def test_an_output_that_is_a_field_on_the_cluster_is_read_for_those_that_bind_to_it(start: Any) -> None:
    fleet = start()
    source = fleet.folder / "sources" / "ca"
    source.mkdir(parents=True)
    (source / "ca.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca}\ndata: {zone: made}\n")
    output = {"name": "zone", "objectFieldRef": {"kind": "ConfigMap", "name": "ca", "fieldPath": "/data/zone"}}
    made = {"version": "1.0.0", "source": {"manifests": {"path": "../sources/ca"}}, "outputs": [output]}
    fleet.write("ca.yaml", document("PluginDefinition", "ca", made))
    plugin = {"pluginDefinition": {"name": "ca"}, "releaseNamespace": fleet.home}
    preset = {"clusterSelector": {}, "plugin": plugin, "delivery": {"kubernetes": {}}}
    fleet.write("of-ca.yaml", document("PluginPreset", "ca", preset))
    binding = {"name": "ZONE", "pluginOutputRef": {"definition": "ca", "output": "zone"}}
    fleet.write_preset(controlPlaneBindings=[binding], substitute={"ZONE": "$(ZONE)"})
    fleet.settle()
    fleet.wait(30)
    assert fleet.zones() == {"c1": "made"}


# ---- Secrets

CANARY = "tell-nobody"
HOLDS_TOKEN = (
    READS_ZONE
    + """
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {token: "${ZONE}"}
"""
)


def reading_a_secret(fleet: Read, token: str) -> None:
    metadata = {"name": "net", "namespace": fleet.home}
    data = {"zone": b64encode(token.encode()).decode()}
    fleet.put("c1", {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


def token_on(fleet: Read) -> str | None:
    live = fleet.get("c1", "Secret")
    return b64decode(live["data"]["token"]).decode() if live is not None else None


@pytest.mark.rule("B16", "B18", "S5")
def test_a_secret_of_the_cluster_is_stored_nowhere_and_filled_in_there(start: Any) -> None:
    fleet = start()
    fleet.offer("1.0.2", HOLDS_TOKEN.replace(', zone: "${ZONE}"', ""))
    fleet.bind(kind="Secret")
    reading_a_secret(fleet, CANARY)
    fleet.settle()
    assert token_on(fleet) == CANARY
    fleet.become("c1")
    fleet.wait()
    before = fleet.state("c1").admitted.input_hash
    reading_a_secret(fleet, f"{CANARY}-2")
    fleet.wait(90)
    assert token_on(fleet) == f"{CANARY}-2"
    assert fleet.state("c1").admitted.input_hash != before
    assert fleet.binding("c1").value is MASKED
    fleet.restart()
    for file in fleet.folder.glob("state.db*"):
        content = file.read_bytes()
        for each in (CANARY.encode(), b64encode(CANARY.encode())[:12], b64encode(f"{CANARY}-2".encode())[:12]):
            assert each not in content, file


@pytest.mark.rule("B16", "B18")
def test_a_secret_of_the_cluster_is_no_part_of_a_text(start: Any) -> None:
    fleet = start()
    fleet.offer("1.0.2", HOLDS_TOKEN)
    fleet.bind(kind="Secret")
    written = (fleet.folder / "fleet" / "preset.yaml").read_text()
    fleet.write("preset.yaml", written.replace("ZONE: $(ZONE)", "ZONE: a-$(ZONE)"))
    reading_a_secret(fleet, CANARY)
    fleet.settle()
    ((gate, message),) = fleet.gates("c1")
    assert gate == "value-type"
    assert message == "$(ZONE) cannot be part of a text: it is a secret of the cluster, and known there alone"


@pytest.mark.rule("B16")
def test_of_a_secret_one_key_is_read(start: Any) -> None:
    fleet = start()
    fleet.offer("1.0.2", HOLDS_TOKEN)
    fleet.bind(kind="Secret", fieldPath="/data")
    reading_a_secret(fleet, CANARY)
    fleet.settle()
    ((gate, message),) = fleet.gates("c1")
    assert (gate, message.partition("cannot be read: ")[2]) == (
        "downstream",
        "of a Secret one key of its data is read",
    )
