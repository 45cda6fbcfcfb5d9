"""Values with holes: trees of which a part is not known here, and what is laid over such a part or into it.

A hole is a leaf that says why nothing is known there. What replaces it, or something above it, takes it away. What
reaches inside it is kept with it: it counts once the hole is filled, and what is hashed holds it already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from fleetform.model.results.bindings import Failure, Misfit, OnCluster, Unresolved
from fleetform.model.results.decisions import ABSENT, Steps
from fleetform.syntax.option_paths import get_in, normal_form, with_value, without

Mark: TypeAlias = Unresolved | OnCluster


class Laid(NamedTuple):
    """What is said of the inside of a hole: a value at a path, ABSENT where it is removed, or a map to merge."""

    steps: Steps
    value: Any
    merges: bool = False


class Covered(Struct, frozen=True, eq=False, gc=False):
    """A hole with what is laid into it, and with what it is itself merged into."""

    mark: Mark
    laid: tuple[Laid, ...] = ()
    under: Any = ABSENT


_MARKS = frozenset({Unresolved, Failure, Misfit, OnCluster})
HOLES = frozenset({*_MARKS, Covered})


def is_hole(value: object) -> bool:
    return value.__class__ in HOLES


def marks_in(tree: Any) -> Iterator[Mark]:
    """Why parts of a tree are not known."""
    kind = tree.__class__
    if kind is dict or kind is list:
        for each in tree.values() if kind is dict else tree:
            if each.__class__ is not str:
                yield from marks_in(each)
    elif kind in _MARKS:
        yield tree
    elif kind is Covered:
        yield tree.mark
        yield from marks_in(tree.under)
        for laid in tree.laid:
            yield from marks_in(laid.value)


def placed(tree: Any, steps: Steps, value: Any, merges: bool = False) -> Any:
    """The tree with a value at a path; where the path leads into a hole, the hole keeps it."""
    depth = _depth_of_hole(tree, steps)
    if depth is None:
        return with_value(tree, steps, value)
    return _laid_into(tree, steps, depth, value, merges)


def cleared(tree: Any, steps: Steps) -> Any:
    """The tree with nothing at a path; where the path leads into a hole, the hole keeps that."""
    depth = _depth_of_hole(tree, steps)
    return without(tree, steps) if depth is None else _laid_into(tree, steps, depth, ABSENT, False)


def hole_above(tree: Any, steps: Steps) -> Any:
    """The hole that a path leads into; ABSENT where it leads into none."""
    depth = _depth_of_hole(tree, steps)
    return ABSENT if depth is None else get_in(tree, steps[:depth])


def merged_into(value: Any, target: Any) -> Any:
    """What stands where a map is merged into a hole, or a hole into a map."""
    return _with_laid(target, Laid((), value, True)) if not is_hole(value) else Covered(value, (), target)


def merge_leaves(value: dict[str, Any], target: dict[str, Any], inside: Steps) -> Iterator[tuple[Steps, Any, Any]]:
    """Where Merge puts something, what then stands there, and what it says there.

    Maps go deep as far as there is a map to go into, everything else is replaced.
    """
    for key in sorted(value):
        said, below, path = value[key], target.get(key, ABSENT), (*inside, key)
        if isinstance(said, dict) and isinstance(below, dict):
            yield from merge_leaves(said, below, path)
        elif (is_hole(said) or is_hole(below)) and all(
            isinstance(each, dict) or is_hole(each) for each in (said, below)
        ):
            yield path, merged_into(said, below), said
        else:
            yield path, said, said


def deep_leaves(value: Any, inside: Steps) -> Iterator[tuple[Steps, Any]]:
    """All that a map says, down to what is no map; itself where it is none, or empty."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from deep_leaves(value[key], (*inside, key))
    else:
        yield inside, value


def depth_of_misfit(tree: Any, steps: Steps) -> int:
    """How far a path leads before it cannot go on: to what is no map and no list, or has no such index."""
    for depth, step in enumerate(steps):
        if isinstance(tree, dict):
            tree = tree.get(str(step), ABSENT)
        elif isinstance(tree, list) and isinstance(step, int) and step <= len(tree):
            tree = tree[step] if step < len(tree) else ABSENT
        elif tree is not ABSENT or (isinstance(step, int) and step):
            return depth
    return len(steps)


def without_holes(tree: Any, which: Callable[[Mark], bool]) -> Any:
    """The tree without some of its holes: ABSENT where it is such a one itself."""
    if isinstance(tree, dict):
        return {key: each for key, one in tree.items() if (each := without_holes(one, which)) is not ABSENT}
    if isinstance(tree, list):
        return [each for one in tree if (each := without_holes(one, which)) is not ABSENT]
    if isinstance(tree, Covered):
        return without_holes(tree.under, which) if which(tree.mark) else tree
    mark: Mark | None = tree if tree.__class__ in _MARKS else None
    return ABSENT if mark is not None and which(mark) else tree


def hashable(tree: Any) -> Any:
    """A tree of which parts are read on the cluster as it goes into a hash: these parts as they are written."""
    if isinstance(tree, dict):
        return {key: hashable(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [hashable(each) for each in tree]
    if isinstance(tree, OnCluster):
        return {"$on-cluster": tree.pieces}
    if isinstance(tree, Covered):
        laid = [
            [normal_form(each.steps), None if each.value is ABSENT else [hashable(each.value)], each.merges]
            for each in tree.laid
        ]
        under = [] if tree.under is ABSENT else [hashable(tree.under)]
        return {"$on-cluster": hashable(tree.mark), "laid": laid, "under": under}
    return None if is_hole(tree) else tree


def _depth_of_hole(tree: Any, steps: Steps) -> int | None:
    for depth, step in enumerate(steps):
        if isinstance(tree, dict):
            tree = tree.get(str(step), ABSENT)
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return depth if is_hole(tree) else None
    return None


def _laid_into(tree: Any, steps: Steps, depth: int, value: Any, merges: bool) -> Any:
    hole = get_in(tree, steps[:depth])
    return with_value(tree, steps[:depth], _with_laid(hole, Laid(steps[depth:], value, merges)))


def _with_laid(hole: Any, laid: Laid) -> Covered:
    before = hole if isinstance(hole, Covered) else Covered(hole)
    form = normal_form(laid.steps)
    kept = [each for each in before.laid if laid.merges or normal_form(each.steps)[: len(form)] != form]
    in_order = [*kept, laid]
    if not any(each.merges for each in in_order):
        # Paths that do not meet have no order: none of two overrides' must show.
        in_order.sort(key=lambda each: normal_form(each.steps))
    return Covered(before.mark, tuple(in_order), before.under)
