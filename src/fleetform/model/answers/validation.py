"""What validate answers."""

from __future__ import annotations

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding


class ValidationCounts(AnswerRecord, frozen=True, kw_only=True):
    """How much was read, and how much of it is wrong."""

    files: int
    objects: int
    errors: int
    warnings: int


class ValidateResult(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="ValidateResult"):
    """Everything that is wrong with an input, in file order."""

    valid: bool
    counts: ValidationCounts
    diagnostics: list[Finding]
