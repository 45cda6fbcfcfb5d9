"""What is read: documents, what could not be read, and the way back to a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fleetform.model.answers.base import Json
from fleetform.model.authors import NO_AUTHORS, Authors
from fleetform.model.objects import At, Origin
from fleetform.model.results.diagnostics import Diagnostic, Place


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the input: a tree and where it was read.

    The tree is None if the document is no manifest and was not read to the end. remarks are what there is to say about
    its text, if it is a manifest.
    """

    tree: Json
    origin: Origin
    remarks: tuple[Diagnostic, ...] = ()


class Locator(Protocol):
    """Finds lines and columns, and shows the lines around them."""

    def place(self, at: At | Place) -> Place: ...

    def lines(self, file: str, first: int, last: int) -> Sequence[str]: ...

    def add(self, file: str, text: str | Callable[[], str]) -> None:
        """Make a file known by its text, or by where to get it once it is asked for."""


@dataclass(frozen=True, slots=True)
class Input:
    """Everything that was read, what could not be, and how to find a place in it again.

    authors are those who made its files what they are, and who removed what is gone from them (S47).
    """

    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic]
    locator: Locator
    files: int = 0
    name: str = "."
    authors: Authors = NO_AUTHORS
