"""What objects should tell, from passes of a control plane in a world of its own."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import msgspec
import pytest

from fleetform.model.kinds.status import PluginPresetStatus, PluginStatus, RolloutStatus, Status
from fleetform.model.objects import Ref
from fleetform.operator.status.projection import Pass, Projection
from support.fleets import BASE
from support.plane import Files, Plane

STAGES = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true, maxConcurrency: 1, approvals: {required: 1}}
  onFailure: Rollback
"""
PRESET = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
PRESET = PRESET.replace("namespace: acme}", "namespace: acme, uid: u-1, generation: 3}")


class Shown:
    """A control plane, and what its passes come to."""

    def __init__(self, **files: str) -> None:
        written = {**BASE, "preset.yaml": PRESET, **{f"{name}.yaml": dedent(text) for name, text in files.items()}}
        self.plane = Plane(Files(written))
        self.projection = Projection()
        self.changed: set[Ref] = set()
        self.settle()

    def settle(self, **span: float) -> set[Ref]:
        """Passes until nothing is due, or for a time; which objects should then be others."""
        report = self.plane.wait(**span) if span else self.plane.settle()
        fleet = self.plane.control.fleet
        assert fleet is not None
        assert report.plan is not None
        self.changed = self.projection.update(Pass(fleet, report.plan, self.plane.control.image, report.refusal))
        return self.changed

    def __getitem__(self, path: str) -> Status:
        kind, name = path.split("/")
        return self.projection.wanted[Ref(kind, "acme", name)].status

    def plugin(self, name: str) -> PluginStatus:
        found = self[f"Plugin/{name}"]
        assert isinstance(found, PluginStatus)
        return found


def conditions(status: Status) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


def upgrade(shown: Shown, version: str = "1.1.0", more: str = "") -> None:
    text = shown.plane.files.files["definition.yaml"].replace("version: 1.0.0", f"version: {version}") + more
    shown.plane.files.files[f"definition-{version}.yaml"] = text
