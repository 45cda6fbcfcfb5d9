"""What people are told to do on Kubernetes helps: objects say what requests say elsewhere."""

from __future__ import annotations

from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.results.advice import Advice
from fleetform.operator.advice import with_kubectl
from support.fleets import BASE
from support.plane import Files, Plane

POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true}
  onFailure: Rollback
"""
REPLACING = POLICY.replace("onFailure: Rollback", "supersede: Replace")
CLUSTERS = ("eu-1", "eu-2", "us-1")
PRESET = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)


def installed() -> Plane:
    plane = Plane(Files({**BASE, "preset.yaml": PRESET, "policy.yaml": POLICY}))
    plane.wait(hours=6)
    assert set(plane.versions.values()) == {"1.0.0"}
    return plane


def publish(plane: Plane, version: str) -> None:
    text = plane.files.files["definition.yaml"]
    plane.files.files[f"definition-{version}.yaml"] = text.replace("version: 1.0.0", f"version: {version}")


def pin(plane: Plane, version: str) -> None:
    plane.files.files["preset.yaml"] = PRESET.replace("{name: web}", f"{{name: web, version: {version}}}")


def ask_for_replicas(plane: Plane, number: int) -> None:
    plane.files.files["preset.yaml"] = PRESET.replace("value: 2", f"value: {number}")


def rollouts(plane: Plane) -> tuple[Rollout, ...]:
    (found,) = plane.control.image.known.rollouts.rollouts.values()
    return found


def told(plane: Plane) -> dict[str, str]:
    """By gate, what to do about it."""
    plan = plane.settle().plan
    assert plan is not None
    reasons = [reason for owner in plan.owners for step in owner.steps for reason in step.reasons]
    return {each.gate: with_kubectl(each.do) for each in reasons if isinstance(each.do, Advice)}


def test_a_version_that_was_rejected_is_tried_again_once_it_is_pinned() -> None:
    plane = installed()
    plane.health.says.update({(cluster, "1.1.0"): "Failed" for cluster in CLUSTERS})
    publish(plane, "1.1.0")
    plane.wait(days=2)
    assert set(plane.versions.values()) == {"1.0.0"}
    plane.health.says.clear()
    plane.wait(days=2)
    assert set(plane.versions.values()) == {"1.0.0"}
    pin(plane, "1.1.0")
    plane.wait(days=1)
    assert set(plane.versions.values()) == {"1.1.0"}


def test_a_change_that_was_rejected_is_tried_again_once_its_preset_gives_something_else() -> None:
    plane = installed()
    ask_for_replicas(plane, 3)
    plane.health.says.update(dict.fromkeys(CLUSTERS, "Failed"))
    plane.wait(hours=1)
    assert rollouts(plane)[-1].rejected
    plane.health.says.clear()
    plane.wait(days=1)
    assert told(plane)["rejected"] == "change what the PluginPreset web gives, or publish a higher version"
    ask_for_replicas(plane, 4)
    plane.wait(days=1)
    assert told(plane) == {}
    assert {each.phase for each in rollouts(plane)} == {"Succeeded", "Halted"}
    assert rollouts(plane)[-1].phase == "Succeeded"


def test_a_rollout_that_runs_is_replaced_by_a_policy_that_says_so() -> None:
    plane = installed()
    publish(plane, "1.1.0")
    plane.wait(minutes=5)
    publish(plane, "1.2.0")
    assert "replace it: set supersede: Replace in its RolloutPolicy" in told(plane)["queue"]
    plane.files.files["policy.yaml"] = REPLACING
    plane.wait(minutes=5)
    assert set(plane.versions.values()) == {"1.0.0", "1.2.0"}


def test_a_stage_that_all_clusters_left_is_gone_once_the_rollout_is_replaced() -> None:
    plane = installed()
    publish(plane, "1.1.0")
    plane.wait(minutes=5)
    first, second, third = plane.files.files["clusters.yaml"].split("---")
    assert "tier: dev" in second
    plane.files.files["clusters.yaml"] = "---".join((first, third))
    plane.wait(days=1)
    assert "add a cluster to dev; or go on without it: set supersede: Replace" in told(plane)["stage"]
    plane.files.files["policy.yaml"] = REPLACING
    ask_for_replicas(plane, 3)
    plane.wait(days=1)
    assert {plane.versions[each] for each in ("eu-1", "us-1")} == {"1.1.0"}
