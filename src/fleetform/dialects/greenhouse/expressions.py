"""Greenhouse's expressions as CEL: a YAML text with ${…} placeholders becomes one expression.

What they read, `global.greenhouse`, is what Greenhouse adds to the values of every plugin (dialects/greenhouse/read).

Placeholders are found by counting braces, so that a map inside one does not end it. A placeholder that is a whole
unquoted scalar keeps its type, as its author sees in the text.
"""

from __future__ import annotations

import json
import re

from fleetform.syntax.trees import YamlValue
from fleetform.syntax.yaml_in import YamlError, read_one

_MARK = "\ue000{}\ue001"
_MARK_CHARACTERS = re.compile("[\ue000\ue001]")
_LITERALS = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""")
_MARKS = re.compile("\ue000([0-9]+)\ue001")


class UnreadableExpressionError(ValueError):
    """Why an expression cannot be carried over."""


def as_cel(text: str) -> str:
    """The expression with the same meaning, as one of CEL."""
    if _MARK_CHARACTERS.search(text):
        raise UnreadableExpressionError("it contains a character of the private use area")
    marked, expressions, quoted = _mark_placeholders(text)
    try:
        tree = read_one(marked)
    except YamlError as error:
        raise UnreadableExpressionError(f"it is not YAML: {error.message}") from error
    return _literal(tree, expressions, quoted)


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
    while position < len(text):
        literal = _LITERALS.match(text, position)
        if literal:
            position = literal.end()
            continue
        if text[position] in "'\"":
            break
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
        position += 1
    raise UnreadableExpressionError("a ${ is not closed")


def _literal(tree: YamlValue, expressions: list[str], quoted: set[int]) -> str:
    if isinstance(tree, dict):
        pairs = (f"{_literal(key, expressions, quoted)}: {_literal(tree[key], expressions, quoted)}" for key in tree)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(_literal(item, expressions, quoted) for item in tree) + "]"
    if isinstance(tree, str):
        return _text_literal(tree, expressions, quoted)
    if isinstance(tree, int) and not isinstance(tree, bool) and tree >= 2**63:
        return f"{tree}u"
    return json.dumps(tree)


def _text_literal(text: str, expressions: list[str], quoted: set[int]) -> str:
    whole = _MARKS.fullmatch(text)
    if whole and int(whole.group(1)) not in quoted:
        return f"({expressions[int(whole.group(1))]})"
    parts = _MARKS.split(text)
    pieces = []
    for index, part in enumerate(parts):
        if index % 2:
            pieces.append(f"string({expressions[int(part)]})")
        elif part or len(parts) == 1:
            pieces.append(json.dumps(part, ensure_ascii=False))
    return " + ".join(pieces)
