"""Variable references: `$(NAME)` in values.

Of n dollars right before `(` n//2 stay, and an odd one makes a reference; any other dollar is text. In Fleeet's
manifests `$$` is `$` everywhere, as in Kubernetes. A name is everything up to the next `)`; if that is missing or the
name is empty, there is no reference. The value that is filled in is never expanded again.
"""

from __future__ import annotations

import re
from math import isfinite

from fleetform.model.conventions import VariableSyntax
from fleetform.syntax.hashing import number_text
from fleetform.syntax.trees import YamlValue

# A run of dollars that counts; it begins with a dollar, so that a search skips all other text at once.
_DOLLARS: dict[VariableSyntax, re.Pattern[str]] = {
    "native": re.compile(r"\$(?<!\$\$)\$*+\("),
    "kubernetes": re.compile(r"\$(?<!\$\$)\$*+\(?"),
}


class ExpandError(ValueError):
    """Why a reference cannot be expanded."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def variable_references(text: str, *, syntax: VariableSyntax = "native") -> list[str]:
    """The names that a text refers to, in order, each as often as it occurs."""
    return split_references(text, syntax)[1::2]


def variable_references_in(tree: YamlValue, *, syntax: VariableSyntax = "native") -> list[str]:
    """The names that the texts of a tree refer to."""
    if isinstance(tree, str):
        return variable_references(tree, syntax=syntax)
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [name for child in children for name in variable_references_in(child, syntax=syntax)]


def escape(text: str, *, syntax: VariableSyntax = "native") -> str:
    """The text that expands to this one."""
    return _DOLLARS[syntax].sub(lambda dollars: dollars[0].replace("$", "$$"), text)


def as_native(text: str) -> str:
    """A text of Fleeet's manifests, in the native syntax."""
    parts = split_references(text, "kubernetes")
    return "".join(f"$({part})" if index % 2 else escape(part) for index, part in enumerate(parts))


def split_references(text: str, syntax: VariableSyntax) -> list[str]:
    """The texts around the references with their escapes undone, and between each two the reference's name."""
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


def as_text(value: YamlValue, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and isfinite(value):
        return number_text(value)
    what = {type(None): "null", dict: "a map", list: "a list"}.get(type(value), "no text")
    hint = "refer to it alone, or bind it with as: json, yaml or string" if isinstance(value, (dict, list)) else ""
    raise ExpandError(f"$({name}) is used within text, but is {what}", hint)
