"""The order in which things are written down decides nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.app.fleet import Fleet
from fleetform.engine.decide import decide
from fleetform.model.snapshot import Snapshot
from properties.files import fleet_from, manifests, shuffled_files
from properties.seen import SeenPlugin, seen, seen_claims
from properties.strategies import as_written_in, examples, fleets

Seen = tuple[dict[tuple[str, str, str], SeenPlugin], list[tuple[str, str, str, str]], list[tuple[str, ...]]]


def _seen_fleet(fleet: Fleet) -> Seen:
    """All that must not depend on order: decisions, claims and findings (but for their places)."""
    findings: list[tuple[str, ...]] = sorted((each.severity, each.code, each.message) for each in fleet.findings.all)
    return seen(fleet.decisions), seen_claims(fleet.decisions), findings


@pytest.mark.rule("R0-14")
@examples(120)
@given(fleets(), st.integers(0, 2**32))
def test_order_of_files_documents_and_keys_changes_nothing(snapshot: Snapshot, seed: int) -> None:
    trees, random = manifests(snapshot), Random(seed)
    one, other = shuffled_files(trees, random), shuffled_files(trees, random)
    assert _seen_fleet(fleet_from(one, snapshot)) == _seen_fleet(fleet_from(other, snapshot))


@examples(60)
@given(fleets(), st.integers(0, 2**32))
def test_a_fleet_read_from_files_is_decided_as_the_one_that_was_written(snapshot: Snapshot, seed: int) -> None:
    fleet = fleet_from(shuffled_files(manifests(snapshot), Random(seed)), snapshot)
    native = replace(snapshot, presets={ref: as_written_in("native", each) for ref, each in snapshot.presets.items()})
    assert seen(fleet.decisions) == seen(decide(native))
