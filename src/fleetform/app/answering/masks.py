"""Values as they may be shown: secrets by a mark."""

from __future__ import annotations

from fleetform.engine.options.holes import is_hole
from fleetform.model.answers.base import MASKED, Json
from fleetform.model.results.decisions import ABSENT, Item, Secret, Steps
from fleetform.syntax.option_paths import get_in


def masked(value: Json) -> Json:
    """A value as it may be shown: secrets by a mark, no value and what is not known as null."""
    if value is ABSENT or is_hole(value):
        return None
    if isinstance(value, Secret):
        return MASKED
    if isinstance(value, dict):
        return {key: masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value]
    return value


def item_value(item: Item, secret: bool, inside: Steps = ()) -> Json:
    """An item's value (at a path inside it), as it may be shown."""
    if item.strategy == "Remove":
        return None
    if item.secret is not None or secret:
        return MASKED
    if item.expression is not None:
        return {"expression": item.expression}
    return masked(get_in(item.value, inside))
