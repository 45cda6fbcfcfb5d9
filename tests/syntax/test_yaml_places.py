"""Paths to lines and columns."""

from __future__ import annotations

import pytest

from fleetform.syntax.yaml_places import first_mark, marks_of, nearest_mark

TEXT = """\
# about
a:
  b: 1
  c:
  - x
  - y1: 1
    z: 2
d: &q {e: 1}
f: *q
"""


@pytest.mark.parametrize(
    ("path", "mark"),
    [
        ((), (2, 1)),
        (("a",), (2, 1)),
        (("a", "b"), (3, 3)),
        (("a", "c"), (4, 3)),
        (("a", "c", 0), (5, 5)),
        (("a", "c", 1), (6, 5)),
        (("a", "c", 1, "z"), (7, 5)),
        (("d", "e"), (8, 8)),
        (("f",), (9, 1)),
    ],
)
@pytest.mark.rule("S12")
def test_a_key_or_list_item_has_its_place(path: tuple[str | int, ...], mark: tuple[int, int]) -> None:
    assert marks_of(TEXT)[path] == mark


@pytest.mark.parametrize(
    ("path", "mark"),
    [(("a", "b"), (3, 3)), (("a", "nope", "deeper"), (2, 1)), (("a", "c", 7), (4, 3)), (("nope",), (2, 1))],
)
@pytest.mark.rule("S12")
def test_where_nothing_stands_the_closest_parent_has_the_place(
    path: tuple[str | int, ...], mark: tuple[int, int]
) -> None:
    assert nearest_mark(marks_of(TEXT), path) == mark


def test_inside_an_alias_the_place_is_that_of_the_alias() -> None:
    assert nearest_mark(marks_of(TEXT), ("f", "e")) == (9, 1)


def test_without_any_mark_the_place_is_the_beginning() -> None:
    assert nearest_mark({}, ("a",)) == (1, 1)


def test_of_a_key_that_stands_twice_the_first_counts() -> None:
    assert marks_of("a: 1\na: 2\n")["a",] == (1, 1)


def test_only_the_first_document_counts() -> None:
    assert marks_of("---\na: 1\n---\nb: 1\n") == {(): (2, 1), ("a",): (2, 1)}


def test_what_stands_before_a_break_has_its_place() -> None:
    marks = marks_of("a: 1\nb:\n  c: [1\n")
    assert marks["b", "c"] == (3, 3)


def test_json_has_places_too() -> None:
    marks = marks_of('{\n\t"a": {\n\t\t"b": [1,\n\t\t2]}}')
    assert (marks["a", "b"], marks["a", "b", 1]) == ((3, 3), (4, 3))


@pytest.mark.parametrize(
    "text",
    ["a: 1\n", "# why\n\n  a: 1\n", "--- # here\n- 1\n", "", "# nothing\n", "\tbad", "a: [1\n", "[1, 2]", "&x {a: 1}"],
)
def test_the_first_mark_is_that_of_the_whole_document(text: str) -> None:
    assert first_mark(text) == nearest_mark(marks_of(text), ())
