"""Conditions: few, with stable reasons (docs/reference/status.md lists them)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from fleetform.model.answers import listed
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.kinds.base import Record
from fleetform.model.kinds.status import Condition, ConditionStatus
from fleetform.syntax.addresses import without_logins

T = TypeVar("T", bound=Record)

# Those that Fleetform writes: one that is there and no longer holds is taken away, those of others stay.
OURS = frozenset(
    {
        "Ready",
        "UpToDate",
        "Resolved",
        "Drifted",
        "Reconciling",
        "Stalled",
        "Valid",
        "Reachable",
        "Complete",
        "RenderChanged",
        "NotRendered",
        "NotDelivered",
        "NotRemoved",
        "HealthUnknown",
        "ApprovalNeeded",
    }
)
_LONGEST = 1024


def condition(type_: str, holds: bool | None, reason: str, message: str = "") -> Condition:
    """holds None: nobody knows."""
    status: ConditionStatus = "Unknown" if holds is None else "True" if holds else "False"
    return Condition(type=type_, status=status, reason=reason, message=shortened(without_logins(message)))


def answered(found: listed.Condition) -> Condition:
    """A condition as answers have it."""
    return condition(found.type, found.status == "True", found.reason, found.message)


def shortened(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def sentence(parts: Sequence[str]) -> str:
    return "; ".join(each for each in parts if each)


def as_status(answer: AnswerRecord, record: type[T]) -> T:
    """A part of an answer as the part of a status that says the same, as far as a status has room for it."""
    told = msgspec.to_builtins(answer)
    return msgspec.convert({name: told[name] for name in record.__struct_encode_fields__ if name in told}, record)
