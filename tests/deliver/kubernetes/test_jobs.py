"""Jobs with a time to live on a real API server: once they ended they go by themselves, and run once for each state."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.clusters.inventory import KIND
from fleetform.clusters.ownership import label_of
from fleetform.deliver.kubernetes.drift import look_for_drift
from fleetform.observe.applied import _judged
from fleetform.ports.observing import Applied, Verdict
from support.targets import KEY, Target, config
from support.waiting import finished

BATCH = "batch/v1"


def job(seconds: int | None) -> dict[str, Any]:
    container = {"name": "run", "image": "registry.example.com/run"}
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    lives = {"ttlSecondsAfterFinished": seconds} if seconds is not None else {}
    return {"apiVersion": BATCH, "kind": "Job", "metadata": {"name": "migrate"}, "spec": {**spec, **lives}}


def _goes(target: Target) -> None:
    """As by its time to live, or by somebody: nobody can tell."""
    target.kubectl("delete", "job", "migrate")


def _drift(target: Target) -> list[str]:
    return [each.text for each in finished(look_for_drift(target.client, [target.namespace])).found[label_of(KEY)]]


def _health(target: Target) -> Verdict:
    return finished(_judged({KEY: Applied(target.namespace, ("acme", "eu-1"))}, target.client))[KEY]


def _runs(target: Target) -> bool:
    return target.get("Job", "migrate", BATCH) is not None


def test_one_that_may_have_ended_is_healthy_and_no_drift_when_it_is_gone_and_runs_once_for_each_state(
    target: Target,
) -> None:
    assert target.apply(job(0), config(), digest="one") == []
    _goes(target)
    assert _drift(target) == []
    assert _health(target) == Verdict("Healthy")
    # Something else is mended: the same state is applied again.
    target.kubectl("delete", "configmap", "web")
    for _ in range(2):
        assert target.apply(job(0), config(), digest="one") == []
        assert target.get("ConfigMap", "web") is not None
        assert not _runs(target)
        assert (_drift(target), _health(target)) == ([], Verdict("Healthy"))
    assert target.apply(job(0), config(), digest="two") == []
    assert _runs(target)
    assert _health(target) == Verdict("Unknown", f"Job {target.namespace}/migrate: it has not completed yet")


@pytest.mark.parametrize("seconds", [3600, None])
def test_one_that_cannot_have_ended_yet_is_missing_and_made_again(target: Target, seconds: int | None) -> None:
    assert target.apply(job(seconds), digest="one") == []
    _goes(target)
    assert _drift(target) == [f"Job {target.namespace}/migrate"]
    assert _health(target) == Verdict("Unknown", f"Job {target.namespace}/migrate: it is missing")
    assert target.apply(job(seconds), digest="one") == []
    assert _runs(target)


def test_of_one_that_an_earlier_release_applied_its_field_says_that_it_may_have_ended(target: Target) -> None:
    assert target.apply(job(3600), config(), digest="one") == []
    maps = target.client.resource("v1", "ConfigMap")
    (inventory,) = target.client.items(maps, target.namespace, labels=f"{KIND}=true")
    lines = [line.partition("|ends=")[0] for line in inventory["data"]["objects"].splitlines()]
    written = {"data": {"objects": "\n".join(lines)}}
    target.client.merge(maps, target.namespace, inventory["metadata"]["name"], written)
    _goes(target)
    assert (_drift(target), _health(target)) == ([], Verdict("Healthy"))
    assert target.apply(job(3600), config(), digest="one") == []
    assert not _runs(target)


def test_a_plugin_whose_job_ended_and_went_is_removed_as_any(target: Target) -> None:
    assert target.apply(job(0), config(), digest="one") == []
    _goes(target)
    assert target.remove() == []
    assert target.known() == set()
