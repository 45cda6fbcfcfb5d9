"""`$(NAME)` in values: bindings are mentioned by it.

Of n dollars right before `(` n//2 stay, and an odd one makes a mention; any other dollar is text. In Fleeet's manifests
`$$` is `$` everywhere, as in Kubernetes. A name is everything up to the next `)`; where that is missing or the name is
empty, there is no mention. What a mention stands for is never expanded again.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from fleetform.model.conventions import VariableSyntax
from fleetform.syntax.hashing import number_text

# Dollars that count, all that stand together; beginning with one, so that searching skips all other text at once.
_DOLLARS: dict[VariableSyntax, re.Pattern[str]] = {
    "native": re.compile(r"\$(?<!\$\$)\$*+\("),
    "kubernetes": re.compile(r"\$(?<!\$\$)\$*+\(?"),
}


class ExpandError(ValueError):
    """Why a mention cannot be expanded."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def variable_references(text: str, *, syntax: VariableSyntax = "native") -> list[str]:
    """The names that a text mentions, in order, each as often as it stands there."""
    return split_references(text, syntax)[1::2]


def variable_references_in(tree: Any, *, syntax: VariableSyntax = "native") -> list[str]:
    """The names that the texts of a tree mention."""
    if isinstance(tree, str):
        return variable_references(tree, syntax=syntax)
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [name for child in children for name in variable_references_in(child, syntax=syntax)]


def escape(text: str, *, syntax: VariableSyntax = "native") -> str:
    """The text that expands to this one."""
    return _DOLLARS[syntax].sub(lambda dollars: dollars[0].replace("$", "$$"), text)


def as_native(text: str) -> str:
    """What a text of Fleeet's manifests is in a native one."""
    parts = split_references(text, "kubernetes")
    return "".join(f"$({part})" if index % 2 else escape(part) for index, part in enumerate(parts))


def split_references(text: str, syntax: VariableSyntax) -> list[str]:
    """The texts around the mentions with their escapes undone, and between each two the mention's name."""
    parts: list[str] = []
    search = _DOLLARS[syntax].search
    before, position = "", 0
    while (dollars := search(text, position)) is not None:
        start, end = dollars.span()
        opens = text[end - 1] == "("
        pairs, odd = divmod(end - start - opens, 2)
        before += text[position:start] + "$" * pairs
        close = text.find(")", end) if odd and opens else -1
        if close > end:
            parts += (before, text[end:close])
            before, position = "", close + 1
        else:
            before += "$" * odd + "(" * opens
            position = end
    parts.append(before + text[position:])
    return parts


def as_text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and isfinite(value):
        return number_text(value)
    what = {type(None): "null", dict: "a map", list: "a list"}.get(type(value), "no text")
    hint = "mention it alone, or bind it with as: json, yaml or string" if isinstance(value, (dict, list)) else ""
    raise ExpandError(f"$({name}) stands within text, but is {what}", hint)
