"""What objects should tell, made step by step from pass to pass: it is what is made at once of the last pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.operator.status.passes import Pass
from fleetform.operator.status.projection import Projection
from properties.strategies import examples
from support.fleets import BASE, override
from support.plane import Files, Plane

CLUSTERS = ("eu-1", "eu-2", "us-1")
# The first two want one release on each cluster; the third has a rollout that waits.
PRESETS = ("web", "other", "dns")
POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true, maxConcurrency: 1, approvals: {required: 1}}
"""
OPS = ("override", "values", "select", "drop", "label", "leave", "version", "fail", "heal", "silence", "hours")


def preset(name: str, selector: str = "{}", replicas: int = 2) -> str:
    definition, policy = ("dns", "rolloutPolicy: standard, ") if name == "dns" else ("web", "")
    return (
        f"apiVersion: fleetform.dev/v1alpha1\nkind: PluginPreset\nmetadata: {{name: {name}, namespace: acme}}\n"
        f"spec: {{{policy}clusterSelector: {selector}, deletionPolicy: Delete, plugin: {{pluginDefinition: "
        f"{{name: {definition}}}, optionValues: [{{name: replicas, value: {replicas}}}]}}}}\n"
    )


def definition(name: str, version: str) -> str:
    return BASE["definition.yaml"].replace("name: web,", f"name: {name},").replace("1.0.0", version)


def cluster(name: str, tier: str) -> str:
    metadata = f"{{name: {name}, namespace: acme, labels: {{tier: {tier}}}}}"
    return f"apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {metadata}\n"


class Stepwise:
    """A control plane of which every pass is shown."""

    def __init__(self) -> None:
        written = {f"preset-{each}.yaml": preset(each) for each in PRESETS}
        written |= {f"definition-{each}.yaml": definition(each, "1.0.0") for each in ("web", "dns")}
        written |= {f"cluster-{each}.yaml": cluster(each, "dev" if each == "eu-2" else "gold") for each in CLUSTERS}
        self.plane = Plane(Files({**written, "policy.yaml": POLICY}))
        self._projection, self._edits = Projection(), 0

    def do(self, op: str, number: int) -> None:
        files, health = self.plane.files.files, self.plane.health
        name, place = PRESETS[number % 3], CLUSTERS[number // 3 % 3]
        self._edits += 1
        if op == "override":
            said, where = f"[{{path: replicas, value: {self._edits}}}]", f"clusterSelector: {{clusterNames: [{place}]}}"
            files["override.yaml"] = override("more", said, where)
        elif op == "values":
            files[f"preset-{name}.yaml"] = preset(name, replicas=self._edits)
        elif op == "select":
            files[f"preset-{name}.yaml"] = preset(name, f"{{clusterNames: [{place}]}}")
        elif op == "drop" and name != "web":
            files.pop(f"preset-{name}.yaml", None)
        elif op == "label":
            files[f"cluster-{place}.yaml"] = cluster(place, "dev" if number % 2 else "gold")
        elif op == "leave" and place != "eu-1":
            files.pop(f"cluster-{place}.yaml", None)
        elif op == "version":
            each = "dns" if name == "dns" else "web"
            files[f"definition-{each}.yaml"] = definition(each, f"1.0.{self._edits}")
        elif op in ("fail", "heal"):
            health.says[place] = "Failed" if op == "fail" else "Healthy"
        elif op == "silence":
            health.silent ^= {place}
        elif op == "hours":
            self.plane.wait(hours=1 + number)

    def show(self) -> None:
        """Every pass is shown until none stores anything; what comes of that is what comes of the last one alone."""
        for _ in range(40):
            report, control = self.plane.control.run_pass(), self.plane.control
            assert control.fleet is not None
            assert report.plan is not None
            shown = Pass(control.fleet, report.plan, control.image, report.refusal)
            self._projection.update(shown)
            if not report.wrote:
                break
        anew = Projection()
        anew.update(shown)
        assert self._projection.wanted == anew.wanted


@pytest.mark.rule("B33")
@examples(40)
@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 8)), max_size=12))
def test_what_is_told_step_by_step_is_what_is_told_at_once(moves: list[tuple[str, int]]) -> None:
    stepwise = Stepwise()
    stepwise.show()
    for op, number in moves:
        stepwise.do(op, number)
        stepwise.show()
