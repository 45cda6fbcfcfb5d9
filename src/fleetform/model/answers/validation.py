"""What validate answers."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding
from fleetform.model.results.diagnostics import Place


class ValidationCounts(AnswerRecord, frozen=True, kw_only=True):
    """How much was read, and how much of it is wrong; skipped are documents that are no manifests."""

    files: int
    objects: int
    errors: int
    warnings: int
    skipped: int | UnsetType = UNSET


class ValidateResult(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="ValidateResult"):
    """Everything that is wrong with an input, in file order."""

    valid: bool
    counts: ValidationCounts
    skipped: list[Place] | UnsetType = UNSET
    diagnostics: list[Finding]
