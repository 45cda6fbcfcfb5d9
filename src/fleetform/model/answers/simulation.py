"""What simulate answers: what would happen, event by event and stage by stage."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import field

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding

SimulatedOutcome = Literal["Completed", "Halted", "RolledBack", "Stuck"]
SimulatedEventName = Literal["Started", "Succeeded", "Failed", "TimedOut", "RolledBack", "SetAside", "Waiting"]


class SimulatedEvent(AnswerRecord, frozen=True, kw_only=True):
    """Something that happens to one plugin; reason is the gate that it waits for, or "delete"."""

    at: datetime
    organization: str
    cluster: str
    plugin: str
    event: SimulatedEventName
    reason: str
    rollout: str
    stage: str


class StageLevel(AnswerRecord, frozen=True, kw_only=True):
    """How many clusters of a stage are updated, in flight and failed from a time on."""

    at: datetime
    updated: int
    in_flight: int
    failed: int


class TimeSpan(AnswerRecord, frozen=True, kw_only=True):
    """From one time to another."""

    begin: datetime
    end: datetime


class FreezeSpan(AnswerRecord, frozen=True, kw_only=True):
    """A freeze in force; not even emergencies pass a hard one."""

    begin: datetime
    end: datetime
    name: str
    hard: bool


class SimulatedApprovals(AnswerRecord, frozen=True, kw_only=True):
    """How many people must approve a stage, and when they are taken to have done so; None: nobody does.

    decide_by is the latest time at which that does not move the end of the rollout, and later_costs by how much the
    next minute does; None: the rollout would not end then. Both are None where it does not end at all.
    """

    required: int
    at: datetime | None
    decide_by: datetime | None = None
    later_costs: str | None = None


class SimulatedStage(AnswerRecord, frozen=True, kw_only=True):
    """A stage of a rollout: when it starts and is done (None: it does not come to that), and its clusters over time.

    soak and wait are durations. windows are times at which any of its clusters may start; empty: at any time.
    """

    rollout: str
    name: str
    start: datetime | None
    end: datetime | None
    clusters: int
    updated: int
    failed: int
    set_aside: int
    rolled_back: int
    soak: str
    wait: str
    approvals: SimulatedApprovals | None
    levels: list[StageLevel]
    windows: list[TimeSpan]
    freezes: list[FreezeSpan]


class SimulatedRollout(AnswerRecord, frozen=True, kw_only=True):
    """A rollout, and how it ends. from and to are versions, several if clusters differ."""

    name: str
    organization: str
    preset: str
    change_id: str
    definition: str
    from_: list[str] = field(name="from")
    to: list[str]
    phase: str
    clusters: int


class LeftWaiting(AnswerRecord, frozen=True, kw_only=True):
    """Clusters that are not up to date in the end, for the same reason."""

    state: str
    gate: str
    message: str
    do: str
    clusters: list[str]


class Assumption(AnswerRecord, frozen=True, kw_only=True):
    """What is taken for granted, as flag and value."""

    flag: str
    value: str


class Simulation(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Simulation"):
    """What would happen if a change were made. time_zone is the clock that people see."""

    start: datetime
    end: datetime
    outcome: SimulatedOutcome
    from_: str = field(name="from")
    to: str
    time_zone: str
    rollouts: list[SimulatedRollout]
    stages: list[SimulatedStage]
    events: list[SimulatedEvent]
    left: list[LeftWaiting]
    assumptions: list[Assumption]
    diagnostics: list[Finding]
