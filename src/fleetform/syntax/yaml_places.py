"""Lines and columns of paths in a YAML document, found when they are asked for.

Trees have no marks. Only what is printed needs a line, so the one document of it is read again, as events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import yaml
from yaml._yaml import CParser
from yaml.events import MappingEndEvent, MappingStartEvent, SequenceEndEvent, SequenceStartEvent

from fleetform.syntax.yaml_in import YamlEvent

Path = tuple[str | int, ...]
Mark = tuple[int, int]


def marks_of(text: str) -> dict[Path, Mark]:
    """The (line, column), from 1, of every key and list item of the text's one document; () is its first node."""
    marks: dict[Path, Mark] = {}
    try:
        next_event = CParser(text).get_event
        next_event(), next_event()
        root = next_event()
        if root is not None and hasattr(root, "anchor"):
            marks[()] = _mark(root)
            for path, mark in _inside(next_event, root, ()):
                marks.setdefault(path, mark)
    except (yaml.YAMLError, RecursionError):
        # What is before the break has its place; the break itself was reported by the reader.
        pass
    return marks


def first_mark(text: str) -> Mark:
    """The mark of the first node of the text's one document, for which nothing behind it is read."""
    try:
        next_event = CParser(text).get_event
        next_event(), next_event()
        root = next_event()
    except yaml.YAMLError:
        return (1, 1)
    return _mark(root) if root is not None and hasattr(root, "anchor") else (1, 1)


def top_level(text: str) -> dict[str, str] | None:
    """The keys of the map that the text's one document is, with the texts of single values; None if it is no YAML.

    Of a key that stands twice the first value counts. What is no map has no keys.
    """
    found: dict[str, str] = {}
    try:
        next_event = CParser(text).get_event
        next_event(), next_event()
        root = next_event()
        if isinstance(root, MappingStartEvent):
            while not isinstance(key := next_event(), MappingEndEvent):
                _pass(next_event, key)
                value = next_event()
                _pass(next_event, value)
                found.setdefault(getattr(key, "value", ""), getattr(value, "value", ""))
        elif root is not None:
            _pass(next_event, root)
        while next_event() is not None:
            pass
    except (yaml.YAMLError, RecursionError):
        return None
    return found


def _pass(next_event: Callable[[], YamlEvent], start: YamlEvent) -> None:
    """Read on to the end of a node."""
    for _ in _inside(next_event, start, ()):
        pass


def nearest_mark(marks: dict[Path, Mark], path: Path) -> Mark:
    """The mark of the path or, if it has none, of its closest parent that does."""
    for length in range(len(path), -1, -1):
        mark = marks.get(path[:length])
        if mark is not None:
            return mark
    return (1, 1)


def _inside(next_event: Callable[[], YamlEvent], start: YamlEvent, path: Path) -> Iterator[tuple[Path, Mark]]:
    """The keys and items below a node; reads on to its end."""
    if isinstance(start, MappingStartEvent):
        while not isinstance(key := next_event(), MappingEndEvent):
            below = (*path, getattr(key, "value", ""))
            yield below, _mark(key)
            # A key that is a map or a list has no places of its own, and is read over.
            for _ in _inside(next_event, key, ()):
                pass
            yield from _inside(next_event, next_event(), below)
    elif isinstance(start, SequenceStartEvent):
        index = 0
        while not isinstance(item := next_event(), SequenceEndEvent):
            below = (*path, index)
            yield below, _mark(item)
            yield from _inside(next_event, item, below)
            index += 1


def _mark(event: YamlEvent) -> Mark:
    return event.start_mark.line + 1, event.start_mark.column + 1
