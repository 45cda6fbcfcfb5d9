"""What the items of all layers come to: one tree, folded layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rulebook.layering import Item
from rulebook.options import option_for, options_of
from rulebook.trees import (
    ABSENT,
    Hole,
    Reason,
    Steps,
    found_at,
    holes_in,
    is_within,
    leaves_of,
    merged,
    text_of,
    with_value,
    without,
)

Tree = dict[str, Any]


class Fold(NamedTuple):
    """The tree of values, and the items whose paths do not fit (S59), hidden ones among them.

    applied is the tree as what does fit has made it, to which more may be applied.
    """

    tree: Any
    misfits: tuple[Item, ...]
    applied: Any


def folded(revision: Tree, defaults: Sequence[Item], layers: Sequence[Sequence[Item]]) -> Fold:
    """Defaults, then layer by layer; what does not fit changes nothing, and is a hole unless it is lost (S59)."""
    start: Any = {}
    for item in sorted(defaults, key=lambda each: len(each.steps)):
        start = with_value(start, item.steps, item.value, text_of(item.steps))
    tree = start
    used = [[each for each in layer if each.skipped is None] for layer in layers]
    misfits: list[Item] = []
    for layer in used:
        tree = with_layer(tree, start, layer, revision, misfits)
    applied = tree
    items = [each for layer in used for each in layer]
    for item in misfits:
        if not is_lost(item, applied_over(item, items)):
            option = about(item.steps, revision)
            tree = _with_container(tree, item.steps, revision)
            # Holes that later layers made there are left, and raise their own gates.
            left = holes_in(found_at(tree, item.steps))
            tree = with_value(tree, item.steps, Hole(frozenset({Reason("value-type", option), *left})), option)
    return Fold(tree, tuple(misfits), applied)


def with_layer(tree: Any, defaults: Any, items: Sequence[Item], revision: Tree, misfits: list[Item]) -> Any:
    """One object's items, as a set (S60): the newest name of a renamed option last, deeper paths over others (S54)."""
    for renames in sorted({each.renames for each in items}, reverse=True):
        here = [each for each in items if each.renames == renames]
        for item in sorted(here, key=_order):
            if item.strategy != "Remove":
                if _fits(tree, item, revision):
                    tree = _applied(tree, item, revision)
                else:
                    misfits.append(item)
        for item in sorted(here, key=_order, reverse=True):
            if item.strategy == "Remove":
                tree = _removed(tree, defaults, item.steps, about(item.steps, revision))
    return tree


def applied_over(item: Item, items: Sequence[Item]) -> list[Item]:
    """What is applied over an item: what later layers say and, in its own, newer names of renamed options."""
    later = [each for each in items[items.index(item) + 1 :] if each.layer != item.layer]
    return [*later, *(each for each in items if each.layer == item.layer and each.renames < item.renames)]


def effective(revision: Tree, defaults: Sequence[Item], layers: Sequence[Sequence[Item]]) -> list[list[Item]]:
    """The layers with older names of renamed options first, and with what merges and removals find."""
    found = []
    for index, layer in enumerate(layers):
        here: list[Item] = []
        for item in sorted(layer, key=lambda each: -each.renames):
            into = found_at(folded(revision, defaults, [*layers[:index], here]).applied, item.steps)
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
            return with_value(tree, item.steps, merged(below, item.value), option)
    return with_value(tree, item.steps, item.value, option)


def _fits(tree: Any, item: Item, revision: Tree) -> bool:
    """Not where the path leads into what is no map or list, or past the end (S59), nor where what a migration made
    cannot be merged (S58)."""
    tree = _with_container(tree, item.steps, revision)
    merges = item.strategy != "Merge" or isinstance(item.value, dict | Hole)
    return _leads_somewhere(tree, item.steps) and (merges or found_at(tree, item.steps) is ABSENT)


def _leads_somewhere(tree: Any, steps: Steps) -> bool:
    for step in steps:
        if isinstance(tree, Hole):
            return True
        if tree is ABSENT:
            tree = [] if isinstance(step, int) else {}
        if isinstance(tree, dict):
            tree = tree.get(str(step), ABSENT)
        elif isinstance(tree, list) and isinstance(step, int) and step <= len(tree):
            tree = tree[step] if step < len(tree) else ABSENT
        else:
            return False
    return True


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
    return with_value(tree, steps, default, option) if _leads_somewhere(tree, steps) else tree


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
