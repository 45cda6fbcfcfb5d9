"""Finds lines: from a path in a document to the line and column in its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleetform.load.neighbours import lines_of
from fleetform.model.objects import At, Origin
from fleetform.model.results.diagnostics import Place
from fleetform.syntax.yaml_places import Mark, Path, first_mark, marks_of, nearest_mark


class FileLocator:
    """Keeps the texts of files; a document is searched once, when the first place in it is asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, str | Callable[[], str]] = {}
        self._lines: dict[str, list[str]] = {}
        self._marks: dict[tuple[str, int], dict[Path, Mark]] = {}
        self._beginnings: dict[tuple[str, int], Mark] = {}

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
        if not at.path:
            # Many answers only say where an object begins.
            if key not in self._beginnings:
                self._beginnings[key] = first_mark(self._document(origin))
            line, column = self._beginnings[key]
        else:
            if key not in self._marks:
                self._marks[key] = marks_of(self._document(origin))
            line, column = nearest_mark(self._marks[key], at.path)
        return Place(origin.file, origin.first_line + line - 1, column)

    def _document(self, origin: Origin) -> str:
        return "\n".join(self.lines(origin.file, origin.first_line, origin.last_line))

    def lines(self, file: str, first: int, last: int) -> Sequence[str]:
        if file not in self._lines:
            known = self._texts.get(file, "")
            self._lines[file] = lines_of(known if isinstance(known, str) else known())
        return self._lines[file][first - 1 : last]
