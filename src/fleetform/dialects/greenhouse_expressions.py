"""Greenhouse's expressions as CEL: a YAML text with ${…} placeholders becomes one expression over native names.

Placeholders are found by counting braces, so that a map inside one does not end it; and a placeholder that is a whole
unquoted scalar keeps its type, which is what its author sees in the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fleetform.formats.yaml_in import YamlError, read_one

_LABEL = r"cluster.labels['metadata.greenhouse.sap/\1']"
_NAMES = (
    (re.compile(r"\bglobal\.greenhouse\.clusterName\b"), "cluster.name"),
    (re.compile(r"\bglobal\.greenhouse\.organizationName\b"), "organization.name"),
    (re.compile(r"\bglobal\.greenhouse\.metadata\.([A-Za-z0-9_]+)"), _LABEL),
    (re.compile(r"\bglobal\.greenhouse\.metadata\[['\"]([^'\"]+)['\"]\]"), _LABEL),
)
_MARK = "\ue000{}\ue001"
_MARKS = re.compile("\ue000([0-9]+)\ue001")


class UnreadableExpressionError(ValueError):
    """Why an expression cannot be carried over."""


def as_cel(text: str) -> str:
    """The native expression with the same meaning."""
    marked, expressions, quoted = _mark_placeholders(text)
    try:
        tree = read_one(marked)
    except YamlError as error:
        raise UnreadableExpressionError(f"it is not YAML: {error.message}") from error
    return _literal(tree, [_native_names(each) for each in expressions], quoted)


def _mark_placeholders(text: str) -> tuple[str, list[str], set[int]]:
    marked = ""
    expressions: list[str] = []
    quoted: set[int] = set()
    position = 0
    while (start := text.find("${", position)) >= 0:
        end = _closing_brace(text, start + 2)
        if text[start - 1 : start] in ('"', "'") and text[end + 1 : end + 2] in ('"', "'"):
            quoted.add(len(expressions))
        marked += text[position:start] + _MARK.format(len(expressions))
        expressions.append(text[start + 2 : end].strip())
        position = end + 1
    return marked + text[position:], expressions, quoted


def _closing_brace(text: str, position: int) -> int:
    depth = 1
    quote = ""
    for index in range(position, len(text)):
        character = text[index]
        if quote:
            quote = "" if character == quote and text[index - 1] != "\\" else quote
        elif character in "'\"":
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return index
    raise UnreadableExpressionError("a ${ is not closed")


def _native_names(expression: str) -> str:
    for pattern, native in _NAMES:
        expression = pattern.sub(native, expression)
    left = re.search(r"\bglobal\.greenhouse\.\w+", expression)
    if left:
        raise UnreadableExpressionError(f"{left.group()} is not known here")
    return expression


def _literal(tree: Any, expressions: list[str], quoted: set[int]) -> str:
    if isinstance(tree, dict):
        pairs = (f"{_literal(key, expressions, quoted)}: {_literal(tree[key], expressions, quoted)}" for key in tree)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(_literal(item, expressions, quoted) for item in tree) + "]"
    if isinstance(tree, str):
        return _text(tree, expressions, quoted)
    return json.dumps(tree)


def _text(text: str, expressions: list[str], quoted: set[int]) -> str:
    whole = _MARKS.fullmatch(text)
    if whole and int(whole.group(1)) not in quoted:
        return f"({expressions[int(whole.group(1))]})"
    parts = _MARKS.split(text)
    pieces = []
    for index, part in enumerate(parts):
        if index % 2:
            pieces.append(f"string({expressions[int(part)]})")
        elif part or len(parts) == 1:
            pieces.append(json.dumps(part))
    return " + ".join(pieces)
