"""Findings: what is wrong, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from fleetform.model.objects import At, Ref
from fleetform.model.reasons import DIAGNOSTICS

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and a line and column in it that count from 1."""

    file: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. at is where it stands; related are the other places that it is about."""

    code: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    object: Ref | None = None
    at: At | Place | None = None
    related: tuple[At | Place, ...] = ()

    def __post_init__(self) -> None:
        if self.code not in DIAGNOSTICS:
            raise ValueError(f"{self.code} is not a known diagnostic code")

    @property
    def path(self) -> str:
        """The field inside the object, as a dotted path."""
        if not isinstance(self.at, At):
            return ""
        return path_text(self.at.path[len(self.at.origin.base) :])

    def as_error(self) -> Diagnostic:
        return replace(self, severity="error")


def path_text(path: tuple[str | int, ...]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
