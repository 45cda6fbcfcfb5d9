"""Rules that leave files out, as `.gitignore` has them. Held to what `git check-ignore` answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class IgnoreRule(NamedTuple):
    """One line: which paths, relative to the file's folder, and whether it takes them back in."""

    pattern: re.Pattern[str]
    folders_only: bool
    takes_back: bool


def parse_ignore_rules(text: str) -> list[IgnoreRule]:
    """The rules of a file, in order; the last one that fits a path counts."""
    rules = []
    for written in re.split(r"\r?\n", text.removeprefix("\ufeff")):
        # Blanks at the end do not count, unless there is a backslash before them.
        line = re.sub(r"(?<!\\)((?:\\\\)*)[ \t]+\Z", r"\1", written)
        if not line or line.startswith("#"):
            continue
        takes_back = line.startswith("!")
        line = line[1:] if takes_back else line
        folders_only = line.endswith("/")
        line = line[:-1] if folders_only else line
        if line:
            rules.append(IgnoreRule(_pattern(line), folders_only, takes_back))
    return rules


def is_ignored(path: str, is_folder: bool, rules: Mapping[str, list[IgnoreRule]]) -> bool:
    """Whether rules, by the folder of their file, leave a path out; its folders are looked at first."""
    steps = path.split("/")
    folders = ["/".join(steps[:length]) for length in range(1, len(steps))]
    return any(_is_ignored_itself(each, True, rules) for each in folders) or _is_ignored_itself(path, is_folder, rules)


def _is_ignored_itself(path: str, is_folder: bool, rules: Mapping[str, list[IgnoreRule]]) -> bool:
    """By the nearest file of rules that has one for it: nothing below a folder that is left out comes back."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        below = path[len(folder) + 1 :] if folder else path
        for rule in reversed(rules.get(folder, [])):
            if (is_folder or not rule.folders_only) and rule.pattern.match(below):
                return not rule.takes_back
    return False


def _pattern(line: str) -> re.Pattern[str]:
    """A line without a slash, except at its end, fits names at any depth."""
    anchored = "/" in line
    rest = line.removeprefix("/")
    pattern = "" if anchored else "(?:.*/)?"
    while rest:
        part, rest = _next_part(rest, at_start=pattern in ("", "(?:.*/)?") or pattern.endswith("/"))
        pattern += part
    return re.compile(pattern + r"\Z", re.DOTALL)


def _next_part(rest: str, at_start: bool) -> tuple[str, str]:
    """The regular expression of what a line starts with, and what follows; at_start is at the start of a step."""
    if at_start and rest.startswith("**/"):
        return "(?:.*/)?", rest[3:]
    if at_start and rest == "**":
        return ".+", ""
    if rest[0] == "*":
        return "[^/]*", rest.lstrip("*")
    if rest[0] == "?":
        return "[^/]", rest[1:]
    if rest[0] == "[":
        return _character_set(rest)
    if rest[0] == "\\":
        return (re.escape(rest[1]), rest[2:]) if len(rest) > 1 else (_NOTHING, "")
    return re.escape(rest[0]), rest[1:]


# A line that ends within an escape or a set fits no path.
_NOTHING = "(?!)"
_IN_SET = re.compile(r"\[:([^]]*):]|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^]\\])))?", re.DOTALL)
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": " \t\n\r", "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def _character_set(rest: str) -> tuple[str, str]:
    """One character of some, or none of them; never the one between folders."""
    negated = rest[1:2] in ("!", "^")
    at, ranges = (2 if negated else 1), ""
    # A bracket at the very start of a set is one of its characters.
    while found := _IN_SET.match(rest, at):
        named, low, high = found[1], found[2] or found[3], found[4] or found[5]
        if named is not None and named not in _CLASSES:
            break
        # The lower end fits for itself, even where the upper one is before it.
        ranges += _CLASSES[named] if named is not None else f"{re.escape(low)}-{re.escape(max(low, high or low))}"
        at = found.end()
        if rest[at : at + 1] == "]":
            return f"(?!/)[{'^' if negated else ''}{ranges}]", rest[at + 1 :]
    return _NOTHING, ""
