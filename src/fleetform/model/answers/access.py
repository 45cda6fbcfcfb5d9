"""Who asks, what they did, and what has changed since."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding


class RolesThere(AnswerRecord, frozen=True, kw_only=True):
    """What somebody may do in an organization: by which roles, and the rights that these come to."""

    organization: str
    roles: list[str]
    rights: list[str]


class WhoAmI(AnswerRecord, frozen=True, kw_only=True):
    """Who a token belongs to. everywhere: rights in every organization, now and later."""

    kind: str = "WhoAmI"
    diagnostics: list[Finding] = field(default_factory=list)
    user: str
    also: list[str]
    groups: list[str]
    everywhere: list[str]
    organizations: list[RolesThere]
    until: str | None = None


class AuditItem(AnswerRecord, frozen=True, kw_only=True):
    """What somebody did, or was refused. hash covers the entry and the hash of the one before."""

    number: int
    at: str
    actor: str
    verb: str
    subject: str
    outcome: str
    organization: str
    detail: str
    previous: str
    hash: str


class AuditLog(AnswerRecord, frozen=True, kw_only=True):
    """A part of the audit log, oldest first. whole: no entry is left out, so that the chain can be checked."""

    kind: str = "AuditLog"
    diagnostics: list[Finding] = field(default_factory=list)
    whole: bool
    items: list[AuditItem]


class ChangedObject(AnswerRecord, frozen=True, kw_only=True):
    """Something of which another state is stored now: a plugin on a cluster, or a rollout."""

    kind: str
    organization: str
    name: str
    cluster: str = ""


class ChangeNotice(AnswerRecord, frozen=True, kw_only=True):
    """What is new at a version. files: others were accepted, and anything may differ. more: so many are not named."""

    kind: str = "Change"
    version: int
    files: bool = False
    objects: list[ChangedObject]
    more: int = 0
