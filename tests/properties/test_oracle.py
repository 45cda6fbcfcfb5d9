"""The engine against the simple resolver, on random fleets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from fleetform.engine.pipeline import decide
from fleetform.model.snapshot import Snapshot
from oracle import OptionAnswer, resolve_simply
from properties.seen import SeenOption, exact, seen
from properties.strategies import examples, fleets

Pair = tuple[str, SeenOption, OptionAnswer]


def _options(snapshot: Snapshot) -> Iterator[Pair]:
    """Every option of every plugin as the engine and as the simple resolver see it."""
    engine, simple = seen(decide(snapshot)), resolve_simply(snapshot)
    assert engine.keys() == simple.keys()
    for key, plugin in engine.items():
        assert plugin.version == simple[key].version
        assert plugin.options.keys() == simple[key].options.keys()
        for name, option in plugin.options.items():
            yield f"{name} of {key}", option, simple[key].options[name]


@pytest.mark.rule("R0-10", "R0-11", "R0-12", "R0-13", "B14", "S1", "S18")
@examples(500)
@given(fleets())
def test_engine_and_simple_resolver_give_the_same_values_and_winners(snapshot: Snapshot) -> None:
    for which, engine, simple in _options(snapshot):
        if simple.stumbled:
            assert engine.problem is not None, which
        if simple.rough and not simple.plain:
            continue
        assert engine.value == exact(simple.value), which
        assert engine.winner == simple.winner, which
        assert engine.removed_by == simple.removed_by, which
        assert {form: winner for form, _, winner, _, _ in engine.parts} == simple.parts, which
        if simple.plain:
            assert engine.hidden == simple.hidden, which
