"""A pass that is given the one before: the same answer, for less work."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.snapshot import Snapshot
from properties.edits import KINDS_OF_EDITS, Edit, is_reached, override_edits, put, taken
from properties.seen import SeenPlugin, seen, seen_claims, seen_plugin
from properties.strategies import examples, fleets, overrides


def _assert_same_answer(one: Decisions, other: Decisions) -> None:
    assert list(one.plugins) == list(other.plugins)
    assert seen(one) == seen(other)
    assert seen_claims(one) == seen_claims(other)
    assert _seen_upgrades(one) == _seen_upgrades(other)
    assert one.next_due == other.next_due


def _seen_upgrades(decisions: Decisions) -> list[tuple[str | None, SeenPlugin | None]]:
    plugins = decisions.plugins.values()
    return [(each.running, seen_plugin(each.upgrade) if each.upgrade is not None else None) for each in plugins]


@pytest.mark.rule("R0-14", "R0-16")
@examples(250)
@given(fleets(), st.data())
def test_edits_decided_one_by_one_equal_a_fresh_decision(snapshot: Snapshot, data: st.DataObject) -> None:
    decisions = decide(snapshot)
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS_OF_EDITS)), min_size=1, max_size=3)):
        edit: Edit = data.draw(KINDS_OF_EDITS[kind](snapshot))
        snapshot = edit.after
        decisions = decide(snapshot, decisions)
        _assert_same_answer(decisions, decide(snapshot))


@pytest.mark.rule("R0-14", "R0-16")
@examples(60)
@given(fleets())
def test_at_the_very_time_that_something_is_due_it_is_decided_again_and_not_a_moment_earlier(
    snapshot: Snapshot,
) -> None:
    decisions = decide(snapshot)
    while decisions.next_due is not None:
        early = decide(replace(snapshot, at=decisions.next_due - timedelta(microseconds=1)), decisions)
        assert early.clusters is decisions.clusters
        snapshot = replace(snapshot, at=decisions.next_due)
        decisions = decide(snapshot, early)
        _assert_same_answer(decisions, decide(snapshot))


@pytest.mark.rule("R0-14", "R0-16")
@examples(15)
@given(fleets(), st.data())
def test_long_sequences_of_edits_leave_nothing_stale(snapshot: Snapshot, data: st.DataObject) -> None:
    decisions = decide(snapshot)
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS_OF_EDITS)), min_size=15, max_size=30)):
        edit: Edit = data.draw(KINDS_OF_EDITS[kind](snapshot))
        snapshot = edit.after
        decisions = decide(snapshot, decisions)
        _assert_same_answer(decisions, decide(snapshot))


@pytest.mark.rule("R0-14")
@examples(60)
@given(fleets(), st.data())
def test_two_passes_that_start_from_one_do_not_see_each_other(snapshot: Snapshot, data: st.DataObject) -> None:
    before = decide(snapshot)
    then = seen(before)
    for _ in range(2):
        kind = data.draw(st.sampled_from(sorted(KINDS_OF_EDITS)))
        edit: Edit = data.draw(KINDS_OF_EDITS[kind](snapshot))
        _assert_same_answer(decide(edit.after, before), decide(edit.after))
    assert seen(before) == then


@pytest.mark.rule("R0-19")
@examples(60)
@given(fleets())
def test_a_fleet_that_is_read_again_and_says_the_same_decides_nothing(snapshot: Snapshot) -> None:
    before = decide(snapshot)
    parts = ("clusters", "definitions", "presets", "plugins", "overrides", "others")
    again: dict[str, Any] = {
        part: {key: replace(each) for key, each in getattr(snapshot, part).items()} for part in parts
    }
    assert decide(replace(snapshot, **again), before).clusters is before.clusters


@pytest.mark.rule("R0-14")
@examples(150)
@given(fleets(), st.data())
def test_an_override_edit_leaves_plugins_it_cannot_reach_untouched(snapshot: Snapshot, data: st.DataObject) -> None:
    before = decide(snapshot)
    edit: Edit = data.draw(override_edits(snapshot))
    after = decide(edit.after, before)
    for key, plugin in after.plugins.items():
        if not before.claims and not is_reached(plugin, snapshot, edit.after):
            assert plugin is before.plugins[key]


@pytest.mark.rule("R0-15")
@examples(120)
@given(fleets(), st.data())
def test_an_override_added_and_removed_leaves_no_trace(snapshot: Snapshot, data: st.DataObject) -> None:
    before = decide(snapshot)
    override = data.draw(overrides("o9"))
    added = replace(snapshot, overrides=put(snapshot.overrides, override.ref, override))
    removed = replace(snapshot, overrides=taken(added.overrides, override.ref))
    _assert_same_answer(decide(removed, decide(added, before)), before)
