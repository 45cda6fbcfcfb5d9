"""What get answers of rollouts, and of what they go by: windows and policies."""

from __future__ import annotations

from typing import Literal

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.listed import Listed, ListedObject
from fleetform.model.answers.planning import RolloutAnswer


class RolloutIdentity(AnswerRecord, frozen=True, kw_only=True):
    """What a rollout brings, to whose plugins."""

    change_id: str
    preset: str


class ListedRollout(Listed, frozen=True, kw_only=True):
    """A rollout."""

    spec: RolloutIdentity
    status: RolloutAnswer


class WindowOpening(AnswerRecord, frozen=True, kw_only=True):
    """A window on one clock: whether it is open now, until when, and when it opens next."""

    zone: str
    open: bool
    until: str | None
    opens_at: str | None


class WindowStatus(AnswerRecord, frozen=True, kw_only=True):
    """A window on the clocks of its clusters, how many those are, and who names it.

    findings: it never opens again, or opens less than once in 7 days; or it cannot be read.
    """

    clusters: int
    named_by: list[str]
    openings: list[WindowOpening]
    findings: list[Literal["never-opens", "rare", "unreadable"]]


class ListedWindow(ListedObject, frozen=True, kw_only=True):
    """An update window or a freeze."""

    status: WindowStatus


class PolicyStage(AnswerRecord, frozen=True, kw_only=True):
    """A stage of a policy, and how many clusters belong to it."""

    name: str
    clusters: int


class PolicyStatus(AnswerRecord, frozen=True, kw_only=True):
    """Whose changes move by a policy, and which clusters are in which stage; unstaged are in none."""

    presets: list[str]
    stages: list[PolicyStage]
    unstaged: list[str]


class ListedPolicy(ListedObject, frozen=True, kw_only=True):
    """A rollout policy."""

    status: PolicyStatus
