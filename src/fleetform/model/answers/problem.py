"""What the HTTP API answers in place of an answer (RFC 9457)."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from fleetform.model.answers.base import AnswerRecord


class Problem(AnswerRecord, frozen=True, kw_only=True):
    """Why there is no answer: what, and what to do. code is the one that the command line has for it."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str = ""
    choices: list[str] | UnsetType = UNSET
