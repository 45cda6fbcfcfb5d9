"""Upgrades as answers bear them: what the versions on the way bring, and whose values they affect."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from fleetform.model.answers.base import AnswerRecord, Json, ObjectReference


class ChangelogEntry(AnswerRecord, frozen=True, kw_only=True):
    """What the author of a version says of it."""

    definition: str
    version: str
    text: str
    breaking: bool
    irreversible: bool
    acknowledge: str | None


class AddedOption(AnswerRecord, frozen=True, kw_only=True):
    """An option that is new."""

    path: str
    type: str
    required: bool


class OptionPath(AnswerRecord, frozen=True, kw_only=True):
    """An option by its path."""

    path: str


class RenamedOption(AnswerRecord, frozen=True, kw_only=True):
    """An option that has another name now."""

    from_: str = field(name="from")
    to: str


class RetypedOption(AnswerRecord, frozen=True, kw_only=True):
    """An option that has another type now."""

    path: str
    from_: str = field(name="from")
    to: str


class RedefaultedOption(AnswerRecord, frozen=True, kw_only=True):
    """An option that has another default now."""

    path: str
    from_: Json = field(name="from")
    to: Json


class OptionsOfUpgrade(AnswerRecord, frozen=True, kw_only=True):
    """What becomes of options between two versions."""

    added: list[AddedOption]
    removed: list[OptionPath]
    renamed: list[RenamedOption]
    retyped: list[RetypedOption]
    redefaulted: list[RedefaultedOption]
    required: list[OptionPath]


class AffectedValue(AnswerRecord, frozen=True, kw_only=True):
    """A value that an upgrade reads in another way, or a default that changes under a plugin."""

    path: str
    effect: Literal["migrated", "retyped", "removed", "default"]
    object: ObjectReference
