"""Gates as answers bear them."""

from __future__ import annotations

from fleetform.model.answers.base import AnswerRecord, ObjectReference


class ReportedGate(AnswerRecord, frozen=True, kw_only=True):
    """What keeps a plugin from what is wanted: the gate's name, why, where that is written, and what to do.

    option is the option it is about, if any; until is when it opens by itself, if that is known.
    """

    gate: str
    option: str | None
    message: str
    until: str | None = None
    object: ObjectReference
    do: str
