"""What Plugins of Greenhouse tell, from passes of a control plane in a world of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from fleetform.operator.objects import _input
from fleetform.operator.status.greenhouse import GreenhouseStatuses, greenhouse_status
from fleetform.operator.status.passes import Amiss, Found, Pass, Placed
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.resources import Resource
from fleetform.syntax.yaml_in import read_one
from support.plane import Files, Plane

DEFINITION = """
apiVersion: greenhouse.sap/v1alpha1
kind: ClusterPluginDefinition
metadata: {name: web}
spec: {version: VERSION, helmChart: {name: web, repository: "https://charts.example.com", version: VERSION}}
"""
CLUSTER = """
apiVersion: greenhouse.sap/v1alpha1
kind: Cluster
metadata: {name: eu-1, namespace: acme}
spec: {accessMode: direct}
"""
PLUGIN = """
apiVersion: greenhouse.sap/v1alpha1
kind: Plugin
metadata: {name: own, namespace: acme}
spec: {pluginDefinitionRef: {name: web, kind: ClusterPluginDefinition}, clusterName: eu-1, releaseNamespace: web}
"""


class Own:
    """The Plugin own on the cluster eu-1, and what it tells."""

    def __init__(self) -> None:
        definition = DEFINITION.replace("VERSION", "1.0.0")
        self.plane = Plane(Files({"definition.yaml": definition, "cluster.yaml": CLUSTER, "plugin.yaml": PLUGIN}))
        self.status: dict[str, Any] = {}

    def told(self) -> tuple[str, str, str, str | None, str | None]:
        """Ready and why, the release in Helm's words, the version, and that of the chart."""
        report = self.plane.control.run_pass()
        fleet, image = self.plane.control.fleet, self.plane.control.image
        assert fleet is not None
        assert report.plan is not None
        owners = [
            (each, *pair)
            for each in report.plan.owners
            for pair in zip(each.change.candidates, each.steps, strict=True)
        ]
        placed = {step.key: Placed(owner, candidate, step) for owner, candidate, step in owners}
        found = Found(Pass(fleet, report.plan, image), Amiss().of(image), placed)
        told = found.told(("acme", "eu-1", "own"), lambda _: None)
        assert told is not None
        self.status = greenhouse_status(told, self.status, self.plane.clock.at)
        ready, deployed = self.status["statusConditions"]["conditions"]
        assert {**ready, "type": ""} == {**deployed, "type": ""}
        release, chart = self.status["helmReleaseStatus"]["status"], self.status.get("helmChart", {}).get("version")
        return ready["status"], ready["reason"], release, self.status.get("version"), chart

    def since(self) -> str:
        return str(self.status["statusConditions"]["conditions"][0]["lastTransitionTime"])


def test_it_tells_what_greenhouses_users_look_at_from_install_to_failure() -> None:
    own = Own()
    own.plane.health.says["eu-1"] = "Unknown"
    assert own.told() == ("False", "InFlight", "pending-install", None, "1.0.0")
    own.plane.health.says["eu-1"] = "Healthy"
    own.plane.clock.at += timedelta(minutes=2)
    assert own.told() == ("True", "Healthy", "deployed", "1.0.0", "1.0.0")
    since = own.since()
    # Since when it holds stays while it does.
    own.plane.clock.at += timedelta(minutes=2)
    own.told()
    assert own.since() == since

    own.plane.files.files["definition.yaml"] = DEFINITION.replace("VERSION", "1.1.0")
    own.plane.health.says["eu-1"] = "Unknown"
    assert own.told() == ("False", "InFlight", "pending-upgrade", "1.0.0", "1.1.0")
    own.plane.health.says["eu-1"] = "Failed"
    own.plane.clock.at += timedelta(minutes=2)
    assert own.told() == ("False", "Failed", "failed", "1.0.0", "1.1.0")


@pytest.mark.parametrize(
    ("labels", "kept"),
    [({}, None), ({"greenhouse.sap/pluginpreset": "web"}, {"version": "1.0.0"})],
)
def test_what_we_write_there_is_no_input(labels: dict[str, str], kept: dict[str, str] | None) -> None:
    manifest = read_one(PLUGIN)
    manifest["metadata"]["labels"] = labels
    manifest["status"] = {"version": "1.0.0", "statusConditions": {"conditions": [{"type": "Ready"}]}}
    found = _input(Resource("greenhouse.sap", "v1alpha1", "plugins", "Plugin"), manifest)
    assert found is not None
    assert found.get("status") == kept


def test_what_ends_its_thread_is_told_with_the_next_pass() -> None:
    class Broken:
        def __getattr__(self, name: str) -> None:
            raise ZeroDivisionError("a bug")

    plane = Own().plane
    plane.settle()
    fleet, image = plane.control.fleet, plane.control.image
    assert fleet is not None
    statuses = GreenhouseStatuses(cast(Client, Broken()), plane.clock.now, False, lambda text: None)
    statuses.start()
    statuses.check()
    statuses.show(Pass(fleet, fleet.plan, image))
    statuses._thread.join(60)
    with pytest.raises(ZeroDivisionError):
        statuses.check()
