"""The small fleet of the simulated world, as people write it: two stages, a soak, an approval and a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import dedent

from simulation.laws import DEV, fingerprint
from support.fleets import DEFINITION, PRESET

_CLUSTER = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: %s, namespace: acme, labels: {region: %s, tier: %s}}
"""
_POLICY = dedent(
    """
    apiVersion: fleetform.dev/v1alpha1
    kind: RolloutPolicy
    metadata: {name: standard, namespace: acme}
    spec:
      stages:
      - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
      - {name: gold, remainder: true, maxConcurrency: 1, approvals: {required: 1}, deadline: %s}
      onFailure: Rollback
      supersede: %s
    ---
    apiVersion: fleetform.dev/v1alpha1
    kind: UpdateWindow
    metadata: {name: even-hours, namespace: acme}
    spec: {type: Allow, schedule: "0 */2 * * *", duration: 1h, clusterSelector: {matchLabels: {tier: gold}}}
    """
)


@dataclass(frozen=True)
class FleetText:
    """What people chose; files is what that looks like, wanted the clusters that are to run the plugin."""

    clusters: tuple[str, ...] = ("eu-1", "eu-2", "us-1")
    versions: tuple[str, ...] = ("1.0.0",)
    only_eu: bool = False
    replicas: int = 2
    supersede: str = "Queue"
    deadline: str = "2d"
    # Whether gold needs an approval and has a window; without, worlds are cheap.
    guarded: bool = True

    @cached_property
    def files(self) -> Mapping[str, str]:
        windows = "  updateWindows: [even-hours]\n" if self.guarded else ""
        preset = PRESET.replace("spec:\n", f"spec:\n  rolloutPolicy: standard\n{windows}", 1)
        preset = preset.replace("value: 2", f"value: {self.replicas}")
        if self.only_eu:
            preset = preset.replace("clusterSelector: {}", "clusterSelector: {matchLabels: {region: eu}}")
        clusters = [_CLUSTER % (name, name[:2], "dev" if name in DEV else "gold") for name in self.clusters]
        definitions = {
            f"definition-{each}.yaml": DEFINITION.replace("version: 1.0.0", f"version: {each}")
            for each in self.versions
        }
        policy = _POLICY % (self.deadline, self.supersede)
        if not self.guarded:
            policy = policy.partition("---\n")[0].replace(", approvals: {required: 1}", "")
        return {"clusters.yaml": "---\n".join(clusters), "preset.yaml": preset, "policy.yaml": policy, **definitions}

    @cached_property
    def fingerprint(self) -> int:
        return fingerprint({name: text.encode() for name, text in self.files.items()})

    @property
    def wanted(self) -> frozenset[str]:
        return frozenset(name for name in self.clusters if not self.only_eu or name.startswith("eu"))
