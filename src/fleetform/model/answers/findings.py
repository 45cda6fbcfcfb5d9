"""Findings as answers bear them, and the answer of a verb that has none."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.results.diagnostics import Place, Severity


class Finding(AnswerRecord, frozen=True, kw_only=True):
    """Something to say about the input: what, where, and what to do. object and path name the field it is about."""

    code: str
    severity: Severity
    message: str
    hint: str
    object: str | None = None
    path: str = ""
    place: Place | None = None
    related: list[Place] = field(default_factory=list)


class Failure(AnswerRecord, frozen=True, kw_only=True):
    """What a verb prints that has no answer; kind is that of the answer it would have given."""

    kind: str
    diagnostics: list[Finding]
