"""Values as plain trees, with holes where something cannot be known yet, and what items do to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Step = str | int
Steps = tuple[Step, ...]
ABSENT: Any = object()


class Reason(NamedTuple):
    """Why a value cannot be known: a gate, and the variable or the option that it is about."""

    gate: str
    about: str


class Hole(NamedTuple):
    """Stands where a value will be once its reasons are settled."""

    reasons: frozenset[Reason]


class Secret(NamedTuple):
    """A value that is never shown; None where nobody can read it here."""

    plain: Any


def secrets_in(value: Any) -> list[Secret]:
    if isinstance(value, Secret):
        return [value]
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [secret for each in held for secret in secrets_in(each)]


def in_plain(value: Any) -> Any:
    """A value with what its secrets hold."""
    if isinstance(value, Secret):
        return value.plain
    if isinstance(value, dict):
        return {key: in_plain(each) for key, each in value.items()}
    return [in_plain(each) for each in value] if isinstance(value, list) else value


def steps_of(text: str) -> Steps:
    """The normal form of a path, `a.b[0]` or `/a/b/0` (R0-7)."""
    if text.startswith("/"):
        return tuple(int(each) if each.isdigit() else each for each in text[1:].split("/"))
    found: list[Step] = []
    for part in text.split("."):
        name, *indexes = re.split(r"[\[\]]+", part)
        found.append(name)
        found += [int(each) for each in indexes if each]
    return tuple(found)


def text_of(steps: Steps) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def copied(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: copied(each) for key, each in tree.items()}
    return [copied(each) for each in tree] if isinstance(tree, list) else tree


def holes_in(tree: Any) -> frozenset[Reason]:
    if isinstance(tree, Hole):
        return tree.reasons
    if isinstance(tree, dict):
        return frozenset(reason for each in tree.values() for reason in holes_in(each))
    if isinstance(tree, list):
        return frozenset(reason for each in tree for reason in holes_in(each))
    return frozenset()


def has_hole(tree: Any) -> bool:
    if isinstance(tree, dict):
        return any(has_hole(each) for each in tree.values())
    if isinstance(tree, list):
        return any(has_hole(each) for each in tree)
    return isinstance(tree, Hole)


def found_at(tree: Any, steps: Steps) -> Any:
    """What stands at a path, or ABSENT; inside a hole it is the hole."""
    for step in steps:
        if isinstance(tree, Hole):
            return tree
        if isinstance(tree, list):
            tree = dict(enumerate(tree))
        elif isinstance(tree, dict):
            step = str(step)
        if not isinstance(tree, dict) or step not in tree:
            return ABSENT
        tree = tree[step]
    return tree


def with_value(tree: Any, steps: Steps, value: Any, option: str) -> Any:
    """The tree with a value at a path; where the path does not fit, a hole (S18, S59)."""
    if not steps:
        return value
    if isinstance(tree, Hole):
        return Hole(tree.reasons | holes_in(value))
    step, rest = steps[0], steps[1:]
    if tree is ABSENT:
        tree = [] if isinstance(step, int) else {}
    if isinstance(step, int) and isinstance(tree, list) and step <= len(tree):
        inner = tree[step] if step < len(tree) else ABSENT
        return [*tree[:step], with_value(inner, rest, value, option), *tree[step + 1 :]]
    if isinstance(tree, dict):
        # In a map a number is a key.
        key = str(step)
        return {**tree, key: with_value(tree.get(key, ABSENT), rest, value, option)}
    return Hole(holes_in(tree) | {Reason("value-type", option)})


def without(tree: Any, steps: Steps) -> Any:
    """The tree without what stands at a path."""
    if isinstance(tree, Hole) or found_at(tree, steps) is ABSENT:
        return tree
    step, rest = steps[0], steps[1:]
    if isinstance(tree, list):
        assert isinstance(step, int)
        return [*tree[:step], *([without(tree[step], rest)] if rest else []), *tree[step + 1 :]]
    if rest:
        return {**tree, str(step): without(tree[str(step)], rest)}
    return {key: each for key, each in tree.items() if key != str(step)}


def merged(base: Any, value: Any) -> Any:
    """Deep into maps; everything else is replaced (S18)."""
    if isinstance(base, Hole) and isinstance(value, dict):
        return Hole(base.reasons | holes_in(value))
    if isinstance(value, Hole) and (isinstance(base, dict | Hole)):
        return Hole(holes_in(base) | value.reasons)
    if not isinstance(base, dict) or not isinstance(value, dict):
        return value
    found = dict(base)
    for key, each in value.items():
        found[key] = merged(base[key], each) if key in base else each
    return found


def leaves_of(tree: Any, steps: Steps = ()) -> Iterator[Steps]:
    """The paths at which a merge writes."""
    if isinstance(tree, dict) and tree:
        for key, each in tree.items():
            yield from leaves_of(each, (*steps, key))
    else:
        yield steps


def is_within(inner: Steps, outer: Steps) -> bool:
    return inner[: len(outer)] == outer
