"""Items: one value that one object gives one path."""

from __future__ import annotations

from msgspec import UNSET

from fleetform.model.kinds.base import OptionValue, OptionValues
from fleetform.model.kinds.preset import OverrideItem
from fleetform.model.objects import Path
from fleetform.model.results.decisions import Item, Layer, Strategy
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
    return tuple(items)


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
