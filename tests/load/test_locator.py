"""A path in a document becomes a line and a column of the file."""

from __future__ import annotations

import pytest

from fleetform.load.locator import FileLocator
from fleetform.model.objects import At, Origin
from fleetform.model.results.diagnostics import Place

TEXT = "a: 1\n---\nkind: B\nspec:\n  x: 1\n---\nkind: C\n"
SECOND = Origin("f.yaml", 2, 6)


def locator(text: str = TEXT) -> FileLocator:
    made = FileLocator()
    made.add("f.yaml", text)
    return made


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    ("path", "line", "column"), [(("spec", "x"), 5, 3), (("spec", "missing"), 4, 1), (("kind",), 3, 1), ((), 3, 1)]
)
def test_lines_count_from_the_top_of_the_file(path: tuple[str | int, ...], line: int, column: int) -> None:
    assert locator().place(At(SECOND, path)) == Place("f.yaml", line, column)


def test_lines_that_end_with_crlf_are_counted_once() -> None:
    found = locator(TEXT.replace("\n", "\r\n")).place(At(SECOND, ("spec", "x")))
    assert found == Place("f.yaml", 5, 3)


def test_a_place_stays_what_it_is() -> None:
    assert locator().place(Place("g.yaml", 7, 3)) == Place("g.yaml", 7, 3)


def test_lines_are_shown_as_they_stand() -> None:
    assert list(locator().lines("f.yaml", 4, 5)) == ["spec:", "  x: 1"]


def test_there_are_no_lines_of_an_unknown_file() -> None:
    assert [line for line in locator().lines("other.yaml", 1, 3) if line] == []


def test_a_place_in_an_empty_document_is_its_beginning() -> None:
    assert locator("").place(At(Origin("f.yaml", 1, 1), ("spec",))) == Place("f.yaml", 1, 1)
