"""What convert answers."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from fleetform.model.answers.base import AnswerRecord, Json, ObjectReference
from fleetform.model.answers.findings import Finding


class ConvertedFile(AnswerRecord, frozen=True, kw_only=True):
    """A native manifest below the output folder; changed says that the object is not written like that now."""

    path: str
    object: str
    changed: bool


class Conversion(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Conversion"):
    """Native manifests, and what they cannot say."""

    files: list[ConvertedFile]
    diagnostics: list[Finding]


class MigrationEdit(AnswerRecord, frozen=True, kw_only=True):
    """A value that is written in another way: removed, under another name, or of another type."""

    path: str
    action: Literal["remove", "rename", "retype"]
    object: ObjectReference
    to: str | UnsetType = UNSET
    value: Json | UnsetType = UNSET


class UnmadeEdit(MigrationEdit, frozen=True, kw_only=True):
    """An edit that is not made, and why."""

    reason: str


class MigrationResult(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Migration"):
    """The edits that migrations ask for, and those that cannot be made."""

    files: list[str]
    edits: list[MigrationEdit]
    left: list[UnmadeEdit]
    diagnostics: list[Finding]
