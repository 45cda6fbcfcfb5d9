"""Option names and paths: dotted with indexes as Helm's --set reads them, or JSON pointers; and trees built from them.

A path is a tuple of steps, text for keys and numbers for indexes. A pointer does not tell `0` the key from `0` the
index, so a number is taken as a key where it meets a map, and paths are compared by their steps' texts.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fleetform.model.results.decisions import ABSENT, Steps
from fleetform.syntax.trees import YamlMap, YamlValue

MAX_INDEX = 65_536
MAX_DOTS = 30


class PathError(ValueError):
    """What is wrong with a path, and at which column (from 1)."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.message, self.column = message, column


class IndexPastEndError(PathError):
    """A list has no such index, and it is not the next one either."""


@lru_cache(maxsize=65_536)
def parse_path(text: str) -> Steps:
    """`a.b[0]`, or `/a/b/0`, as steps."""
    if not text:
        raise PathError("a path must not be empty")
    if not text.startswith("/"):
        return _parse_dotted(text)
    steps: list[str | int] = []
    for part in text[1:].split("/"):
        if part.isascii() and part.isdigit() and (part == "0" or part[0] != "0") and int(part) <= MAX_INDEX:
            steps.append(int(part))
        else:
            steps.append(part.replace("~1", "/").replace("~0", "~"))
    return tuple(steps)


def parse_inside(text: str) -> Steps:
    """The steps of a path inside a value, which may begin with an index: `[1].name`."""
    return parse_path(f"value{text}")[1:] if text.startswith("[") else parse_path(text)


@lru_cache(maxsize=65_536)
def normal_form(steps: Steps) -> tuple[str, ...]:
    """What two spellings of one path have in common."""
    return tuple(str(step) for step in steps)


def text_of(steps: Steps) -> str:
    """The dotted spelling of a path."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + re.sub(r"[\\.\[,=]", r"\\\g<0>", step)
    return text


def readable_text_of(steps: Steps) -> str:
    """The dotted spelling, or a pointer where a path has none: an empty key, a slash at its start."""
    if "" in steps or (steps and str(steps[0]).startswith("/")):
        return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)
    return text_of(steps)


def _parse_dotted(text: str) -> Steps:
    steps: list[str | int] = []
    position = dots = 0
    while True:
        key, position = _key(text, position)
        if not key:
            raise PathError(f"an empty step in {text!r}", position + 1)
        steps.append(key)
        while position < len(text) and text[position] == "[":
            end = text.find("]", position)
            if end < 0:
                raise PathError(f"the [ in {text!r} is not closed", position + 1)
            number = text[position + 1 : end]
            if not (number.isascii() and number.lstrip("+").isdigit() and number.count("+") <= 1):
                raise PathError(f"{number!r} in {text!r} is not an index", position + 2)
            if int(number) > MAX_INDEX:
                raise PathError(f"index {int(number)} is greater than {MAX_INDEX}", position + 2)
            steps.append(int(number))
            position = end + 1
        if position == len(text):
            return tuple(steps)
        if text[position] != ".":
            raise PathError(f"unexpected {text[position]!r} in {text!r}", position + 1)
        position += 1
        # Helm counts steps into maps, and none into lists.
        dots += isinstance(steps[-1], str)
        if dots > MAX_DOTS:
            raise PathError(f"a name of more than {MAX_DOTS + 1} steps, which Helm refuses", position)


def _key(text: str, position: int) -> tuple[str, int]:
    key = ""
    while position < len(text) and text[position] not in ".[":
        if text[position] in ",=":
            raise PathError(f"{text[position]!r} in {text!r} must be escaped with \\", position + 1)
        if text[position] == "\\":
            position += 1
            if position == len(text):
                raise PathError(f"nothing after the \\ in {text!r}", position)
        key += text[position]
        position += 1
    return key, position


def get_in(tree: YamlValue, steps: Steps) -> YamlValue:
    """The value at the path, or ABSENT."""
    for step in steps:
        if isinstance(tree, dict):
            tree = tree.get(str(step), ABSENT)
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return ABSENT
    return tree


def with_value(tree: YamlValue, steps: Steps, value: YamlValue) -> YamlValue:
    """A copy of the tree with the value at the path; what is not on the path is shared, not copied."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(tree, dict):
        key = str(step)
        return {**tree, key: with_value(tree.get(key, ABSENT), rest, value)}
    if isinstance(tree, list) and isinstance(step, int):
        return _with_list_value(tree, step, rest, value)
    if tree is not ABSENT and tree is not None:
        kind = "list" if isinstance(tree, list) else "single value"
        raise PathError(f"there is no {text_of(steps)} in a {kind}")
    if isinstance(step, int):
        return _with_list_value([], step, rest, value)
    return {step: with_value(ABSENT, rest, value)}


def _with_list_value(items: list[YamlValue], index: int, rest: Steps, value: YamlValue) -> list[YamlValue]:
    if index > len(items):
        has = "1 item" if len(items) == 1 else f"{len(items)} items"
        raise IndexPastEndError(f"index {index} is past the end: the list has {has}, so {len(items)} is next")
    before = items[index] if index < len(items) else ABSENT
    return [*items[:index], with_value(before, rest, value), *items[index + 1 :]]


def without(tree: YamlValue, steps: Steps) -> YamlValue:
    """A copy of the tree with nothing at the path."""
    if get_in(tree, steps) is ABSENT:
        return tree
    step, rest = steps[0], steps[1:]
    if isinstance(tree, dict):
        key = str(step)
        if not rest:
            return {each: value for each, value in tree.items() if each != key}
        return {**tree, key: without(tree[key], rest)}
    if not rest:
        return [*tree[:step], *tree[int(step) + 1 :]]
    return [*tree[:step], without(tree[step], rest), *tree[int(step) + 1 :]]


def set_in_tree(tree: YamlMap, steps: Steps, value: YamlValue) -> None:
    """Put an option's value into the tree that the renderer gets, in place, as Helm does: gaps in lists are null."""
    holder: YamlValue = tree
    for position, step in enumerate(steps[:-1]):
        holder = _descend(holder, step, [] if isinstance(steps[position + 1], int) else {}, steps)
    last = steps[-1]
    if isinstance(last, int):
        _grow(holder, last, steps)
    elif not isinstance(holder, dict):
        raise _clash(steps)
    holder[last] = value


def _descend(holder: YamlValue, step: str | int, fresh: YamlValue, steps: Steps) -> YamlValue:
    if isinstance(step, int):
        _grow(holder, step, steps)
        if holder[step] is None:
            holder[step] = fresh
        found = holder[step]
    else:
        if not isinstance(holder, dict):
            raise _clash(steps)
        found = holder.setdefault(step, fresh)
    if type(found) is not type(fresh):
        raise _clash(steps)
    return found


def _grow(holder: YamlValue, index: int, steps: Steps) -> None:
    if not isinstance(holder, list):
        raise _clash(steps)
    holder.extend([None] * (index + 1 - len(holder)))


def _clash(steps: Steps) -> PathError:
    return PathError(f"{text_of(steps)} cannot be set: another option has set something else at a part of this path")
