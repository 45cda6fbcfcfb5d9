"""Staging: how changes of an owner move, and which stage a cluster belongs to.

An owner names a policy, writes one in place, or takes its organization's; its groups may have one of their own, as
placements of Open Cluster Management do: those clusters are then a rollout of their own. Compiled once each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from fleetform.engine.index.clusters import Cluster
from fleetform.engine.placement.placements import Placements
from fleetform.engine.plan.policy import EXTERNAL, Ceilings, StageSelectors, compile_policy
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import StageRule
from fleetform.engine.plan.strategies import Group, StrategyError, strategy_stages
from fleetform.engine.versions.lifecycle import Lifecycle
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.kinds.lifecycle import RolloutPolicySpec
from fleetform.model.kinds.preset import OwnerSpec, PresetGroup
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot

NO_STAGES = StageSelectors((), None)
EVERYWHERE = StageSelectors((), "all")


class Staging:
    """A policy, and the stage of each cluster, found once."""

    def __init__(self, policy: Policy, selectors: StageSelectors, by_name: Mapping[str, str] | None = None) -> None:
        self.policy, self._selectors, self._by_name = policy, selectors, by_name
        self._known: dict[Cluster, str | None] = {}

    def stage_of(self, cluster: Cluster) -> str | None:
        if self._by_name is not None:
            return self._by_name.get(cluster.ref.name)
        if not self._selectors.stages:
            return self._selectors.remainder
        try:
            return self._known[cluster]
        except KeyError:
            found = self._known[cluster] = self._selectors.stage_of(cluster.ref.name, cluster.labels)
            return found


class Stagings:
    """The stagings of an organization's owners."""

    def __init__(self, snapshot: Snapshot, placements: Placements, organization: str, lifecycle: Lifecycle) -> None:
        self._snapshot, self._placements, self._organization = snapshot, placements, organization
        self._ceilings = Ceilings(lifecycle.max_soak, lifecycle.max_stage_wait)
        home = snapshot.organizations.get(Ref("Organization", organization, organization))
        self._home = home.spec if home is not None else OrganizationSpec()
        self._named: dict[str, Staging] = {}
        self._written: dict[tuple[Object[Any], str], Staging] = {}
        self._default = Staging(Policy(), EVERYWHERE)

    def of(self, owner: Object[OwnerSpec]) -> Staging:
        """How changes of an owner move where no group of it says otherwise."""
        spec = owner.spec
        if spec.rollout == "External":
            return self._of_written(owner, "", None)
        if isinstance(spec.rollout, RolloutPolicySpec):
            return self._of_written(owner, "", spec.rollout)
        name = spec.rollout_policy or self._home.default_rollout_policy
        return self._of_name(name) if name is not None else self._default

    def of_group(self, owner: Object[OwnerSpec], group: PresetGroup) -> Staging | None:
        """How changes move over a group that has a policy, or a strategy, of its own."""
        if group.rollout_strategy is not None:
            key = (owner, group.name)
            if key not in self._written:
                self._written[key] = self._of_strategy(group, group.rollout_strategy)
            return self._written[key]
        return self._of_written(owner, group.name, group.rollout) if group.rollout is not None else None

    def _of_name(self, name: str) -> Staging:
        found = self._named.get(name)
        if found is None:
            object_ = self._snapshot.others.get(Ref("RolloutPolicy", self._organization, name))
            if object_ is None or not isinstance(object_.spec, RolloutPolicySpec):
                # Validation says so. Nothing starts by a policy that nobody knows.
                found = Staging(Policy(name), NO_STAGES)
            else:
                found = Staging(*compile_policy(name, object_.spec, self._home.approvers, self._ceilings))
            self._named[name] = found
        return found

    def _of_written(self, owner: Object[OwnerSpec], group: str, spec: RolloutPolicySpec | None) -> Staging:
        key = (owner, group)
        found = self._written.get(key)
        if found is None:
            if spec is None:
                found = Staging(EXTERNAL, EVERYWHERE)
            else:
                found = Staging(*compile_policy(owner.ref.name, spec, self._home.approvers, self._ceilings))
            self._written[key] = found
        return found

    def _of_strategy(self, group: PresetGroup, strategy: Mapping[str, Any]) -> Staging:
        """Open Cluster Management's spelling, over the decision groups of the group's placement."""
        name = group.placement.name if group.placement is not None else ""
        placed = self._placements.placed(Ref("Placement", self._organization, name))
        groups = [
            Group(each.name, index, tuple(cluster.ref.name for cluster in each.clusters))
            for index, each in enumerate(placed.groups if placed is not None else ())
        ]
        try:
            stages = [each for each in strategy_stages(strategy, groups) if each.clusters]
        except StrategyError:
            # Validation says so. Nothing starts by a strategy that cannot be read.
            return Staging(Policy(group.name), NO_STAGES)
        rules: list[StageRule] = []
        by_name: dict[str, str] = {}
        for number, each in enumerate(stages):
            rule = each.rule
            if any(rule.name == earlier.name for earlier in rules):
                # Pieces of one decision group bear one name.
                rule = structs.replace(rule, name=f"{rule.name}-{number}")
            rules.append(rule)
            by_name.update(dict.fromkeys(each.clusters, rule.name))
        if not rules:
            return Staging(Policy(group.name), EVERYWHERE)
        return Staging(Policy(group.name, tuple(rules)), NO_STAGES, by_name)
