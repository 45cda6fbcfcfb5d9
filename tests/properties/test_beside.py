"""A comparison in which both sides share objects and decisions answers what one of two fleets read apart answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.app import diff as diffing
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.load.locator import FileLocator
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.ports.inputs import Input
from fleetform.ports.state import KnownState
from properties import test_bindings_again as bound
from properties.edits import KINDS_OF_EDITS, Edit
from properties.strategies import examples, fleets
from support.answers import Answer, diff

PARTS = ("organizations", "clusters", "definitions", "presets", "plugins", "overrides")


def fleet_in(folder: str, snapshot: Snapshot) -> Fleet:
    """A snapshot as it would be read from a folder, each object for itself, none from a file with notes."""

    def moved(object_: Object[Any]) -> Object[Any]:
        at = object_.origin
        return replace(object_, origin=Origin(f"{folder}/{at.file}", at.first_line, at.last_line, at.base))

    parts: dict[str, Any] = {
        part: {key: moved(each) for key, each in getattr(snapshot, part).items()} for part in PARTS
    }
    # As reading files the objects of other systems.
    others = {
        Ref(f"{each.ref.kind}.v1" if each.foreign_version else each.ref.kind, *each.ref[1:]): moved(each)
        for each in snapshot.others.values()
    }
    snapshot = replace(snapshot, others=others, **parts)
    return Fleet(Input([], [], FileLocator(), name=folder), snapshot, KnownState(plugins=snapshot.states), ())


def apart(before: Snapshot, after: Snapshot, scope: Scope) -> Answer:
    with patch.object(diffing, "beside", lambda fleet, _: fleet):
        return diff(fleet_in("a", before), fleet_in("b", after), scope)


SCOPES = st.sampled_from([Scope(None), Scope("acme"), Scope("acme", "c1")])


@pytest.mark.rule("R0-14", "S22")
@examples(300)
@given(fleets(), SCOPES, st.data())
def test_sides_that_share_objects_are_compared_like_sides_that_share_nothing(
    before: Snapshot, scope: Scope, data: st.DataObject
) -> None:
    after = before
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS_OF_EDITS)), max_size=3)):
        edit: Edit = data.draw(KINDS_OF_EDITS[kind](after))
        after = edit.after
    assert diff(fleet_in("a", before), fleet_in("b", after), scope) == apart(before, after, scope)


@pytest.mark.rule("B16", "B30", "S22")
@examples(300)
@given(bound.fleets(), SCOPES, st.data())
def test_sides_with_variables_and_secrets_are_compared_like_sides_that_share_nothing(
    before: Snapshot, scope: Scope, data: st.DataObject
) -> None:
    after = before
    for _ in range(data.draw(st.integers(0, 2))):
        after = data.draw(bound.edits(after))
    assert diff(fleet_in("a", before), fleet_in("b", after), scope) == apart(before, after, scope)
