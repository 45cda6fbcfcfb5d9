"""A kind of which a real API server cannot answer: what serves it there is down. Everything else goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from fleetform.clusters.inventory import ObjectRef
from fleetform.clusters.ownership import label_of
from fleetform.deliver.kubernetes.drift import look_for_drift
from fleetform.observe.applied import _judged
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import NotServedError
from fleetform.ports.observing import Applied, Verdict
from support.targets import KEY, OTHER, Target, config, custom
from support.waiting import finished

REGISTERED = "apiregistration.k8s.io/v1"


class Aggregated:
    """A kind that the server itself serves first, and then asks a service about that is not there."""

    def __init__(self, target: Target) -> None:
        self.group = f"{uuid4().hex[:8]}.example.com"
        self._kind, self.thing = custom(self.group)
        self._target = target
        target.client.apply(self._kind)
        target.kubectl("wait", "--for=condition=Established", f"crd/things.{self.group}")

    def falls_silent(self) -> None:
        """The server leaves a registration alone that is no longer marked as its own."""
        nobody = {"name": "nobody", "namespace": self._target.namespace}
        patch = {
            "metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": None}},
            "spec": {"service": nobody, "insecureSkipTLSVerify": True},
        }
        client = self._target.client
        client.merge(client.resource(REGISTERED, "APIService"), "", f"v1.{self.group}", patch)
        for _ in range(100):
            try:
                client.kinds(f"{self.group}/v1")
            except NotServedError:
                return
            time.sleep(0.1)
        raise AssertionError("the server still answers for it")

    def end(self) -> None:
        client = self._target.client
        client.delete(client.resource(REGISTERED, "APIService"), "", f"v1.{self.group}")
        client.delete(client.resource_of(self._kind), "", self._kind["metadata"]["name"])


@pytest.fixture
def aggregated(target: Target) -> Iterator[Aggregated]:
    found = Aggregated(target)
    yield found
    found.end()


@pytest.mark.rule("B25")
def test_it_holds_up_its_own_objects_alone(target: Target, aggregated: Aggregated) -> None:
    aggregated.falls_silent()
    fresh = Client(target.client.access)
    target.client = fresh
    (problem,) = target.apply(config(), aggregated.thing)
    assert str(problem).startswith("Thing ")
    assert "what serves this kind on the cluster does not answer" in problem.message
    assert (problem.refused, problem.hint) == (
        False,
        "look at the APIService of its group, and at the service which that names",
    )
    assert target.get("ConfigMap", "web") is not None


@pytest.mark.rule("B22", "B25")
def test_what_cannot_be_seen_is_neither_drift_nor_healthy_and_is_not_forgotten(
    target: Target, aggregated: Aggregated
) -> None:
    assert target.apply(config(), aggregated.thing, digest="one") == []
    assert target.apply(config("db"), key=OTHER, digest="one") == []
    target.client.delete(target.client.resource("v1", "ConfigMap"), target.namespace, "web")
    aggregated.falls_silent()
    ref = ObjectRef(aggregated.group, "Thing", target.namespace, "one")
    drift = finished(look_for_drift(target.client, [target.namespace])).found
    assert [each.text for each in drift[label_of(KEY)]] == [f"ConfigMap {target.namespace}/web"]
    where = Applied(target.namespace, ("acme", "eu-1"))
    verdicts = finished(_judged({KEY: where, OTHER: where}, target.client))
    assert verdicts[OTHER] == Verdict("Healthy")
    assert (verdicts[KEY].health, verdicts[KEY].reachable) == ("Unknown", True)
    assert verdicts[KEY].message.startswith(f"{ref}: what serves this kind on the cluster does not answer")
    # It is no longer wanted, and still known until it could be looked at.
    assert [each.ref for each in target.apply(config(), digest="two")] == [ref]
    assert ref in target.known()
