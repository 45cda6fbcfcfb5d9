"""What the items of all layers come to: one tree, folded layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rulebook.layering import Item
from rulebook.options import option_for, options_of
from rulebook.trees import (
    ABSENT,
    Hole,
    Reason,
    Steps,
    found_at,
    is_within,
    leaves_of,
    merged,
    text_of,
    with_value,
    without,
)

Tree = dict[str, Any]


def folded(revision: Tree, defaults: Sequence[Item], layers: Sequence[Sequence[Item]]) -> Any:
    """The tree of values: defaults, then each layer over what is there."""
    start: Any = {}
    for item in sorted(defaults, key=lambda each: len(each.steps)):
        start = with_value(start, item.steps, item.value, text_of(item.steps))
    tree = start
    for layer in layers:
        tree = with_layer(tree, start, [each for each in layer if each.skipped is None], revision)
    return tree


def with_layer(tree: Any, defaults: Any, items: Sequence[Item], revision: Tree) -> Any:
    """One object's items, as a set (S60): the newest name of a renamed option last, deeper paths over others (S54)."""
    for renames in sorted({each.renames for each in items}, reverse=True):
        here = [each for each in items if each.renames == renames]
        for item in sorted(here, key=_order):
            if item.strategy != "Remove":
                tree = _applied(tree, item, revision)
        for item in sorted(here, key=_order, reverse=True):
            if item.strategy == "Remove":
                tree = _removed(tree, defaults, item.steps, about(item.steps, revision))
    return tree


def effective(revision: Tree, defaults: Sequence[Item], layers: Sequence[Sequence[Item]]) -> list[list[Item]]:
    """The layers with older names of renamed options first, and with what merges and removals find."""
    found = []
    for index, layer in enumerate(layers):
        here: list[Item] = []
        for item in sorted(layer, key=lambda each: -each.renames):
            into = found_at(folded(revision, defaults, [*layers[:index], here]), item.steps)
            if item.strategy == "Merge" and item.skipped is None and not isinstance(into, dict | Hole):
                item = replace(item, replaces=True)
            if item.strategy == "Remove" and into is ABSENT:
                item = replace(item, idle=True)
            here.append(item)
        found.append(here)
    return found


def _applied(tree: Any, item: Item, revision: Tree) -> Any:
    option = about(item.steps, revision)
    tree = _with_container(tree, item.steps, revision)
    if item.strategy == "Merge":
        below = found_at(tree, item.steps)
        if below is not ABSENT:
            if not isinstance(item.value, dict | Hole):
                # Converted into something that cannot be merged: nothing may be lost (S58).
                return with_value(tree, item.steps, Hole(frozenset({Reason("value-type", option)})), option)
            return with_value(tree, item.steps, merged(below, item.value), option)
    return with_value(tree, item.steps, item.value, option)


def misfits(revision: Tree, defaults: Sequence[Item], layers: Sequence[Sequence[Item]]) -> list[Item]:
    """The items that cannot be applied: their path leads into what is no map or list there, or past the end (S59),
    or no migration can convert them (S58)."""
    found: list[Item] = []
    for index, layer in enumerate(layers):
        applied = [[each for each in held if each not in found] for held in layers[:index]]
        beside = [each.steps for each in layer if each.strategy != "Remove"]
        for item in layer:
            older = [each for each in layer if each.renames > item.renames]
            before = folded(revision, defaults, [*applied, older])
            here = _with_container(before, item.steps, revision)
            leads = item.strategy == "Remove" or _leads_somewhere(here, item.steps, beside)
            into_nothing = found_at(here, item.steps) is ABSENT
            merges = item.strategy != "Merge" or isinstance(item.value, dict | Hole) or into_nothing
            if item.skipped is None and (item.failed or not leads or not merges):
                found.append(item)
    return found


def _leads_somewhere(tree: Any, steps: Steps, beside: list[Steps]) -> bool:
    for index, step in enumerate(steps):
        if tree is ABSENT:
            if isinstance(step, int) and not _continues(steps, index, 0, beside):
                return False
            continue
        if isinstance(tree, Hole):
            return True
        if isinstance(step, int) and not isinstance(tree, dict):
            if not isinstance(tree, list):
                return False
            if step > len(tree):
                return _continues(steps, index, len(tree), beside)
            tree = tree[step] if step < len(tree) else ABSENT
        elif not isinstance(tree, dict):
            return False
        else:
            tree = tree.get(str(step), ABSENT)
    return True


def _continues(steps: Steps, index: int, end: int, beside: list[Steps]) -> bool:
    """Whether items of the same object append all that lies before an index."""
    wanted = steps[index]
    assert isinstance(wanted, int)
    return all(any(is_within(each, (*steps[:index], place)) for each in beside) for place in range(end, wanted))


def _with_container(tree: Any, steps: Steps, revision: Tree) -> Any:
    """An option that is a map or a list is one before anything is put into it, whatever its first step looks like."""
    name = option_for(revision, steps)
    if name is None or name == steps or found_at(tree, name) is not ABSENT:
        return tree
    kind = options_of(revision)[name]["type"]
    return with_value(tree, name, {} if kind == "map" else [], "") if kind in ("map", "list") else tree


def _removed(tree: Any, defaults: Any, steps: Steps, option: str) -> Any:
    """As if no layer but the default had set the path (S18); where the path leads nowhere there is nothing to do."""
    default = found_at(defaults, steps)
    if default is ABSENT:
        return without(tree, steps)
    return with_value(tree, steps, default, option) if _leads_somewhere(tree, steps, []) else tree


def about(steps: Steps, revision: Tree) -> str:
    """The option that a path is about; for one that nobody declares, the path."""
    return text_of(option_for(revision, steps) or steps)


def _order(item: Item) -> tuple[int, list[tuple[int, str]]]:
    return len(item.steps), [(each, "") if isinstance(each, int) else (0, each) for each in item.steps]


def is_lost(item: Item, later: Sequence[Item]) -> bool:
    """Whether items that apply later hide all that an item does."""
    if item.strategy != "Merge":
        return any(_covers(each, item.steps) for each in later)
    return all(any(_covers(each, (*item.steps, *leaf)) for each in later) for leaf in leaves_of(item.value))


def _covers(item: Item, steps: Steps) -> bool:
    """Whether an item replaces all that stands at a path."""
    if item.strategy == "Merge":
        leaves = [(*item.steps, *leaf) for leaf in leaves_of(item.value) if found_at(item.value, leaf) != {}]
        return any(is_within(steps, leaf) for leaf in leaves)
    return is_within(steps, item.steps)
