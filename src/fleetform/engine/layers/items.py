"""Items: one value that one object gives one path."""

from __future__ import annotations

from functools import lru_cache

from msgspec import UNSET

from fleetform.model.kinds.base import OptionValue, OptionValues
from fleetform.model.kinds.preset import OverrideItem
from fleetform.model.objects import Path
from fleetform.model.results.decisions import Item, Layer, Steps, Strategy, sort_key
from fleetform.syntax.option_paths import PathError, parse_path


def values_items(layer: Layer, values: OptionValues | None, collection: Path) -> tuple[Item, ...]:
    """The items of an optionValues field, as a list or as a map."""
    items: list[Item] = []
    if isinstance(values, dict):
        # By name: the order of a map's keys must not decide anything.
        for name, value in sorted(values.items()):
            items += item_of(layer, name, OptionValue(name, value), collection, name)
    else:
        for index, each in enumerate(values or ()):
            items += item_of(layer, each.name, each, collection, index)
    return as_a_set(items)


def as_a_set(items: list[Item]) -> tuple[Item, ...]:
    """The items of one object, in an order that gives the same whatever the order in which they are written (S60).

    Indexes are those of the list before any of the items: what is set comes first, in the order of a list's items so
    that each of several new ones finds the one before it; what is removed comes last, and from the end. A path that
    lies above another comes before it.
    """
    if len(items) < 2:
        return tuple(items)
    order = _order(tuple([(each.steps, each.strategy == "Remove") for each in items]))
    return tuple([items[number] for number in order])


# Many objects of a fleet speak of the same paths.
@lru_cache(maxsize=4_096)
def _order(paths: tuple[tuple[Steps, bool], ...]) -> tuple[int, ...]:
    """The order of items, by their paths and whether they are removals."""
    in_order = sorted(range(len(paths)), key=lambda number: sort_key(paths[number][0]))
    kept = [each for each in in_order if not paths[each][1]]
    removed = [each for each in reversed(in_order) if paths[each][1]]
    return (*kept, *removed)


def item_of(
    layer: Layer,
    name: str,
    written: OptionValue | OverrideItem,
    collection: Path,
    index: str | int,
    strategy: Strategy = "Replace",
) -> tuple[Item, ...]:
    """The item, or nothing where there is no path or value to speak of."""
    try:
        steps = parse_path(name)
    except PathError:
        return ()
    if strategy == "Remove":
        return (Item(layer, name, steps, collection, index, strategy="Remove"),)
    if written.value is not UNSET and written.value is not None:
        return (Item(layer, name, steps, collection, index, written.value, None, None, strategy),)
    if written.value_from is not None and written.value_from.secret is not None:
        return (Item(layer, name, steps, collection, index, secret=written.value_from.secret, strategy=strategy),)
    if written.expression is not None:
        return (Item(layer, name, steps, collection, index, expression=written.expression, strategy=strategy),)
    return ()
