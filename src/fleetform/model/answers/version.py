"""What version answers."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding


class VersionAnswer(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Version"):
    """Fleetform's version, and that of the interpreter it runs in."""

    version: str
    python: str
    diagnostics: list[Finding] = field(default_factory=list)
