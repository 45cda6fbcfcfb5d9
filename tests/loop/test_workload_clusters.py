"""The whole control plane, with real API servers as its workload clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleetform.clusters import work
from fleetform.clusters.ownership import LEFT_BY, OWNER, PLUGIN
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError
from support.api_servers import ApiServers
from support.workloads import MANIFESTS, Started, Workloads, document


def rolled_out(fleet: Workloads) -> None:
    """A fleet of three clusters with 1.0.0 everywhere."""
    fleet.settle()
    assert fleet.versions() == {"c1": "1.0.0", "c2": None, "c3": None}
    fleet.become("c1")
    fleet.wait()
    assert fleet.versions() == {"c1": "1.0.0", "c2": "1.0.0", "c3": "1.0.0"}
    fleet.become("c2")
    fleet.become("c3")
    fleet.wait()
    assert all(fleet.state(each).is_healthy for each in fleet.clients)


@pytest.mark.rule("R2-15", "B1", "R2-38")
def test_a_version_goes_over_three_clusters_fails_and_goes_back(start: Started) -> None:
    fleet = start(3)
    rolled_out(fleet)
    fleet.offer("1.1.0")
    fleet.settle()
    assert fleet.versions() == {"c1": "1.1.0", "c2": "1.0.0", "c3": "1.0.0"}
    # What the controller wrote is about the generation before.
    fleet.wait()
    assert fleet.state("c1").in_flight
    fleet.become("c1")
    fleet.wait()
    assert fleet.versions() == {"c1": "1.1.0", "c2": "1.1.0", "c3": "1.1.0"}
    fleet.become("c2", healthy=False)
    fleet.wait()
    assert fleet.state("c2").failure == "Deployment " + fleet.namespace + "/web: ReplicaSet has timed out progressing"
    # A failure is tried again three times before it counts (B34).
    for minutes in (1, 2, 4):
        fleet.wait(60 * minutes + 10)
    assert fleet.versions() == {"c1": "1.0.0", "c2": "1.0.0", "c3": "1.0.0"}
    for each in fleet.clients:
        fleet.become(each)
    fleet.wait()
    assert all(fleet.state(each).is_healthy for each in fleet.clients)
    assert fleet.events("c2")[-3:] == ["Failed", "RolledBack", "Healthy"]
    fleet.restart()
    before = fleet.opened().control.image
    assert not fleet.wait(3600).plan.starts  # type: ignore[union-attr]
    assert fleet.opened().control.image.known.rejected == before.known.rejected != ()


def test_what_is_where_it_should_be_is_not_asked_for_again(start: Started) -> None:
    fleet = start()
    fleet.installed()
    client = fleet.clients["c1"]
    before = fleet.get("c1", "ConfigMap")
    report = fleet.wait(3600)
    assert not report.wrote
    assert fleet.get("c1", "ConfigMap") == before
    assert client.access.server == fleet.servers[0].url


def test_objects_that_a_version_no_longer_has_leave_and_so_does_all_of_a_plugin_that_goes(start: Started) -> None:
    fleet = start()
    more = MANIFESTS + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n"
    fleet.offer("1.0.1", more)
    fleet.installed()
    assert fleet.get("c1", "ConfigMap", "old") is not None
    fleet.offer("1.1.0")
    fleet.settle()
    assert fleet.versions() == {"c1": "1.1.0"}
    assert fleet.get("c1", "ConfigMap", "old") is None
    fleet.become("c1")
    fleet.wait()
    (fleet.folder / "fleet" / "preset.yaml").unlink()
    fleet.settle()
    assert fleet.versions() == {"c1": None}
    assert fleet.record("c1") is None
    assert fleet.get("c1", "Deployment", api_version="apps/v1") is None


@pytest.mark.rule("B25")
def test_a_cluster_that_does_not_answer_is_set_aside_and_catches_up(
    start: Started, api_servers: ApiServers, tmp_path: Path
) -> None:
    (server,) = api_servers.start("sometimes")
    fleet = start(2)
    fleet.add(server)
    fleet.write_preset(rolloutPolicy=None, rollout={"stages": [{"name": "all", "remainder": True}]})
    server.process.kill()
    server.process.wait()
    fleet.settle()
    assert {key: fleet.versions([key])[key] for key in ("c1", "c2")} == {"c1": "1.0.0", "c2": "1.0.0"}
    assert "does not answer" in fleet.trouble("c3").message
    assert fleet.state("c3").in_flight
    fleet.become("c1")
    fleet.become("c2")
    fleet.wait()
    assert fleet.state("c1").is_healthy
    assert fleet.state("c2").is_healthy
    fleet.wait(16 * 60)
    assert fleet.state("c3").attempt.phase == "SetAside"
    server = api_servers.start_again(server)
    fleet.restart()
    fleet.wait(16 * 60)
    assert fleet.versions(["c3"]) == {"c3": "1.0.0"}
    fleet.become("c3")
    fleet.wait()
    assert fleet.state("c3").is_healthy
    server.process.kill()


@pytest.mark.rule("B25")
def test_a_cluster_that_was_silent_is_asked_before_anything_starts_there_also_after_a_restart(start: Started) -> None:
    fleet = start(1)
    fleet.installed()
    good = fleet.servers[0].kubeconfig()
    fleet.reach_by("c1", good.replace(fleet.servers[0].url, "https://127.0.0.1:9"))
    fleet.wait(400)
    known = fleet.opened().control.image.known.rollouts
    (since,), (because,) = known.silent_since.values(), known.silent_because.values()
    assert "127.0.0.1:9" in because
    fleet.restart()
    fleet.offer("1.1.0")
    fleet.wait()
    fleet.wait(60)
    assert fleet.state("c1").admitted.version == "1.0.0"
    assert list(fleet.opened().control.image.known.rollouts.silent_since.values()) == [since]
    fleet.reach_by("c1", good)
    fleet.wait(60)
    fleet.wait(60)
    assert fleet.state("c1").admitted.version == "1.1.0"


def test_another_kubeconfig_in_the_secret_counts_at_once(start: Started) -> None:
    fleet = start()
    good = fleet.servers[0].kubeconfig()
    fleet.reach_by("c1", good.replace("the-administrator", "nobody-any-more"))
    fleet.settle()
    assert fleet.versions() == {"c1": None}
    assert fleet.trouble("c1").message
    assert "nobody-any-more" not in fleet.trouble("c1").message
    fleet.reach_by("c1", good)
    fleet.settle()
    assert fleet.versions() == {"c1": "1.0.0"}


def test_a_kubeconfig_that_would_run_a_program_is_refused_by_name(start: Started) -> None:
    fleet = start()
    exec_ = "users:\n- name: admin\n  user:\n    exec: {command: touch, args: [/tmp/was-here]}\n"
    head, _, tail = fleet.servers[0].kubeconfig().partition("users:\n")
    fleet.reach_by("c1", head + exec_ + tail[tail.index("contexts:") :])
    fleet.settle()
    assert fleet.trouble("c1").message == "the kubeconfig's exec runs a program, which is refused"


def test_a_context_of_a_kubeconfig_of_this_machine_reaches_it_too(start: Started) -> None:
    fleet = start()
    file = fleet.folder / "kubeconfig"
    file.write_text(fleet.servers[0].kubeconfig(), encoding="utf-8")
    fleet.write("c1.yaml", document("Cluster", "c1", {"access": {"context": "one"}}, labels={"tier": "first"}))
    fleet.settle()
    assert "serve --kubeconfig" in fleet.trouble("c1").hint
    fleet.restart()
    fleet.options["kubeconfig"] = str(file)
    fleet.wait()
    assert fleet.versions() == {"c1": "1.0.0"}


def test_an_organization_acts_as_its_own_service_account(start: Started) -> None:
    """Whatever a kubeconfig may do: what is not granted to that account is refused."""
    fleet = start()
    fleet.options["accounts_in"] = "fleetform"
    fleet.settle()
    assert "system:serviceaccount:fleetform:acme" in fleet.trouble("c1").message
    assert fleet.versions() == {"c1": None}
    client = fleet.clients["c1"]
    subject = {"kind": "ServiceAccount", "namespace": "fleetform", "name": "acme"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": fleet.namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    client.create(binding)
    for minutes in (1, 2, 4):
        fleet.wait(60 * minutes + 10)
    client.delete(client.resource_of(binding), "", fleet.namespace)
    assert fleet.versions() == {"c1": "1.0.0"}


def test_what_the_cluster_refuses_has_failed_there_and_goes_back(start: Started) -> None:
    fleet = start()
    fleet.installed()
    fleet.offer("1.1.0", MANIFESTS.replace("replicas: 2", "replicas: -1"))
    fleet.settle()
    assert "Deployment" in fleet.state("c1").failure
    assert "replicas" in fleet.state("c1").failure
    for minutes in (1, 2, 4):
        fleet.wait(60 * minutes + 10)
    assert fleet.versions() == {"c1": "1.0.0"}


@pytest.mark.rule("B23")
def test_a_release_moves_to_another_preset_without_being_uninstalled(start: Started) -> None:
    fleet = start()
    fleet.installed()
    before = fleet.get("c1", "Deployment", api_version="apps/v1")
    text = (fleet.folder / "fleet" / "preset.yaml").read_text(encoding="utf-8")
    (fleet.folder / "fleet" / "preset.yaml").write_text(
        text.replace("name: web\n", "name: other\n", 1), encoding="utf-8"
    )
    fleet.settle()
    fleet.wait()
    after = fleet.get("c1", "Deployment", api_version="apps/v1")
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["annotations"][OWNER] == "acme/c1/other-c1"
    assert fleet.record("c1") is None


def test_drift_is_named_by_field_and_manager_and_corrected(start: Started) -> None:
    fleet = start()
    fleet.installed()
    fleet.change("c1", "Deployment", {"spec": {"replicas": 7}}, "apps/v1", by="kubectl-edit")
    fleet.change("c1", "ConfigMap", {"data": {"theirs": "too"}})
    fleet.look_for_drift()
    assert fleet.said_of_drift() == [f"Deployment {fleet.namespace}/web: .spec.replicas (kubectl-edit) was changed"]
    fleet.settle()
    live = fleet.get("c1", "Deployment", api_version="apps/v1")
    assert live is not None
    assert live["spec"]["replicas"] == 2
    assert fleet.state("c1").drift == ()
    assert fleet.events("c1")[-2:] == ["Drifted", "DriftEnded"]


def test_drift_is_only_reported_where_that_is_asked_for(start: Started) -> None:
    fleet = start(drift="Report")
    fleet.installed()
    client = fleet.clients["c1"]
    client.delete(client.resource("v1", "ConfigMap"), fleet.namespace, "web")
    fleet.look_for_drift()
    fleet.wait(3600)
    assert fleet.said_of_drift() == [f"ConfigMap {fleet.namespace}/web is missing"]
    assert fleet.state("c1").drift == (f"ConfigMap {fleet.namespace}/web",)
    assert fleet.get("c1", "ConfigMap") is None


class Ending(Client):
    """A client of a process that ends at one of its writes."""

    left = 0

    def raw(self, method: str, path: str, *rest: Any, **more: Any) -> bytes:
        if method != "GET":
            if Ending.left == 0:
                raise BusyError("the process ended")
            Ending.left -= 1
        return super().raw(method, path, *rest, **more)


@pytest.mark.parametrize("writes", range(4))
def test_a_process_that_ends_at_a_write_is_gone_on_from(
    start: Started, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """And goes back if that is what the next one is asked for, though nobody knows how much of it was there."""
    fleet = start()
    fleet.installed()
    fleet.restart()
    Ending.left = writes
    with monkeypatch.context() as patched:
        patched.setattr(work, "connected", lambda access: Ending(access, tries=1))
        fleet.offer("1.1.0")
        fleet.wait()
        assert fleet.record("c1").input_hash == ""
        fleet.restart()
    (fleet.folder / "fleet" / "web-1.1.0.yaml").unlink()
    fleet.opened().driver.run_once()
    fleet.wait(60)
    live = fleet.get("c1", "Deployment", api_version="apps/v1")
    assert live is not None
    image = live["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.endswith(f":{fleet.versions()['c1']}")
    assert fleet.record("c1").input_hash == fleet.state("c1").admitted.input_hash


def test_what_is_there_already_is_named_with_what_taking_it_over_would_change_and_taken_over_when_asked(
    start: Started,
) -> None:
    fleet = start()
    client = fleet.clients["c1"]
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace}})
    metadata = {
        "name": "web",
        "namespace": fleet.namespace,
        "annotations": {"meta.helm.sh/release-name": "old", "meta.helm.sh/release-namespace": fleet.namespace},
    }
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": "0.9.0"}})
    fleet.settle()
    assert f"belongs to the Helm release {fleet.namespace}/old" in fleet.trouble("c1").message
    assert fleet.trouble("c1").hint.endswith("takes it over: it would change in .data.version")
    assert fleet.versions() == {"c1": "0.9.0"}
    fleet.delivery = {"adopt": True}
    fleet.write_preset()
    fleet.settle()
    assert fleet.versions() == {"c1": "1.0.0"}
    assert fleet.trouble("c1") is None


@pytest.mark.rule("B22")
def test_what_is_retained_is_nobodys_until_its_release_has_another_preset(start: Started) -> None:
    fleet = start()
    fleet.write_preset(deletionPolicy="Retain")
    fleet.installed()
    preset = fleet.folder / "fleet" / "preset.yaml"
    text = preset.read_text(encoding="utf-8")
    preset.unlink()
    fleet.settle()
    assert fleet.record("c1") is None
    assert fleet.events("c1").count("Retained") == 1
    live = fleet.get("c1", "ConfigMap") or {}
    assert live["data"] == {"version": "1.0.0"}
    assert (PLUGIN in live["metadata"].get("labels", {}), live["metadata"]["annotations"][LEFT_BY]) == (
        False,
        "acme/c1/web-c1",
    )
    # The release is the same, so its new preset has what the old one left (B23).
    preset.write_text(text.replace("name: web\n", "name: other\n", 1), encoding="utf-8")
    fleet.settle()
    assert fleet.opened().control.image.deliveries["acme", "c1", "other-c1"].trouble is None
    live = fleet.get("c1", "ConfigMap") or {}
    assert live["metadata"]["annotations"] == {OWNER: "acme/c1/other-c1"}


@pytest.mark.rule("B22")
@pytest.mark.parametrize("adopt", [False, True])
def test_what_a_preset_left_that_was_removed_another_one_takes_if_asked(start: Started, adopt: bool) -> None:
    fleet = start(adopt=adopt)
    metadata = '{name: kept, annotations: {"helm.sh/resource-policy": keep}}'
    fleet.offer("1.0.1", f"{MANIFESTS}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n")
    fleet.installed()
    preset = fleet.folder / "fleet" / "preset.yaml"
    text = preset.read_text(encoding="utf-8")
    preset.unlink()
    fleet.settle()
    assert fleet.versions() == {"c1": None}
    preset.write_text(text.replace("name: web\n", "name: other\n", 1), encoding="utf-8")
    fleet.settle()
    trouble = fleet.opened().control.image.deliveries["acme", "c1", "other-c1"].trouble
    assert (trouble is None) == adopt
    assert (fleet.versions() == {"c1": "1.0.1"}) == adopt
    if trouble is not None:
        assert "was left by plugin acme/c1/web-c1, which no longer has it" in trouble.message
        assert trouble.hint == "delivery.kubernetes.adopt: true takes it over: it would not change"


@pytest.mark.rule("B25")
def test_a_cluster_on_which_nothing_happens_is_missed_and_comes_back(start: Started) -> None:
    fleet = start()
    fleet.installed()
    good = fleet.servers[0].kubeconfig()
    fleet.reach_by("c1", good.replace(fleet.servers[0].url, "https://127.0.0.1:9"))
    fleet.wait(400)
    assert [ref.name for ref in fleet.opened().control.image.known.rollouts.silent_since] == ["c1"]
    assert not fleet.wait(60).wrote
    fleet.reach_by("c1", good)
    fleet.wait(400)
    assert not fleet.opened().control.image.known.rollouts.silent_since
