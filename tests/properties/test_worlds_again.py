"""What a plan takes, made with the pass before at hand: the same as made anew, whatever was edited in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import at_version, decide, side_of
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.records import World
from fleetform.engine.world.changes import OwnerChanges
from fleetform.engine.world.joining import Redecide
from fleetform.model.snapshot import Snapshot
from properties.edits import KINDS_OF_EDITS, Edit
from properties.strategies import examples, fleets


def made(decisions: Decisions, before: OwnerChanges | None = None) -> OwnerChanges:
    inputs = Inputs(decisions, before.inputs.transforms if before is not None else {})
    return OwnerChanges(decisions, inputs, before=before, redecide=Redecide(side_of, at_version))


def parts(world: World) -> tuple[object, ...]:
    return world.changes, dict(world.states), world.removals, world.limits


@pytest.mark.rule("R0-14")
@examples(120)
@given(fleets(), st.data())
def test_worlds_made_edit_by_edit_equal_those_made_anew(snapshot: Snapshot, data: st.DataObject) -> None:
    decisions = decide(snapshot)
    changes = made(decisions)
    changes.world()
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS_OF_EDITS)), min_size=1, max_size=4)):
        edit: Edit = data.draw(KINDS_OF_EDITS[kind](snapshot))
        snapshot = edit.after
        decisions = decide(snapshot, decisions)
        changes = made(decisions, changes)
        assert parts(changes.world()) == parts(made(decisions).world())
