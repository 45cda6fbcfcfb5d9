"""What differs between two maps is found whatever was put in, taken out, moved or replaced."""

from __future__ import annotations

from random import Random
from types import MappingProxyType

import pytest

from fleetform.engine.index.differences import changed_keys

SIZES = (0, 1, 2, 5, 31, 32, 33, 60)


def edited(dice: Random, then: dict[str, object]) -> dict[str, object]:
    """A few edits: at the beginning, in the middle and at the end."""
    items = list(then.items())
    for _ in range(dice.randint(0, 4)):
        place = dice.choice([0, len(items), dice.randint(0, len(items))])
        edit = dice.choice(["put in", "take out", "replace", "move", "swap"])
        if edit == "put in":
            items.insert(place, (f"new {dice.random()}", object()))
        elif items:
            place = min(place, len(items) - 1)
            key, value = items.pop(place)
            if edit == "replace":
                items.insert(place, (key, object()))
            elif edit == "move":
                items.insert(dice.randint(0, len(items)), (key, value))
            elif edit == "swap":
                items.append((key, object()))
    return dict(items)


@pytest.mark.parametrize("size", SIZES)
def test_keys_of_one_map_only_and_keys_of_other_objects_are_found_once(size: int) -> None:
    for number in range(60):
        dice = Random(f"{size}/{number}")
        then: dict[str, object] = {f"k{each}": object() for each in range(size)}
        now = edited(dice, then)
        expected = sorted(key for key in {**now, **then} if now.get(key) is not then.get(key))
        assert sorted(changed_keys(now, then)) == expected, number
        assert sorted(changed_keys(then, now)) == expected, number
        assert sorted(changed_keys(MappingProxyType(now), then)) == expected, number


def test_they_stand_in_the_order_of_the_maps() -> None:
    then: dict[str, int] = {f"k{number:02}": number + 1000 for number in range(40)}
    now = {**then, "k01": 1, "k39": 2, "new": 3}
    del now["k20"]
    assert changed_keys(now, then) == ["k01", "k39", "new", "k20"]
    assert changed_keys(then, then) == []
