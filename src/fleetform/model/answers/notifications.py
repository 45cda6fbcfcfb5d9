"""What people are told: one record for each thing that happened, however many clusters it concerns."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding


class Cause(AnswerRecord, frozen=True, kw_only=True):
    """Why, on how many clusters, and the names of a few of them."""

    message: str
    clusters: int
    names: list[str]


class Notification(AnswerRecord, frozen=True, kw_only=True):
    """Something that happened to a change of an owner, on so many clusters; names are a few of those.

    until is when time alone goes on: what is counted down to, or the earliest start. do is the next step.
    """

    id: str
    event: str
    at: str
    organization: str
    preset: str
    title: str
    clusters: int
    names: list[str]
    from_: list[str] = field(name="from", default_factory=list)
    to: list[str] = field(default_factory=list)
    rollout: str = ""
    change_id: str = ""
    stage: str = ""
    causes: list[Cause] = field(default_factory=list)
    until: str | None = None
    do: str = ""


class NotificationList(AnswerRecord, frozen=True, kw_only=True):
    """The feed, the latest first."""

    kind: str = "NotificationList"
    items: list[Notification]
    diagnostics: list[Finding] = field(default_factory=list)
