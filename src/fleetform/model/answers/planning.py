"""What plan, why and the rollout verbs answer."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, ObjectReference
from fleetform.model.answers.findings import Finding

PluginPhase = Literal["UpToDate", "Waiting", "Blocked", "InFlight", "Failed", "Unreachable", "Paused"]


class HoldingGate(AnswerRecord, frozen=True, kw_only=True):
    """What holds a plugin: the gate, why, until when if time opens it, and what to do. decides marks the last to open.

    zone is the clock that people there go by.
    """

    gate: str
    message: str
    until: str | None
    object: ObjectReference
    do: str
    decides: bool
    zone: str


class ConsentNeeded(AnswerRecord, frozen=True, kw_only=True):
    """People who must agree to a stage: how many, and how many have.

    decideBy is the latest time at which agreeing does not move the end of the rollout, and costs how many seconds the
    next minute does; null costs: the rollout would not end then. Both are null where it does not end as things are.
    """

    rollout: str
    stage: str
    need: int
    have: int
    decide_by: str | None = None
    end: str | None = None
    costs: int | None = None


class ReportedTrouble(AnswerRecord, frozen=True, kw_only=True):
    """What keeps a plugin from starting or arriving, its files from going away, or anybody from telling how it does.

    render: a source or a tool is not there for now. tries failed in a row, and nextTry is when the next is made; health
    and sources are looked at again and again.
    """

    of: Literal["render", "delivery", "removal", "health"]
    message: str
    do: str
    where: str
    since: str
    tries: int
    next_try: str | None


class WhyItem(AnswerRecord, frozen=True, kw_only=True):
    """How one plugin on one cluster stands to what is wanted, and what holds it.

    unknown: what it is made of cannot be compared here, so that it may already be what is wanted. summary says it all
    in one sentence; earliest is when it starts at the earliest, if time alone does it or once conditions are met.
    support_ends is when the version that runs ends, as a policy or a catalog says. removal: it is to go; to
    is also none where no version answers what is wanted.
    """

    organization: str
    cluster: str
    plugin: str
    preset: str | None
    definition: str | None
    state: PluginPhase
    action: Literal["start", "render", "wait", "block", "rollback", "delete", "nothing"]
    from_: str | None = field(name="from")
    to: str | None
    unknown: bool
    rollout: str | None
    stage: str | None
    since: str | None
    earliest: str | None
    summary: str
    reasons: list[HoldingGate]
    approvals: list[ConsentNeeded]
    trouble: ReportedTrouble | None = None
    support_ends: str | None = None
    removal: bool = False


class Why(AnswerRecord, frozen=True, kw_only=True):
    """Why plugins are not, or not yet, what is wanted."""

    kind: Literal["Why"] = "Why"
    items: list[WhyItem]
    diagnostics: list[Finding]


class FailureBudget(AnswerRecord, frozen=True, kw_only=True):
    """How many clusters may fail, and how many have."""

    max: int
    used: int


class StageClusters(AnswerRecord, frozen=True, kw_only=True):
    """A stage's clusters in numbers: updated are those that were started, healthy those of them that are well."""

    total: int
    updated: int
    healthy: int
    failed: int
    unreachable: int
    waiting: int


class PlannedStage(AnswerRecord, frozen=True, kw_only=True):
    """A stage of a rollout: what starts now, by cluster, what waits, and what is done."""

    name: str
    start: list[str]
    waiting: list[WhyItem]
    done: list[str]
    budget: FailureBudget
    clusters: StageClusters
    approvals: ConsentNeeded | None
    soak_until: str | None


class ObjectChange(AnswerRecord, frozen=True, kw_only=True):
    """An object that a change is made of, and the options that it sets otherwise. Values are not told."""

    kind: str
    organization: str
    name: str
    change: Literal["added", "changed", "removed"]
    options: list[str]


class PlannedRollout(AnswerRecord, frozen=True, kw_only=True):
    """A rollout, or what starts of an owner without one: its name is then null. changes are the objects behind it."""

    organization: str
    name: str | None
    preset: str
    change_id: str
    phase: str | None
    from_: list[str] = field(name="from")
    to: list[str]
    unknown: int
    stages: list[PlannedStage]
    beside: PlannedStage | None
    queued: str | None
    changes: list[ObjectChange] = field(default_factory=list)


class Removals(AnswerRecord, frozen=True, kw_only=True):
    """Plugins that nobody wants any more: those that go now, and those that wait."""

    start: list[WhyItem]
    waiting: list[WhyItem]


class PlanAnswer(AnswerRecord, frozen=True, kw_only=True):
    """What starts now, what waits and for what, and when to look again."""

    kind: Literal["Plan"] = "Plan"
    at: str
    rollouts: list[PlannedRollout]
    removals: Removals
    up_to_date: int
    next_look_at: str | None
    diagnostics: list[Finding]


class RolloutStage(AnswerRecord, frozen=True, kw_only=True):
    """A stage of a rollout."""

    name: str
    phase: str
    clusters: StageClusters
    approvals: ConsentNeeded | None
    soak_until: str | None
    started: str | None
    done: str | None


class RolloutCause(AnswerRecord, frozen=True, kw_only=True):
    """What clusters of a rollout have in common that are not done, or that failed on the way: how many, and some names.

    until is when time alone changes it. trouble is what keeps it from arriving or from being judged; of several the one
    that lasts longest.
    """

    state: PluginPhase
    gate: str | None
    message: str
    until: str | None
    clusters: int
    names: list[str]
    trouble: ReportedTrouble | None = None


class RolloutAnswer(AnswerRecord, frozen=True, kw_only=True):
    """A rollout as it stands. message says what a request comes to, in the answer to one.

    causes is what clusters failed with or wait for, the failed ones first: at most a screen of it (B33). changes are
    the objects that it brings otherwise; once it is over, the first of them.
    """

    kind: Literal["Rollout"] = "Rollout"
    organization: str
    name: str
    preset: str
    change_id: str
    policy: str
    from_: str | None = field(name="from")
    to: str | None
    phase: str
    stages: list[RolloutStage]
    queued: str | None
    skipped: list[str]
    rejected: bool
    note: str
    created: str
    started: str | None
    ended: str | None
    causes: list[RolloutCause]
    changes: list[ObjectChange] = field(default_factory=list)
    message: str | UnsetType = UNSET
    diagnostics: list[Finding]


class RolloutList(AnswerRecord, frozen=True, kw_only=True):
    """Rollouts, by owner, the oldest first. message: as in a rollout, where a request is about none."""

    kind: Literal["RolloutList"] = "RolloutList"
    message: str | UnsetType = UNSET
    items: list[RolloutAnswer]
    diagnostics: list[Finding]
