"""Globs of paths: `*`, `?` and `[…]` stay within a folder, `**` goes through folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache


def matches_any(path: str, globs: Sequence[str]) -> bool:
    """Whether a path matches one of the globs, as a whole; a leading `./` counts on neither side."""
    path = path.removeprefix("./")
    return any(_pattern(glob).match(path) for glob in globs)


@lru_cache(maxsize=1_024)
def _pattern(glob: str) -> re.Pattern[str]:
    rest, pattern = glob.removeprefix("./"), ""
    at_start = True
    while rest:
        part, rest = _next_part(rest, at_start)
        at_start = part.endswith("/") or part == _FOLDERS
        pattern += part
    return re.compile(pattern + r"\Z", re.DOTALL)


_FOLDERS = "(?:.*/)?"


def _next_part(rest: str, at_start: bool) -> tuple[str, str]:
    """The pattern of what a glob starts with, and what follows; at_start is at the start of a step."""
    if at_start and rest.startswith("**/"):
        return _FOLDERS, rest[3:]
    if rest.startswith("**"):
        return ".*", rest[2:]
    if rest[0] == "*":
        return "[^/]*", rest[1:]
    if rest[0] == "?":
        return "[^/]", rest[1:]
    # A bracket at the very start of a set is one of its characters.
    end = rest.find("]", 3 if rest[1:2] in ("!", "^") else 2) if rest[0] == "[" else -1
    if end > 0:
        return _character_set(rest[1:end]), rest[end + 1 :]
    return re.escape(rest[0]), rest[1:]


def _character_set(body: str) -> str:
    """A set of characters, or of all but these; never the one between folders."""
    negated = body[0] in "!^"
    body = body[1:] if negated else body
    ranges = ""
    while body:
        low, high, width = (body[0], body[2], 3) if len(body) > 2 and body[1] == "-" else (body[0], body[0], 1)
        if low <= high:
            ranges += f"{re.escape(low)}-{re.escape(high)}"
        body = body[width:]
    if not ranges:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{ranges}]"
