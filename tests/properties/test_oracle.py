"""The engine against the simple resolver, on random fleets."""

from __future__ import annotations

import pytest
from hypothesis import given

from fleetform.model.snapshot import Snapshot
from properties.against import compared_options
from properties.seen import exact
from properties.strategies import examples, fleets


@pytest.mark.rule("R0-10", "R0-11", "R0-12", "R0-13", "B14", "S1", "S16", "S17", "S18", "S19")
@examples(400)
@given(fleets())
def test_engine_and_simple_resolver_give_the_same_values_and_winners(snapshot: Snapshot) -> None:
    for which, engine, simple in compared_options(snapshot):
        assert engine.value == exact(simple.value), which
        assert engine.winner == simple.winner, which
        assert engine.hidden == simple.hidden, which
        assert engine.removed_by == simple.removed_by, which
        assert {part.form: (part.winner, part.hidden) for part in engine.parts} == simple.parts, which
        if simple.stumbled:
            assert engine.problem is not None, which
