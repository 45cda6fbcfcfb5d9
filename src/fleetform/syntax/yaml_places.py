"""Where something stands in a YAML document: a path to a line and column, found when it is asked for.

Trees carry no marks. Only what is printed needs a line, so the one document it stands in is read again, as events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import MappingEndEvent, MappingStartEvent, SequenceEndEvent, SequenceStartEvent

Path = tuple[str | int, ...]
Mark = tuple[int, int]


def marks_of(text: str) -> dict[Path, Mark]:
    """The (line, column), from 1, of every key and list item of the text's one document; () is its first node."""
    marks: dict[Path, Mark] = {}
    try:
        for path, mark in _walk(text):
            marks.setdefault(path, mark)
    except (yaml.YAMLError, RecursionError):
        # What stands before the break has its place; the break itself was reported by the reader.
        pass
    return marks


def nearest(marks: dict[Path, Mark], path: Path) -> Mark:
    """The mark of the path or, where nothing stands there, of its closest parent that does."""
    for length in range(len(path), -1, -1):
        mark = marks.get(path[:length])
        if mark is not None:
            return mark
    return (1, 1)


def _walk(text: str) -> Iterator[tuple[Path, Mark]]:
    next_event = CParser(text).get_event
    next_event(), next_event()
    root = next_event()
    if root is None or not hasattr(root, "anchor"):
        return
    yield (), _mark(root)
    yield from _inside(next_event, root, ())


def _inside(next_event: Any, start: Any, path: Path) -> Iterator[tuple[Path, Mark]]:
    if isinstance(start, MappingStartEvent):
        yield from _mapping(next_event, path)
    elif isinstance(start, SequenceStartEvent):
        yield from _sequence(next_event, path)


def _mapping(next_event: Any, path: Path) -> Iterator[tuple[Path, Mark]]:
    while not isinstance(key := next_event(), MappingEndEvent):
        below = (*path, getattr(key, "value", ""))
        yield below, _mark(key)
        for _ in _inside(next_event, key, ()):
            pass
        yield from _inside(next_event, next_event(), below)


def _sequence(next_event: Any, path: Path) -> Iterator[tuple[Path, Mark]]:
    index = 0
    while not isinstance(item := next_event(), SequenceEndEvent):
        below = (*path, index)
        yield below, _mark(item)
        yield from _inside(next_event, item, below)
        index += 1


def _mark(event: Any) -> Mark:
    return event.start_mark.line + 1, event.start_mark.column + 1
