"""What a plan takes, made with the pass before at hand: the same as made anew, whatever was edited in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import at_version, decide, side_of
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.carry_out import after, writes
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import observed
from fleetform.engine.plan.records import Plan, World
from fleetform.engine.world.changes import OwnerChanges
from fleetform.engine.world.joining import Redecide
from fleetform.model.objects import Ref
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import PluginState
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


def stored_after(snapshot: Snapshot, world: World, found: Plan, healthy: bool, now: datetime) -> Snapshot:
    """The snapshot once a plan was carried out, and what it started has arrived."""
    states: dict[Ref, dict[str, PluginState]] = {}
    for key, each in after(world, writes(found)).states.items():
        attempt = each.attempt
        if healthy and attempt is not None:
            each = observed(each, attempt.input_hash, "Healthy", now)
        states.setdefault(Ref("Cluster", key[0], key[1]), {})[key[2]] = each
    same = {ref: snapshot.states[ref] for ref in states if snapshot.states.get(ref) == states[ref]}
    return replace(snapshot, states={**states, **same})


@pytest.mark.rule("R0-14")
@examples(100)
@given(fleets(), st.data())
def test_plans_made_edit_by_edit_equal_those_made_anew(snapshot: Snapshot, data: st.DataObject) -> None:
    """Also with owners at rest, which are not planned again."""
    decisions = decide(snapshot)
    changes = made(decisions)
    now, found = snapshot.at, None
    for kind in data.draw(st.lists(st.sampled_from(["none"] * 20 + sorted(KINDS_OF_EDITS)), min_size=3, max_size=7)):
        if kind != "none":
            edit: Edit = data.draw(KINDS_OF_EDITS[kind](snapshot))
            snapshot = edit.after
        decisions = decide(snapshot, decisions)
        changes = made(decisions, changes)
        world = changes.world()
        found = plan(world, now, found)
        anew = plan(made(decisions).world(), now)
        assert [each.steps for each in found.owners] == [each.steps for each in anew.owners]
        assert (found.removals, found.next_look, found.starts) == (anew.removals, anew.next_look, anew.starts)
        now += timedelta(minutes=1)
        snapshot = stored_after(snapshot, world, found, data.draw(st.integers(0, 3)) > 0, now)
