"""Finds lines: from a path in a document to the line and column in its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleetform.load.neighbours import lines_of
from fleetform.model.objects import At
from fleetform.model.results.diagnostics import Place
from fleetform.syntax.yaml_places import Mark, Path, marks_of, nearest_mark


class FileLocator:
    """Keeps the texts of files; a document is searched once, when the first place in it is asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, str | Callable[[], str]] = {}
        self._lines: dict[str, list[str]] = {}
        self._marks: dict[tuple[str, int], dict[Path, Mark]] = {}

    def add(self, file: str, text: str | Callable[[], str]) -> None:
        self._texts[file] = text

    def text(self, file: str) -> str | None:
        """The text of a file, if it was added as a text."""
        text = self._texts.get(file)
        return text if isinstance(text, str) else None

    def place(self, at: At | Place) -> Place:
        if isinstance(at, Place):
            return at
        origin = at.origin
        key = (origin.file, origin.first_line)
        if key not in self._marks:
            self._marks[key] = marks_of("\n".join(self.lines(origin.file, origin.first_line, origin.last_line)))
        line, column = nearest_mark(self._marks[key], at.path)
        return Place(origin.file, origin.first_line + line - 1, column)

    def lines(self, file: str, first: int, last: int) -> Sequence[str]:
        if file not in self._lines:
            known = self._texts.get(file, "")
            self._lines[file] = lines_of(known if isinstance(known, str) else known())
        return self._lines[file][first - 1 : last]
