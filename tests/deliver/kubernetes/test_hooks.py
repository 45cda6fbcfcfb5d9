"""Helm's hooks on a real API server: before and after, by weight, waited for, and once for each state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from fleetform.clusters.inventory import Inventory
from fleetform.clusters.ownership import Manifest
from fleetform.deliver.kubernetes.apply import ClusterApply
from fleetform.deliver.kubernetes.hooks import HookRunner
from fleetform.deliver.kubernetes.problems import Problem
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from support.api_servers import ApiServer
from support.targets import custom
from support.waiting import finished


class Release:
    """A namespace with a plugin, and a controller of Jobs that completes them while nobody looks."""

    def __init__(self, server: ApiServer) -> None:
        self.client = Client(access_from_kubeconfig(server.kubeconfig()))
        self.namespace = f"hooks-{uuid4().hex[:8]}"
        self.key: PluginKey = ("acme", "eu-1", self.namespace)
        self.seen: set[str] = set()
        self.ended: list[str] = []
        self.fails: set[str] = set()

    def apply(self, digest: str, *objects: Manifest) -> list[Problem]:
        """Applies; whenever it waits, Jobs that run are ended."""
        return list(
            finished(ClusterApply(self.client).apply(self.key, self.namespace, objects, digest=digest), self.end)
        )

    def end(self, _: float) -> None:
        jobs = self.client.resource("batch/v1", "Job")
        for job in self.client.items(jobs, self.namespace):
            name, uid = job["metadata"]["name"], job["metadata"]["uid"]
            if uid in self.seen:
                continue
            self.seen.add(uid)
            self.ended.append(name)
            # With what was there at that moment.
            self.there = {each["metadata"]["name"] for each in self.maps()}
            failed = name in self.fails
            last = "Failed" if failed else "Complete"
            before = "FailureTarget" if failed else "SuccessCriteriaMet"
            stamp = {"status": "True", "lastTransitionTime": "2026-11-01T12:00:00Z", "message": "said no"}
            status: dict[str, Any] = {
                "startTime": "2026-11-01T12:00:00Z",
                "conditions": [{"type": before, **stamp}, {"type": last, **stamp}],
            }
            if not failed:
                status["completionTime"] = "2026-11-01T12:00:00Z"
            self.client.merge(jobs, self.namespace, name, {"status": status}, "status")

    def maps(self) -> list[Manifest]:
        return list(self.client.items(self.client.resource("v1", "ConfigMap"), self.namespace))

    def jobs(self) -> set[str]:
        return {
            each["metadata"]["name"]
            for each in self.client.items(self.client.resource("batch/v1", "Job"), self.namespace)
        }

    def ran(self) -> list[str]:
        found, self.ended = self.ended, []
        return found


@pytest.fixture
def release(hub: ApiServer) -> Iterator[Release]:
    found = Release(hub)
    yield found
    found.client.close()


def job(name: str, hook: str, **annotations: str) -> Manifest:
    written = {"helm.sh/hook": hook, **{f"helm.sh/{key.replace('_', '-')}": each for key, each in annotations.items()}}
    container = {"name": "run", "image": "registry.example.com/run"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": written},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def uid_of(release: Release) -> str:
    (found,) = (each["metadata"]["uid"] for each in release.maps() if each["metadata"]["name"] == "settings")
    return str(found)


def finalized(release: Release, *finalizers: str) -> None:
    maps = release.client.resource("v1", "ConfigMap")
    release.client.merge(maps, release.namespace, "settings", {"metadata": {"finalizers": list(finalizers) or None}})


DELETED_WHENEVER = "before-hook-creation,hook-succeeded"
WEB: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}


def test_those_before_come_first_by_weight_and_those_after_last(release: Release) -> None:
    hooks = [
        job("second", "pre-install", hook_weight="5"),
        job("first", "pre-install,pre-upgrade", hook_weight="-5"),
        job("last", "post-install"),
        job("at-upgrades", "pre-upgrade"),
        job("a-test", "test"),
        job("at-the-end", "post-delete"),
    ]
    assert release.apply("d1", *hooks[:2], WEB) == []
    assert release.ran() == ["first", "second"]
    assert "web" not in release.there
    assert release.apply("d2", *hooks, WEB) == []
    assert release.ran() == ["first", "at-upgrades"]
    assert release.jobs() == {"at-upgrades", "first"}


def test_those_after_run_when_the_objects_are_there(release: Release) -> None:
    assert release.apply("d1", job("last", "post-install"), WEB) == []
    assert release.ran() == ["last"]
    assert "web" in release.there


def test_they_run_once_for_each_state_and_are_made_anew(release: Release) -> None:
    hook = job("migrate", "pre-install,pre-upgrade")
    assert release.apply("d1", hook, WEB) == []
    assert release.ran() == ["migrate"]
    assert release.apply("d1", hook, WEB) == []
    assert release.ran() == []
    assert release.apply("d2", hook, WEB) == []
    assert release.ran() == ["migrate"]


def test_one_that_fails_keeps_the_objects_back(release: Release) -> None:
    release.fails.add("migrate")
    (problem,) = release.apply("d1", job("migrate", "pre-install", hook_delete_policy="hook-failed"), WEB)
    assert problem.refused
    assert "said no" in problem.message
    assert "kubectl" in problem.hint
    assert "web" not in {each["metadata"]["name"] for each in release.maps()}
    assert release.jobs() == set()
    release.fails.clear()
    assert release.apply("d1", job("migrate", "pre-install"), WEB) == []


def test_one_that_is_to_go_once_it_succeeded_goes_and_is_no_drift(release: Release) -> None:
    assert release.apply("d1", job("migrate", "pre-install", hook_delete_policy="hook-succeeded"), WEB) == []
    assert release.jobs() == set()
    known = Inventory(release.client, release.key, release.namespace).read()
    assert {ref.name: entry.hook for ref, entry in known.objects.items()} == {"migrate": True, "web": False}
    assert known.applied == "d1"


def test_a_plugin_that_goes_takes_its_hooks_with_it(release: Release) -> None:
    assert release.apply("d1", job("migrate", "pre-install"), WEB) == []
    assert list(finished(ClusterApply(release.client).remove(release.key, release.namespace))) == []
    assert release.jobs() == set()
    assert [each["metadata"]["name"] for each in release.maps()] == []


def test_one_whose_deletion_takes_a_while_is_waited_for_and_then_made_anew(release: Release) -> None:
    metadata = {"name": "settings", "annotations": {"helm.sh/hook": "pre-install,pre-upgrade"}}
    hook: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    assert release.apply("d1", hook) == []
    before = uid_of(release)
    finalized(release, "example.com/slow")
    # As long as its finalizer is there it is not gone, and at last nobody waits any longer.
    ticks = iter((0.0, 299.0, 300.0))
    runner = HookRunner(release.client, release.key, lambda: next(ticks))
    there: Manifest = {**hook, "metadata": {**metadata, "namespace": release.namespace}}
    waits = list[float]()
    (problem,) = finished(runner.run([there]), waits.append)
    assert problem.message == "it is still being deleted after 5 minutes"
    assert "finalizers" in problem.hint
    assert len(waits) == 1
    patient = HookRunner(release.client, release.key, lambda: 0.0)
    assert finished(patient.run([there]), lambda _: finalized(release)) == []
    assert uid_of(release) != before


@pytest.mark.rule("B22")
def test_a_kind_that_a_hook_brings_is_never_deleted_with_what_people_made_of_it(release: Release) -> None:
    crd, _ = custom(f"{uuid4().hex[:8]}.example.com")
    crd["metadata"]["annotations"] = {"helm.sh/hook": "crd-install", "helm.sh/hook-delete-policy": DELETED_WHENEVER}
    assert release.apply("d1", crd, WEB) == []
    kinds = release.client.resource(crd["apiVersion"], crd["kind"])
    before = release.client.get(kinds, "", crd["metadata"]["name"]) or {}
    assert release.apply("d2", crd, WEB) == []
    assert list(finished(ClusterApply(release.client).remove(release.key, release.namespace))) == []
    # Installed again, it is its own as before, and unasked.
    assert release.apply("d3", crd, WEB) == []
    after = release.client.get(kinds, "", crd["metadata"]["name"]) or {}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_one_that_is_not_made_anew_becomes_what_is_written_whoever_changed_it_since(release: Release) -> None:
    def hook(version: str) -> Manifest:
        annotations = {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "hook-failed"}
        metadata = {"name": "settings", "annotations": annotations}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": version}}

    assert release.apply("d1", hook("1")) == []
    before = uid_of(release)
    person = Client(release.client.access, "kubectl-edit")
    maps = person.resource("v1", "ConfigMap")
    person.merge(maps, release.namespace, "settings", {"data": {"version": "theirs"}})
    person.close()
    assert release.apply("d2", hook("2")) == []
    (after,) = (each for each in release.maps() if each["metadata"]["name"] == "settings")
    assert (after["metadata"]["uid"], after["data"]) == (before, {"version": "2"})


def test_one_that_never_ends_is_waited_for_so_long_and_not_run_again_by_itself(release: Release) -> None:
    hook = job("migrate", "pre-install")
    hook["metadata"]["namespace"] = release.namespace
    assert release.apply("d1", WEB) == []
    ticks = iter((0.0, 299.0, 300.0))
    runner = HookRunner(release.client, release.key, lambda: next(ticks))
    waits = list[float]()
    (problem,) = finished(runner.run([hook]), waits.append)
    assert problem.message == "the hook did not end within 5 minutes"
    assert problem.hint == f"look at its pods: kubectl -n {release.namespace} logs job/migrate"
    assert problem.refused
    assert len(waits) == 1
