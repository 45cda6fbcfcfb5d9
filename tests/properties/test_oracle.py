"""The engine against the simple resolver."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from fleetform.engine.pipeline import decide
from fleetform.model.results.decisions import ABSENT
from fleetform.model.snapshot import Snapshot
from oracle import OptionAnswer, resolve_simply
from properties.seen import SeenOption, seen
from properties.strategies import examples, fleets


def _shown(value: Any) -> Any:
    # Equal numbers and booleans must not pass for each other: true is not 1.
    return "ABSENT" if value is ABSENT else repr(value)


def _differences(engine: SeenOption, simple: OptionAnswer) -> list[str]:
    found = []
    if not simple.rough and _shown(engine.value) != _shown(simple.value):
        found.append(f"value {engine.value!r}, not {simple.value!r}")
    if simple.plain and engine.hidden != simple.hidden:
        found.append(f"hidden {engine.hidden}, not {simple.hidden}")
    return found


@examples(10)
@given(fleets())
def test_x(snapshot: Snapshot) -> None:
    pass
