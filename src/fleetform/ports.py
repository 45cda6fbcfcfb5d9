"""What the application needs of the world, as shapes; adapters fill them, tests fake them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetform.model.objects import At, Origin
from fleetform.model.results.diagnostics import Diagnostic, Place


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the input: a tree and where it was read."""

    tree: Any
    origin: Origin


class Locator(Protocol):
    """Finds lines and columns, and shows the lines around them."""

    def place(self, at: At | Place) -> Place: ...

    def lines(self, file: str, first: int, last: int) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Input:
    """Everything that was read, what could not be, and how to find a place in it again."""

    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic]
    locator: Locator
    files: int = 0
    name: str = "."


@dataclass(frozen=True, slots=True)
class KnownState:
    """What a state export brings: stamps by (kind, organization, name), and what runs, by plugin."""

    stamps: dict[tuple[str, str, str], str] = field(default_factory=dict)
    admitted: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
