"""Whole folders, planned: a fleet of three stages as text, with what is stored, and a hand that plays it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.app.reading.kept_objects import kept_from, needed
from fleetform.engine.plan.carry_out import writes
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import Health, observed
from fleetform.engine.plan.records import Plan, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.world.contents import ContentHashes
from fleetform.engine.world.stored import is_settled, objects_after
from fleetform.model.objects import Ref
from fleetform.model.state import UNKNOWN, PluginState
from fleetform.ports.state import KnownState
from support.fleets import NOW, fleet_of

API = "apiVersion: fleetform.dev/v1alpha1\n"


def manifest(kind: str, name: str, spec: str = "{}", metadata: str = "", organization: str = "acme") -> str:
    """An object: spec and what else its metadata has are flow-style YAML."""
    more = f", {metadata}" if metadata else ""
    return f"{API}kind: {kind}\nmetadata: {{name: {name}, namespace: {organization}{more}}}\nspec: {spec}\n"


def cluster(name: str, spec: str = "{}", **labels: str) -> str:
    given = ", ".join(f"{key}: {value}" for key, value in labels.items())
    return manifest("Cluster", name, spec, f"labels: {{{given}}}")


def definition(version: str, name: str = "certs", more: str = "") -> str:
    options = "[{name: replicas, type: int, default: 1}, {name: host, type: string}]"
    return manifest(
        "PluginDefinition", name, f"{{version: {version}, options: {options}{', ' + more if more else ''}}}"
    )


def preset(more: str = "", name: str = "certs", version: str = "", values: str = "[]", of: str = "certs") -> str:
    pin = f", version: '{version}'" if version else ""
    plugin = f"{{pluginDefinition: {{name: {of}{pin}}}, optionValues: {values}}}"
    return manifest("PluginPreset", name, f"{{clusterSelector: {{}}, plugin: {plugin}{', ' + more if more else ''}}}")


TIERS = {"qa-1": "qa", "eu-1": "gold", "eu-2": "gold"}
STAGES = "{name: qa, clusterSelector: {matchLabels: {tier: qa}}}, {name: gold, remainder: true}"


def fleet_files(**files: str) -> dict[str, str]:
    """Three clusters in two stages, certs 1.0.0 on all of them by a preset; more files, or others in their place."""
    clusters = "---\n".join(cluster(name, tier=tier) for name, tier in TIERS.items())
    base = {
        "clusters": clusters,
        "certs": definition("1.0.0"),
        "preset": preset(),
        "policy": manifest("RolloutPolicy", "standard", f"{{stages: [{STAGES}]}}"),
        "organization": manifest("Organization", "acme", "{defaultRolloutPolicy: standard}"),
    }
    return {f"{name}.yaml": text for name, text in {**base, **files}.items()}


def policy(stages: str = STAGES, more: str = "") -> str:
    return manifest("RolloutPolicy", "standard", f"{{stages: [{stages}]{', ' + more if more else ''}}}")


class Folder:
    """A folder and what is stored beside it: planned, carried out, observed, edited, as a control plane would."""

    def __init__(self, now: datetime = NOW, state: KnownState | None = None, **files: str) -> None:
        self.now, self.known = now, state or KnownState()
        self.files = fleet_files(**files)

    @property
    def fleet(self) -> Fleet:
        fleet = fleet_of(self.files, state=self.known)
        return replace(fleet, snapshot=replace(fleet.snapshot, at=self.now))

    @property
    def plan(self) -> Plan:
        return plan(self.fleet.world, self.now)

    def edit(self, **files: str | None) -> None:
        """Other files, or none of that name."""
        before = self.fleet
        for name, text in files.items():
            if text is None:
                del self.files[f"{name}.yaml"]
            else:
                self.files[f"{name}.yaml"] = text
        wanted = needed(self.known.rollouts, ContentHashes(self.fleet.snapshot))
        kept = {key: each for key, each in self.known.kept.items() if key in wanted}
        kept |= kept_from(ContentHashes(before.snapshot), before.input.documents, wanted - kept.keys())
        self.known = replace(self.known, kept=kept)

    def go(self) -> list[str]:
        """Plans and stores until nothing more happens at this time. The clusters that were started."""
        started: list[str] = []
        for _ in range(10):
            fleet = self.fleet
            found = plan(fleet.world, self.now)
            started += [step.key[1] for step in found.starts]
            self._remember(fleet, found)
            if found.is_idle:
                return started
            for write in writes(found):
                if write.rollout is not None:
                    self.store(self.known.rollouts.with_rollout(write.rollout))
                if write.key is not None and write.progress is not None:
                    self.put(write.key[1], write.progress, write.key[2])
        raise AssertionError("ten plans at one time, and still something to store")

    def _remember(self, fleet: Fleet, found: Plan) -> None:
        admitted = dict(self.known.rollouts.admitted)
        for owner in found.owners:
            ref, contents = owner.change.owner, fleet.owner_changes.contents(owner.change.owner)
            settled = partial(is_settled, owner.change, found.world.states)
            after = objects_after(admitted.get(ref), owner.change.rollout, owner.rollout, contents, settled)
            if after is not None:
                admitted[ref] = after
        self.store(structs.replace(self.known.rollouts, admitted=admitted))

    def store(self, rollouts: Any) -> None:
        self.known = replace(self.known, rollouts=rollouts)

    def put(self, cluster: str, state: PluginState, plugin: str | None = None) -> None:
        ref, name = Ref("Cluster", "acme", cluster), plugin or f"certs-{cluster}"
        plugins: Mapping[Ref, Any] = self.known.plugins
        self.known = replace(self.known, plugins={**plugins, ref: {**plugins.get(ref, {}), name: state}})

    def state(self, cluster: str, plugin: str | None = None) -> PluginState:
        on_cluster = self.known.plugins.get(Ref("Cluster", "acme", cluster), {})
        return on_cluster.get(plugin or f"certs-{cluster}", UNKNOWN)

    def observe(self, health: Health, *clusters: str, plugin: str | None = None) -> None:
        for name in clusters:
            state = self.state(name, plugin)
            assert state.attempt is not None, f"nothing was started on {name}"
            self.put(name, observed(state, state.attempt.input_hash, health, self.now), plugin)

    def healthy(self, *clusters: str, plugin: str | None = None) -> None:
        self.observe("Healthy", *clusters, plugin=plugin)

    def fail(self, *clusters: str) -> None:
        self.observe("Failed", *clusters)

    def wait(self, time: timedelta) -> list[str]:
        self.now += time
        return self.go()

    def finish(self) -> None:
        """Everything that starts becomes healthy, until nothing starts any more."""
        for _ in range(20):
            self.go()
            flying = [key for key, state in self.fleet.owner_changes.states.items() if state.in_flight]
            if not flying:
                return
            for key in flying:
                self.observe("Healthy", key[1], plugin=key[2])
        raise AssertionError("it does not come to an end")

    def step(self, cluster: str, plugin: str | None = None) -> Step:
        name = plugin or f"certs-{cluster}"
        return next(each for each in self.plan.steps if each.key == ("acme", cluster, name))

    def gates(self, cluster: str, plugin: str | None = None) -> list[str]:
        return [reason.gate for reason in self.step(cluster, plugin).reasons]

    @property
    def rollout(self) -> Rollout:
        found = [owner.rollout for owner in self.plan.owners if owner.rollout is not None]
        assert found, "there is no rollout"
        return found[0]

    @property
    def change_id(self) -> str:
        return self.fleet.world.changes[0].change_id


def installed(**files: str) -> Folder:
    """A folder whose first rollout is over: certs 1.0.0 is healthy everywhere."""
    folder = Folder()
    folder.files = fleet_files(**files)
    folder.finish()
    return folder
