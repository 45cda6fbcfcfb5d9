"""Scenario: what is assumed in a simulation, and what it answers.

Chance is a function of a seed, a cluster and an input hash: the same scenario plays the same way every time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from fleetform.engine.plan.records import Step, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import StageRule
from fleetform.engine.plan.windows.openings import Opening
from fleetform.engine.plan.windows.spans import FrozenSpan

EventName = Literal["Started", "Succeeded", "Failed", "TimedOut", "RolledBack", "SetAside", "Waiting"]
Outcome = Literal["Completed", "Halted", "RolledBack", "Stuck"]


class Spell(Struct, frozen=True):
    """A cluster that fails what starts there, or does not answer, from a time on (None: always) until another."""

    cluster: str
    begin: datetime | None = None
    end: datetime | None = None

    def covers(self, at: datetime) -> bool:
        return (self.begin is None or self.begin <= at) and (self.end is None or at < self.end)


class Scenario(Struct, frozen=True):
    """How long a start takes, what fails, who cannot be reached, and how long approvers take.

    approval_delay counts from when a stage is otherwise ready (None: nobody approves); approvals says for single stages
    at which time they are approved instead. retries is how often a failed start is tried again (B34). until ends the
    simulation whatever has happened by then.
    """

    duration: timedelta = timedelta(minutes=10)
    durations: Mapping[str, timedelta] = {}
    failing: tuple[Spell, ...] = ()
    failure_rate: float = 0.0
    seed: int = 0
    unreachable: tuple[Spell, ...] = ()
    approval_delay: timedelta | None = timedelta(0)
    approvals: Mapping[str, datetime] = {}
    retries: int = 0
    until: datetime | None = None

    def takes(self, cluster: str) -> timedelta:
        return self.durations.get(cluster, self.duration)

    def fails(self, cluster: str, input_hash: str, at: datetime) -> bool:
        """Whether a start on a cluster comes to nothing."""
        if any(each.cluster == cluster and each.covers(at) for each in self.failing):
            return True
        if not self.failure_rate:
            return False
        digest = hashlib.blake2b(f"{self.seed}/{cluster}/{input_hash}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64 < self.failure_rate


class Event(Struct, frozen=True, gc=False):
    """Something that happened to one plugin; reason is the gate that it waits for, or why it failed.

    rollout and stage are "" for what no rollout starts: clusters that join, kinds of change that are not staged, and
    deletions, whose reason is "delete".
    """

    at: datetime
    cluster: str
    plugin: str
    event: EventName
    reason: str
    organization: str
    rollout: str
    stage: str


class StageSpan(Struct, frozen=True):
    """When a stage of a rollout began and was done; None: it did not come to that.

    clusters is how many it has. openings and freezes are times at which any of its clusters may start something, and
    must not. approved is when people did; zones are the clocks that its windows follow.
    """

    rollout: str
    name: str
    start: datetime | None
    end: datetime | None
    rule: StageRule
    clusters: int
    openings: tuple[Opening, ...]
    freezes: tuple[FrozenSpan, ...]
    approved: datetime | None
    zones: tuple[str, ...]


class Simulation(Struct, frozen=True):
    """What would happen: events by time, then by cluster and plugin. passes counts how often it was planned.

    rollouts are as they end; left is what is not up to date then, with its reasons. after is the world as it is then.
    """

    start: datetime
    end: datetime
    outcome: Outcome
    events: tuple[Event, ...]
    stages: tuple[StageSpan, ...]
    rollouts: tuple[Rollout, ...]
    left: tuple[Step, ...]
    passes: int
    after: World
