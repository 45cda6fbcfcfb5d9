"""Values as they may be shown: secrets by a mark, and so the logins of addresses.

Every answer has its values from here; what is rendered, delivered and stored has them as they are.
"""

from __future__ import annotations

from fleetform.engine.options.holes import is_hole
from fleetform.model.answers.base import MASKED, Json
from fleetform.model.results.decisions import ABSENT, Item, Secret, Slot, Steps
from fleetform.syntax.addresses import with_masked_logins
from fleetform.syntax.option_paths import get_in, normal_form, with_value


def masked(value: Json) -> Json:
    """A value as it may be shown: secrets by a mark, no value and what is not known as null."""
    if isinstance(value, str):
        return with_masked_logins(value)
    if value is ABSENT or is_hole(value):
        return None
    if isinstance(value, Secret):
        return MASKED
    if isinstance(value, dict):
        return {key: masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value]
    return value


def secret_at(slot: Slot, steps: Steps) -> tuple[Steps, ...]:
    """What is secret of a value that stands at a path: paths inside it; the empty one where all of it is."""
    form = normal_form(steps)[len(slot.steps) :]
    if slot.secret or any(form[: len(each)] == each for each in slot.secret_inside):
        return ((),)
    return tuple(each[len(form) :] for each in slot.secret_inside if each[: len(form)] == form)


def masked_inside(value: Json, secret: tuple[Steps, ...]) -> Json:
    """A value of which some parts are secret, as it may be shown."""
    for steps in secret:
        if not steps:
            return MASKED
        if get_in(value, steps) is not ABSENT:
            value = with_value(value, steps, Secret(None))
    return masked(value)


def item_value(item: Item, secret: tuple[Steps, ...] = (), inside: Steps = ()) -> Json:
    """An item's value (at a path inside it), as it may be shown; secret is what is secret of that."""
    if item.strategy == "Remove":
        return None
    if item.secret is not None or () in secret:
        return MASKED
    if item.expression is not None:
        return {"expression": with_masked_logins(item.expression)} if not secret else MASKED
    return masked_inside(get_in(item.value, inside), secret)
