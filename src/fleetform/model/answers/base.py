"""What every record of an answer is made of: JSON values, masks, references to objects."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from fleetform.model.results.diagnostics import Place

# A value as JSON has it: text, a number, true, false, null, a list or a map. People write them, so nothing is known of
# their shape.
Json: TypeAlias = Any
JsonMap: TypeAlias = dict[str, Json]


class AnswerRecord(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A part of an answer. Fields are written in their order; one that is UNSET is left out."""


class MaskedSecret(AnswerRecord, frozen=True, kw_only=True):
    """Stands in an answer for a secret, whatever its content is."""

    secret: bool = True
    digest: str = "unknown"


MASKED = MaskedSecret()


class ObjectReference(AnswerRecord, frozen=True, kw_only=True):
    """An object by kind, organization and name, and the place that is meant in it."""

    kind: str
    organization: str
    name: str
    place: Place | UnsetType = UNSET
