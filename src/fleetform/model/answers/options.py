"""Options as answers bear them: their values, and the provenance of these."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from fleetform.model.answers.base import AnswerRecord, Json, ObjectReference
from fleetform.model.results.decisions import LayerName, SkipReason, Strategy, TieBreak


class Provenance(AnswerRecord, frozen=True, kw_only=True):
    """The layer that an item belongs to, the object that holds it and the place in there.

    part is the group's name, the block's cluster, the default's version, or what an override names.
    """

    layer: LayerName
    rank: int
    object: ObjectReference
    part: str | UnsetType = UNSET
    expression: str | UnsetType = UNSET
    migrated_from: str | UnsetType = UNSET


class WinningItem(Provenance, frozen=True, kw_only=True):
    """The item that an option's value comes from; tie says how it was told from another of its rank."""

    tie: TieBreak | None


class HiddenItem(Provenance, frozen=True, kw_only=True):
    """An item that lost to another, and its value."""

    value: Json
    strategy: Strategy | UnsetType = UNSET


class ExplainedPart(AnswerRecord, frozen=True, kw_only=True):
    """A path inside an option's value that has a winner of its own; inside is that path below the option."""

    path: str
    option: str
    inside: str
    value: Json
    winner: WinningItem
    hidden: list[HiddenItem]


class ExplainedOption(AnswerRecord, frozen=True, kw_only=True):
    """An option's value on one plugin, the item that won, and those it hid, from specific to generic.

    mentions are the variables that those refer to who made the value. problem says what is wrong with it.
    """

    path: str
    type: str | None
    value: Json
    winner: WinningItem | None
    hidden: list[HiddenItem]
    migrated_from: str | None
    mentions: list[str]
    parts: list[ExplainedPart] | UnsetType = UNSET
    removed_by: Provenance | UnsetType = UNSET
    problem: str | UnsetType = UNSET


# The two below name their path first, and then the fields of Provenance.


class SkippedItem(AnswerRecord, frozen=True, kw_only=True):
    """An item that has no effect on a plugin, and why."""

    path: str
    reason: SkipReason
    layer: LayerName
    rank: int
    object: ObjectReference
    part: str | UnsetType = UNSET
    expression: str | UnsetType = UNSET
    migrated_from: str | UnsetType = UNSET


class ValueSource(AnswerRecord, frozen=True, kw_only=True):
    """A value that is no default, and who set it."""

    path: str
    value: Json
    layer: LayerName
    rank: int
    object: ObjectReference
    part: str | UnsetType = UNSET
    expression: str | UnsetType = UNSET
    migrated_from: str | UnsetType = UNSET


class AppliedOverride(AnswerRecord, frozen=True, kw_only=True):
    """An override on one plugin: the paths it won there, and those it lost."""

    name: str
    rank: int
    won: list[str]
    lost: list[str]
