"""Edits of a YAML text that leave every byte outside the edited spots as it was.

A library's round trip formats the whole file anew. Here the marks of libyaml's events give the place of each node, and
an edit replaces a few pieces of text. The result is read again: a text that does not mean exactly what was asked for is
never returned.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fleetform.model.results.diagnostics import path_text
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.trees import YamlValue
from fleetform.syntax.yaml_in import YamlDocument, YamlError, read_stream
from fleetform.syntax.yaml_out import write_yaml
from fleetform.syntax.yaml_spans import (
    BLOCK,
    FLOW,
    GAP,
    PROPERTIES,
    EditError,
    EntrySpan,
    NodeSpan,
    SpanReader,
    behind,
    children,
)

__all__ = ["Edit", "EditError", "Path", "Remove", "RenameKey", "Replace", "edit_yaml"]

Path = tuple[str | int, ...]

_BLANKS = re.compile(r"[ \t]*")
_REST_WITH_END = re.compile(r"[^\n]*\n?")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_BLOCK_HEADER = re.compile(r"(?:[&!]\S*[ \t]+)*[|>][-+0-9]*")
_NOT_PLAIN_IN_FLOW = re.compile(r"[][{},:?]")
_NOT_IN_QUOTES = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Replace(NamedTuple):
    """The node at the path becomes this value."""

    path: Path
    value: YamlValue


class RenameKey(NamedTuple):
    """The key that ends the path gets another name; its value stays."""

    path: Path
    to: str


class Remove(NamedTuple):
    """The list item or map entry at the path is removed; the last one leaves an empty list or map."""

    path: Path


Edit = Replace | RenameKey | Remove


def edit_yaml(text: str, edits: Sequence[Edit], first_line: int = 1) -> str:
    """The text with one document edited, the one that starts at the line (1: the first one).

    All paths are those before any edit. A key may be renamed and its value edited; other edits must not overlap.
    """
    if text.startswith("\ufeff"):
        return "\ufeff" + edit_yaml(text[1:], edits, first_line)
    plan = _Plan(edits)
    found = list(read_stream(text))
    place, document = next(
        (
            (place, each)
            for place, each in enumerate(found)
            # Comments or empty lines may be above the first document.
            if isinstance(each, YamlDocument) and (each.first_line == first_line or place + 1 == first_line == 1)
        ),
        (0, None),
    )
    if document is None:
        raise EditError(f"no readable document starts at line {first_line}")
    root = SpanReader(text, document).root()
    wanted = [_meaning(each) for each in found]
    wanted[place] = _tree_meaning(_edited_tree(document.tree, plan))
    for edited in _attempts(text, root, plan):
        if [_meaning(each) for each in read_stream(edited)] == wanted:
            return edited
    names = ", ".join(path_text(edit.path) or "the document" for edit in edits)
    raise EditError(f"{names}: cannot be edited without changing something else (an alias, <<, an unusual layout)")


class _Plan:
    """The edits by what they do, none of them inside another."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.values = {edit.path: edit.value for edit in edits if isinstance(edit, Replace)}
        self.names = {edit.path: edit.to for edit in edits if isinstance(edit, RenameKey)}
        self.removed = {edit.path for edit in edits if isinstance(edit, Remove)}
        self.above = {edit.path[:length] for edit in edits for length in range(len(edit.path))}
        overlaps = self.above & (self.values.keys() | self.removed) | self.removed & (self.values.keys() | self.names)
        if overlaps or len(self.values) + len(self.names) + len(self.removed) < len(edits):
            raise EditError(f"two edits overlap: {', '.join(sorted(map(path_text, overlaps))) or 'one is given twice'}")
        if () in self.names or () in self.removed:
            raise EditError("a document cannot be renamed or removed")


def _meaning(found: YamlDocument | YamlError) -> bytes:
    return _tree_meaning(found.tree) if isinstance(found, YamlDocument) else found.message.encode()


def _tree_meaning(tree: YamlValue) -> bytes:
    try:
        return canonical_json(tree)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise EditError("a new value or name cannot be written as YAML") from error


def _edited_tree(tree: YamlValue, plan: _Plan, path: Path = ()) -> YamlValue:
    if path in plan.values:
        return plan.values[path]
    if path not in plan.above:
        return tree
    kept = [
        (plan.names.get(below, step), _edited_tree(child, plan, below))
        for step, child in children(tree)
        if (below := (*path, step)) not in plan.removed
    ]
    if isinstance(tree, list):
        return [child for _, child in kept]
    if len(dict(kept)) < len(kept):
        raise EditError(f"two keys of {path_text(path) or 'the document'} would have the same name")
    return dict(kept)


def _attempts(text: str, root: EntrySpan, plan: _Plan) -> Iterator[str]:
    """The edited text in the style of the file, and then in plainer styles, in case that means something else."""
    try:
        json.loads(text)
        is_json = True
    except ValueError:
        is_json = False
    for one_line in (is_json, True):
        edited = _Editor(text, root, one_line, '"' if is_json else "").edited(plan)
        if not text.endswith("\n") and edited.endswith("\n"):
            yield edited.removesuffix("\n").removesuffix("\r")
        yield edited


class _Editor:
    """Collects the pieces of a text that are replaced."""

    def __init__(self, text: str, root: EntrySpan, one_line: bool, quotes: str) -> None:
        self._text, self._root, self._one_line, self._quotes = text, root, one_line, quotes
        self._line_break = "\r\n" if "\r\n" in text else "\n"
        self._pieces: list[tuple[int, int, str]] = []

    def edited(self, plan: _Plan) -> str:
        for path, value in plan.values.items():
            self._replace(self._entry(path), value)
        for path, name in plan.names.items():
            entry = self._entry(path)
            if entry.key is None:
                raise EditError(f"item {entry.step} of a list has no name")
            self._put(entry.key.start, entry.key.end, _one_line(name, self._quotes or entry.key.style, entry.in_flow))
        removed: dict[Path, list[EntrySpan]] = defaultdict(list)
        for path in plan.removed:
            removed[path[:-1]].append(self._entry(path))
        for path, entries in removed.items():
            self._remove(self._entry(path), sorted(entries, key=lambda entry: entry.start))
        parts, position = [], 0
        for start, end, new in sorted(self._pieces, key=lambda piece: piece[:2]):
            parts += [self._text[position:start], new]
            position = max(position, end)
        return "".join((*parts, self._text[position:]))

    def _put(self, start: int, end: int, new: str = "") -> None:
        self._pieces.append((start, end, new))

    def _entry(self, path: Path) -> EntrySpan:
        entry = self._root
        for depth, step in enumerate(path):
            found = next((each for each in entry.value.entries if each.step == step), None)
            if found is None:
                reason = "an alias or << leads to it: edit it where it is written"
                raise EditError(f"{path_text(path[: depth + 1])} is not written here ({reason})")
            entry = found
        return entry

    def _replace(self, entry: EntrySpan, value: YamlValue) -> None:
        node = entry.value
        is_below = "\n" in self._text[entry.lead : node.content]
        head, rest = self._written(entry, value, is_below)
        if is_below and node.style == BLOCK:
            self._put(entry.lead, self._lead_end(entry), head)
            self._put_lines(node.content, node.end, rest)
            return
        # A comment behind the value stays, unless it belongs to the last of several lines.
        end = node.end
        if node.style in ("|", ">"):
            end = behind(_BLOCK_HEADER, self._text, node.start)
        elif node.style == BLOCK and "\n" in self._text[node.start : node.end]:
            end = self._line_end(node.end)
        is_glued = node.start == node.end and not self._text[node.start - 1 : node.start].isspace()
        self._put(node.start if head else entry.lead, end, head if is_glued else head[1:])
        self._put(self._line_end(end), self._line_end(node.end), "".join(self._line_break + line for line in rest))

    def _written(self, entry: EntrySpan, value: YamlValue, is_below: bool) -> tuple[str, list[str]]:
        """The text behind the dash or key, and the lines below it."""
        node = entry.value
        in_place = is_below and node.style != BLOCK
        # Quotes and brackets of the old value stay.
        keeps_style = node.style == FLOW and bool(node.entries)
        if isinstance(value, str):
            keeps_style = node.style in ("'", '"') and "\n" not in value
        if self._one_line or entry.in_flow or in_place or keeps_style:
            return " " + _one_line(value, self._quotes or node.style, entry.in_flow), []
        written = write_yaml([value])[len("-") :] if entry.key is None else write_yaml({"k": value})[len("k:") :]
        head, *rest = written[:-1].split("\n")
        if rest and isinstance(value, str) and "\n" not in value:
            return " " + _in_double_quotes(value), []
        columns = self._shift(entry, value, rest, is_below)
        return head, [" " * columns + line[max(0, -columns) :] if line else "" for line in rest]

    def _shift(self, entry: EntrySpan, value: YamlValue, rest: list[str], is_below: bool) -> int:
        """How far the lines below an entry move to the right."""
        column, node = self._column(entry.start), entry.value
        if not rest or not isinstance(value, (dict, list)):
            return column
        if is_below and entry.key is not None:
            return max(column, self._column(node.content) - (len(rest[0]) - len(rest[0].lstrip(" "))))
        return column if is_below or node.start == node.end or entry.key else self._column(node.start) - 2

    def _remove(self, holder: EntrySpan, removed: list[EntrySpan]) -> None:
        steps = {entry.step for entry in removed}
        kept = [entry for entry in holder.value.entries if entry.step not in steps]
        if holder.value.style == FLOW:
            self._remove_from_flow(holder.value, removed, kept)
            return
        first = holder.value.entries[0]
        if not kept:
            removed = self._leave_empty(holder, removed)
        elif first is removed[0] and not self._starts_line(first.start):
            removed = self._move_up(removed, kept[0])
        for entry in removed:
            self._put_lines(entry.start, entry.end, [])

    def _leave_empty(self, holder: EntrySpan, removed: list[EntrySpan]) -> list[EntrySpan]:
        """Write [] or {} behind the key, or in place of the first entry; the entries still to be removed."""
        first, lead = removed[0], self._lead_end(holder)
        empty = "[]" if first.key is None else "{}"
        if lead < first.start and self._starts_line(first.start):
            self._put(lead, lead, " " + empty)
            return removed
        self._put(first.start, self._line_end(first.end), empty)
        return removed[1:]

    def _lead_end(self, entry: EntrySpan) -> int:
        """The end of dash or key, with tag and anchor of the block below."""
        node = entry.value
        return entry.lead if node.start == node.content else behind(PROPERTIES, self._text, node.start)

    def _move_up(self, removed: list[EntrySpan], kept: EntrySpan) -> list[EntrySpan]:
        """Move the first entry that stays up behind the dash; the entries still to be removed."""
        run = [entry for entry in removed if entry.start < kept.start]
        pairs = zip(run, [*run[1:], kept], strict=True)
        if any(self._text[self._line_end(one.end) : self._line_start(two.start)].strip() for one, two in pairs):
            self._put(self._before_blanks(run[0].start), self._line_end(run[0].end))
            return removed[1:]
        self._put(run[0].start, kept.start)
        return removed[len(run) :]

    def _remove_from_flow(self, node: NodeSpan, removed: list[EntrySpan], kept: list[EntrySpan]) -> None:
        if not kept and "#" not in self._text[node.start : node.end]:
            bracket = behind(GAP, self._text, behind(PROPERTIES, self._text, node.start))
            self._put(bracket + 1, node.end - 1)
            return
        for entry in removed:
            self._put(*self._flow_piece(entry))
        if kept and removed[-1].start > kept[-1].start and self._comma(removed[-1]) is None:
            comma = behind(GAP, self._text, kept[-1].end)
            self._put(comma, comma + 1)

    def _flow_piece(self, entry: EntrySpan) -> tuple[int, int]:
        """An entry with its comma: whole lines if nothing else is on them, otherwise with the blanks on one side."""
        comma = self._comma(entry)
        end = entry.end if comma is None else comma + 1
        ends_line = _REST_OF_LINE.match(self._text, end)
        if ends_line and self._starts_line(entry.start):
            return self._line_start(entry.start), self._next_line(end)
        if ends_line or comma is None:
            return self._before_blanks(entry.start), end
        return entry.start, behind(_BLANKS, self._text, end)

    def _comma(self, entry: EntrySpan) -> int | None:
        sign = behind(GAP, self._text, entry.end)
        return sign if self._text[sign : sign + 1] == "," else None

    def _put_lines(self, start: int, end: int, lines: list[str]) -> None:
        new = "".join(line + self._line_break for line in lines)
        self._put(self._line_start(start), self._next_line(end), new)

    def _before_blanks(self, position: int) -> int:
        return len(self._text[:position].rstrip(" \t"))

    def _starts_line(self, position: int) -> bool:
        return not self._text[self._line_start(position) : position].strip(" \t")

    def _column(self, position: int) -> int:
        return position - self._line_start(position)

    def _line_start(self, position: int) -> int:
        return self._text.rfind("\n", 0, position) + 1

    def _line_end(self, position: int) -> int:
        rest = self._text[position : self._next_line(position)]
        return position + len(rest.rstrip("\r\n"))

    def _next_line(self, position: int) -> int:
        return behind(_REST_WITH_END, self._text, position)


def _one_line(value: YamlValue, style: str, in_flow: bool) -> str:
    """A value as one line, its texts in the quotes of the style."""
    if value and isinstance(value, list):
        return "[" + ", ".join(_one_line(item, style, True) for item in value) + "]"
    if value and isinstance(value, dict):
        pairs = (f"{_one_line(key, style, True)}: {_one_line(child, style, True)}" for key, child in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, str) and style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    written = write_yaml([value])[len("- ") : -1]
    is_unfit = "\n" in written or (in_flow and written == value and _NOT_PLAIN_IN_FLOW.search(value))
    return _in_double_quotes(value) if isinstance(value, str) and (style == '"' or is_unfit) else written


def _in_double_quotes(text: str) -> str:
    escaped = json.dumps(text, ensure_ascii=False)
    return _NOT_IN_QUOTES.sub(lambda sign: f"\\u{ord(sign[0]):04x}", escaped)
