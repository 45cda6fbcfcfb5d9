"""YAML as kubectl and Helm read it (sigs.k8s.io/yaml), from libyaml's event stream.

Built from events instead of a YAML library's constructors: no library resolves scalars as Go's does, and one pass
over the events is also more than twice as fast. What differs from Go on purpose: duplicate keys are errors, and so
are documents nested or aliased beyond any manifest (docs/spec/differences.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from fleetform.syntax.hashing import number_text
from fleetform.syntax.trees import YamlMap, YamlValue
from fleetform.syntax.yaml_scalars import MAY_BE_NUMBER, WORDS, key_of_number, number, tagged

# libyaml's binding has no types: an event of one of the classes above.
YamlEvent: TypeAlias = Any

MAX_DEPTH = 200
MAX_NODES_BY_ALIAS = 1_000_000

_TAG = "tag:yaml.org,2002:"
_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class YamlError(Exception):
    """What is wrong with the text, and where; lines and columns count from 1."""

    code = "bad-yaml"

    def __init__(self, message: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


class MissingSeparatorError(YamlError):
    """Two documents without a `---` between them."""

    code = "missing-separator"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something legal that a reader should know about."""

    message: str
    line: int
    column: int
    hint: str


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document of a stream: lines count from 1, the last one is included."""

    tree: YamlValue
    first_line: int
    last_line: int
    remarks: tuple[Remark, ...] = ()


def read_stream(text: str) -> Iterator[YamlDocument | YamlError]:
    """Every document of the text; after a broken one, reading goes on at the next `---`."""
    lines_before = 0
    while True:
        readable, forbidden = _before_forbidden(text)
        try:
            yield from _Reader(readable, lines_before).documents()
            if forbidden is None:
                return
            error = forbidden
        except YamlError as found:
            error = type(found)(found.message, found.line - lines_before, found.column, found.hint)
        yield type(error)(error.message, error.line + lines_before, error.column, error.hint)
        # On at the first separator at or after the error, but not at the text's own first line.
        for separator in _SEPARATOR.finditer(text):
            skipped = text.count("\n", 0, separator.start())
            if skipped >= max(error.line - 1, 1):
                break
        else:
            return
        text = text[separator.start() :]
        lines_before += skipped


def _before_forbidden(text: str) -> tuple[str, YamlError | None]:
    """The documents before one with a character that YAML forbids: libyaml would refuse the whole text for it."""
    match = _FORBIDDEN.search(text)
    if match is None:
        return text, None
    before = text[: match.start()]
    line, column = before.count("\n") + 1, match.start() - (before.rfind("\n") + 1) + 1
    hint = "remove it, or write it as an escape inside double quotes"
    error = YamlError("control characters are not allowed", line, column, hint)
    start = max((found.start() for found in _SEPARATOR.finditer(before)), default=0)
    return text[:start], error


def read_one(text: str) -> YamlValue:
    """The tree of a text with one document (or none: None). A `---` at its end begins no other one."""
    return _only(text, _Reader(text, 0)).tree


def read_foreign(text: str) -> YamlDocument:
    """The one document of a file that others publish: of a key that stands twice the last value counts."""
    return _only(text, _Reader(text, 0, lenient=True))


def _only(text: str, reader: _Reader) -> YamlDocument:
    _, forbidden = _before_forbidden(text)
    if forbidden is not None:
        raise forbidden
    documents = list(reader.documents())
    for more in documents[1:]:
        if more.tree is not None:
            hint = "keep one document in the file"
            raise YamlError("more than one document where one is expected", more.first_line, 1, hint)
    return documents[0] if documents else YamlDocument(None, 1, 1)


def is_too_deep(tree: YamlValue) -> bool:
    """Whether a tree is nested deeper than documents may be."""
    level = [tree]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


class _Reader:
    """One pass over the events of a stream."""

    def __init__(self, text: str, lines_before: int, lenient: bool = False) -> None:
        self._lines_before, self._lenient = lines_before, lenient
        self._depth = 0
        self._anchors: dict[str, tuple[YamlValue, int]] = {}
        self._nodes = 0
        self._aliased = 0
        self._remarks: list[Remark] = []
        self._keys: dict[str, str] = {}
        try:
            self._next: Callable[[], YamlEvent] = CParser(text).get_event
        except yaml.YAMLError as error:
            raise self._translated(error) from error

    def documents(self) -> Iterator[YamlDocument]:
        while True:
            event = self._event()
            if event.__class__ is StreamEndEvent:
                return
            if event.__class__ is DocumentStartEvent:
                self._anchors, self._remarks, self._nodes, self._aliased, self._depth = {}, [], 0, 0, 0
                tree = self._node(self._event())
                first, last = self._place(event)[0], self._place(self._event())[0]
                yield YamlDocument(tree, first, max(first, last), tuple(self._remarks))

    def _event(self) -> YamlEvent:
        try:
            return self._next()
        except yaml.YAMLError as error:
            raise self._translated(error) from error

    def _node(self, event: YamlEvent) -> YamlValue:
        kind = event.__class__
        self._nodes += 1
        if kind is ScalarEvent:
            value = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = (value, 1)
            return value
        if kind is AliasEvent:
            return self._alias(event)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} levels deep", event, "flatten the document")
        before = self._nodes
        if kind is MappingStartEvent:
            value = self._mapping()
        else:
            value = []
            while (item := self._event()).__class__ is not SequenceEndEvent:
                value.append(self._node(item))
        self._depth -= 1
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._nodes - before + 1)
        return value

    def _mapping(self) -> YamlMap:
        mapping: YamlMap = {}
        merged: list[YamlMap] = []
        while True:
            event = self._event()
            if event.__class__ is MappingEndEvent:
                break
            if event.__class__ is ScalarEvent and event.value == "<<" and not event.style and event.tag is None:
                source = self._event()
                value = self._node(source)
                sources = value if isinstance(value, list) and source.__class__ is not AliasEvent else [value]
                if not all(isinstance(each, dict) for each in sources):
                    raise self._error("<< takes a map or a list of maps", source, "merge a map, as in <<: *defaults")
                merged += sources
                continue
            key = self._key(event)
            if key in mapping:
                if not self._lenient:
                    raise self._duplicate(key, event)
                message = f"the key {key} is there twice, and the last value counts"
                self._remarks.append(Remark(message, *self._place(event), "keep one of them"))
            mapping[key] = self._node(self._event())
        # Explicit keys win, also above the <<; of several merged maps the first wins.
        for each in merged:
            for key, value in each.items():
                mapping.setdefault(key, value)
        return mapping

    def _key(self, event: YamlEvent) -> str:
        try:
            value = self._node(event)
        except YamlError:
            # Infinity and its like are no values, and are keys.
            key = self._number_as_key(event)
            if key is None:
                raise
            return key
        if value.__class__ is str:
            return self._keys.setdefault(value, value)
        if value is None or isinstance(value, (dict, list)):
            raise self._error("a map key must be text", event, "quote the key")
        text = self._number_as_key(event) or (number_text(value) if isinstance(value, float) else str(value))
        if isinstance(value, bool):
            text = "true" if value else "false"
            if event.__class__ is ScalarEvent and event.value not in ("true", "false"):
                message, hint = f'the key {event.value} is read as "{text}"', f'quote it: "{event.value}"'
                self._remarks.append(Remark(message, *self._place(event), hint))
        return text

    def _number_as_key(self, event: YamlEvent) -> str | None:
        """The text of a key that is an untagged number; None if it is none."""
        if event.__class__ is not ScalarEvent or event.style or event.tag is not None or not event.value:
            return None
        if event.value[0] not in MAY_BE_NUMBER:
            return None
        try:
            return key_of_number(event.value)
        except ValueError as error:
            raise self._error(str(error), event, "quote the key") from error

    def _alias(self, event: YamlEvent) -> YamlValue:
        if event.anchor not in self._anchors:
            raise self._error(
                f"unknown anchor {event.anchor!r} (or one that contains itself)", event, "define it above"
            )
        value, size = self._anchors[event.anchor]
        self._nodes += size
        self._aliased += size
        if self._aliased > MAX_NODES_BY_ALIAS:
            raise self._error(
                f"aliases expand to more than {MAX_NODES_BY_ALIAS:,} nodes", event, "write the values out, or use fewer"
            )
        return value

    def _scalar(self, event: YamlEvent) -> YamlValue:
        text: str = event.value
        tag = event.tag
        if tag is None:
            if event.style:
                return text
            if text in WORDS:
                return WORDS[text]
            if text[0] not in MAY_BE_NUMBER:
                return text
            return self._checked(event, lambda: number(text))
        if tag == "!" or not tag.startswith(_TAG):
            return text
        return self._checked(event, lambda: tagged(tag[len(_TAG) :], text))

    def _checked(self, event: YamlEvent, read: Callable[[], YamlValue]) -> YamlValue:
        try:
            return read()
        except ValueError as error:
            raise self._error(str(error), event, "quote it to make it text") from error

    def _duplicate(self, key: str, event: YamlEvent) -> YamlError:
        if key in ("apiVersion", "kind") and self._depth == 1:
            message, hint = f"duplicate key {key}; is `---` missing?", "separate documents by a line `---`"
            return MissingSeparatorError(message, *self._place(event), hint)
        return self._error(f"duplicate key {key}", event, "keep one of them")

    def _error(self, message: str, event: YamlEvent, hint: str) -> YamlError:
        return YamlError(message, *self._place(event), hint)

    def _place(self, event: YamlEvent) -> tuple[int, int]:
        """The line and column of an event in the whole text, from 1."""
        mark = event.start_mark
        return mark.line + 1 + self._lines_before, mark.column + 1

    def _translated(self, error: yaml.YAMLError) -> YamlError:
        problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if "unexpected end of stream" in problem:
            # A quote that is never closed is noticed at the end; people look for the place where it opens.
            mark = getattr(error, "context_mark", None) or mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        hint = next((hint for part, hint in _HINTS if part in problem), "")
        return YamlError(problem, line + self._lines_before, column, hint)


_HINTS = (
    ("cannot start any token", "indent with spaces, not tabs, and quote text that starts with % @ ` or a tab"),
    ("tab character", "indent with spaces, not tabs"),
    ("unexpected end of stream", "a quote or bracket is not closed"),
    ("expected ',' or", "a bracket is not closed"),
    ("could not find expected ':'", "a key needs a colon and a blank after it; check the line before, too"),
    ("did not find expected key", "check the indentation, and quotes inside quotes"),
    ("did not find expected alphabetic", "quote text that starts with * or &"),
    ("mapping values are not allowed", "quote text that contains a colon and a blank; check the indentation"),
    ("control characters", "remove it, or write it as an escape inside double quotes"),
    ("special characters", "remove it, or write it as an escape inside double quotes"),
)
