"""The spans of a YAML document's nodes in its text: marks of libyaml's events, made exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import yaml
from yaml._yaml import CParser
from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from fleetform.syntax.trees import YamlValue
from fleetform.syntax.yaml_in import YamlDocument, YamlEvent

BLOCK, FLOW = "block", "flow"
_LINE_BREAK = re.compile("\r\n?|[\n\x85\u2028\u2029]")
GAP = re.compile(r"(?:\s|#[^\r\n]*)*")
PROPERTIES = re.compile(r"(?:[&!]\S*(?:[ \t]+(?=[&!]))?)*")
_Steps = Iterator[tuple[str | int, YamlValue]]


def line_starts(text: str) -> list[int]:
    """The starts of a text's lines, as YAML counts them; a byte order mark is part of the first line."""
    return [0, *(found.end() for found in _LINE_BREAK.finditer(text))]


class EditError(Exception):
    """Why a text cannot be edited safely."""


@dataclass(slots=True)
class NodeSpan:
    """The span of a node, tag and anchor included; the style is a scalar's quotes or sign, or block or flow."""

    start: int
    end: int
    style: str
    entries: list[EntrySpan] = field(default_factory=list)

    @property
    def content(self) -> int:
        """The start of a block's first entry, which may be below tag and anchor."""
        return self.entries[0].start if self.style == BLOCK else self.start


class EntrySpan(NamedTuple):
    """A list item or a pair of a map: it starts at its dash or key, the lead ends behind the dash or colon."""

    step: str | int | None
    start: int
    lead: int
    key: NodeSpan | None
    value: NodeSpan
    in_flow: bool = False

    @property
    def end(self) -> int:
        return max(self.lead, self.value.end)


class SpanReader:
    """Reads the spans of one document from its lines alone: another document may be broken."""

    def __init__(self, text: str, document: YamlDocument) -> None:
        lines = [*line_starts(text), len(text)]
        self._text, self._tree = text, document.tree
        self._offset = lines[document.first_line - 1]
        self._next: Callable[[], YamlEvent]
        self._lines = text[self._offset : lines[min(document.last_line, len(lines) - 1)]]

    def root(self) -> EntrySpan:
        try:
            self._next = CParser(self._lines).get_event
            self._next(), self._next()
            node = self._node(self._next(), self._tree)
        except yaml.YAMLError as error:
            raise EditError("the document cannot be separated from a broken one below it") from error
        return EntrySpan(None, node.start, node.start, None, node)

    def _node(self, event: YamlEvent, tree: YamlValue) -> NodeSpan:
        start, end = self._span(event)
        if isinstance(event, (ScalarEvent, AliasEvent)):
            # A block scalar's mark is behind the blank lines that follow it.
            end = start + len(self._text[start:end].rstrip(" \t\r\n"))
            return NodeSpan(start, end, getattr(event, "style", None) or "")
        node = NodeSpan(start, end, FLOW if event.flow_style else BLOCK)
        end = behind(PROPERTIES, self._text, start)
        steps = iter(children(tree))
        child = self._next()
        while not isinstance(child, (MappingEndEvent, SequenceEndEvent)):
            is_map = isinstance(event, MappingStartEvent)
            entry = self._pair(child, steps, node) if is_map else self._item(child, steps, node, end)
            node.entries.append(entry)
            end, child = entry.end, self._next()
        node.end = end if node.style == BLOCK else self._span(child)[1]
        return node

    def _span(self, event: YamlEvent) -> tuple[int, int]:
        return self._offset + event.start_mark.index, self._offset + event.end_mark.index

    def _item(self, event: YamlEvent, steps: _Steps, parent: NodeSpan, end_before: int) -> EntrySpan:
        step, tree = next(steps, (None, None))
        value = self._node(event, tree)
        if parent.style == FLOW:
            return EntrySpan(step, value.start, value.start, None, value, True)
        dash = behind(GAP, self._text, end_before)
        return EntrySpan(step, dash, dash + 1, None, value)

    def _pair(self, event: YamlEvent, steps: _Steps, parent: NodeSpan) -> EntrySpan:
        # The tree's keys are in the order of the text; those that << merges in come last.
        is_merge = isinstance(event, ScalarEvent) and event.value == "<<" and not event.style and event.tag is None
        step, tree = (None, None) if is_merge else next(steps, (None, None))
        key, value = self._node(event, None), self._node(self._next(), tree)
        colon = behind(GAP, self._text, key.end)
        lead = colon + 1 if self._text[colon : colon + 1] == ":" else value.start
        return EntrySpan(step, key.start, lead, key, value, parent.style == FLOW)


def behind(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def children(tree: YamlValue) -> list[tuple[str | int, YamlValue]]:
    if isinstance(tree, dict):
        return list(tree.items())
    return list(enumerate(tree)) if isinstance(tree, list) else []
