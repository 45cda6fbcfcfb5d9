"""View: one owner's rollout as it stands now, put together once; gates look at nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fleetform.engine.plan.records import Change, ClusterKey, Limits, Reason, World
from fleetform.engine.plan.rollouts import Rollout, StageTimes
from fleetform.engine.plan.stages import StageRule, Tally, share
from fleetform.engine.plan.verdicts import Verdicts
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState


@dataclass(slots=True)
class StageView:
    """A stage: what it asks for, what its members have come to, and how many start in this plan.

    starts take a slot each; first_starts are those that had not been started before, with a slot or without.
    """

    rule: StageRule
    times: StageTimes
    tally: Tally = field(default_factory=Tally)
    starts: int = 0
    first_starts: int = 0
    done: datetime | None = None
    slots: int = 0
    budget: int = 0
    taken: int = 0
    full: Reason | None = None

    def measure(self) -> None:
        """Once its members are counted: how many may be in flight and may fail, and how many slots are taken."""
        unlimited = self.rule.max_concurrency is None
        self.slots = self.rule.slots(max(self.total, self.tally.members) if unlimited else self.total)
        self.budget = self.rule.budget(self.total)
        self.taken = self.tally.holding(self.rule)

    @property
    def total(self) -> int:
        """The clusters it had when the rollout started; before that, those it has."""
        return self.times.total or self.tally.members

    @property
    def was_left(self) -> bool:
        """Whether it had clusters, and none of them is there any more."""
        return self.times.total > 0 and not self.tally.members

    @property
    def free(self) -> int:
        return self.slots - self.taken - self.starts

    @property
    def is_changing_all_it_may(self) -> bool:
        """Whether as many are being changed as may be, whatever else holds slots."""
        return self.tally.in_flight + self.starts >= self.slots


@dataclass(slots=True)
class Pass:
    """What one plan over all owners has in common.

    busy says which plugin is in flight on each cluster, over all owners; pending which change each plugin that is not
    yet what is wanted waits for. Both count what this very plan has started.
    """

    world: World
    now: datetime
    almanac: Almanac
    busy: dict[ClusterKey, PluginKey] = field(default_factory=dict)
    pending: Mapping[PluginKey, str] = field(default_factory=dict)


@dataclass(slots=True)
class View:
    """One owner's rollout at one instant.

    loose are members that are in no stage. look is when something under way is due; joins: a cluster is new to the
    rollout. verdicts keeps what plugins have in common; under_way are the clusters that it works on, or that soak.
    unrendered are plugins that could not be rendered a moment ago.
    """

    now: datetime
    change: Change
    rollout: Rollout | None
    limits: Limits
    emergency: bool
    states: Mapping[PluginKey, PluginState]
    busy: dict[ClusterKey, PluginKey]
    pending: Mapping[PluginKey, str]
    almanac: Almanac
    stages: list[StageView] = field(default_factory=list)
    loose: Tally = field(default_factory=Tally)
    look: datetime | None = None
    joins: bool = False
    verdicts: Verdicts = field(default_factory=Verdicts)
    under_way: list[str] = field(default_factory=list)
    unrendered: Collection[PluginKey] = ()

    @property
    def forgives(self) -> bool:
        return self.rollout is not None and self.rollout.policy.on_failure == "Continue"

    @property
    def members(self) -> int:
        return sum([stage.total for stage in self.stages]) + self.loose.members

    def look_at(self, time: datetime) -> None:
        self.look = time if self.look is None else min(self.look, time)

    def breached(self, final: bool = False) -> str | None:
        """Whose budget is exceeded: a stage's or the rollout's own. final leaves out what will be tried again."""
        if self.rollout is None or self.forgives:
            return None
        counts = [each.tally.final_failures if final else each.tally.failed for each in self.stages]
        for stage, failed in zip(self.stages, counts, strict=True):
            if failed > stage.budget:
                return f"stage {stage.rule.name}: {failed} failed, {stage.budget} allowed"
        most = self.rollout.policy.max_failures
        failed = sum(counts) + (self.loose.final_failures if final else self.loose.failed)
        if most is not None and failed > share(most, self.members, up=False):
            return f"the rollout: {failed} failed, {share(most, self.members, up=False)} allowed"
        return None
