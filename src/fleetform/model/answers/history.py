"""What happened on a cluster."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding


class HistoryEvent(AnswerRecord, frozen=True, kw_only=True):
    """Something that happened to a plugin: what it ran from then on, by which rollout and change, and why.

    revision is the commit of the source that it is from.
    """

    at: str
    cluster: str
    plugin: str
    event: str
    version: str | None = None
    input_hash: str | None = None
    rollout: str = ""
    change_id: str = ""
    reason: str = ""
    revision: str = ""


class RunningThen(AnswerRecord, frozen=True, kw_only=True):
    """What a plugin ran at a time, since when, and what came of it by then."""

    cluster: str
    plugin: str
    version: str | None
    since: str
    health: str
    rollout: str = ""
    change_id: str = ""
    revision: str = ""


class History(AnswerRecord, frozen=True, kw_only=True):
    """What happened on a cluster up to a time, the latest first, and what ran there then."""

    kind: str = "History"
    diagnostics: list[Finding] = field(default_factory=list)
    cluster: str
    at: str
    running: list[RunningThen]
    items: list[HistoryEvent]
