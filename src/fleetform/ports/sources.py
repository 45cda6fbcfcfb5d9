"""Sources of a fleet's files, read again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from fleetform.model.results.diagnostics import Diagnostic


class SourceFiles(NamedTuple):
    """The files of a fleet as they are now, by name.

    problems are what could not be read: then it is not known what is gone. revision names the state of the source (a
    commit), author whoever made it. separate: each file is one object that people change by itself, so that one that is
    wrong holds up no other.
    """

    files: Mapping[str, bytes]
    problems: Sequence[Diagnostic] = ()
    revision: str = ""
    author: str | None = None
    separate: bool = False


class Source(Protocol):
    def read(self) -> SourceFiles:
        """All files. It never raises for what cannot be read: that is a problem."""
