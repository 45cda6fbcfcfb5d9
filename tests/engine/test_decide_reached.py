"""A part of a pass: what a change reaches is decided as in the whole pass, on as many clusters as are asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.decide import decide, decide_reached
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Ref
from support.fleets import CLUSTERS, DEFINITION, PRESET, documents, fleet_with, override

MANY = 1000
EU = "clusterSelector: {matchLabels: {region: eu}}"


def values(decisions: Decisions) -> dict[Ref, dict[str, dict[str, object]]]:
    return {
        ref: {name: {each: one.value for each, one in plugin.options.items()} for name, plugin in here.plugins.items()}
        for ref, here in decisions.clusters.items()
    }


BEFORE = fleet_with(eu=override("eu", "[{path: replicas, value: 7}]", EU))
EDITS = {
    "an override": fleet_with(eu=override("eu", "[{path: replicas, value: 8}]", EU)),
    "no override": fleet_with(),
    "a preset": fleet_with(eu=override("eu", "[{path: replicas, value: 7}]", EU), preset=PRESET.replace("2}", "5}")),
    "a version": fleet_with(
        eu=override("eu", "[{path: replicas, value: 7}]", EU),
        definition=documents(DEFINITION, DEFINITION.replace("1.0.0", "1.1.0").replace("default: 1,", "default: 3,")),
    ),
    "a label": fleet_with(
        eu=override("eu", "[{path: replicas, value: 7}]", EU), clusters=CLUSTERS.replace("region: us", "region: eu")
    ),
}


@pytest.mark.parametrize("edited", EDITS.values(), ids=EDITS)
def test_what_is_reached_comes_out_as_in_a_whole_pass(edited: Fleet) -> None:
    part = decide_reached(edited.snapshot, BEFORE.decisions, MANY)
    assert part.left == []
    assert part.decisions.clusters
    whole = values(decide(edited.snapshot))
    assert {**values(BEFORE.decisions), **values(part.decisions)} == whole


def test_only_so_many_are_decided_those_first_that_are_asked_for() -> None:
    first = Ref("Cluster", "acme", "us-1")
    part = decide_reached(EDITS["a preset"].snapshot, BEFORE.decisions, 1, {first})
    assert list(part.decisions.clusters) == [first]
    assert [each.ref.name for each in part.left] == ["eu-1", "eu-2"]


def test_where_nothing_changed_nothing_is_decided() -> None:
    part = decide_reached(replace(BEFORE.snapshot), BEFORE.decisions, MANY)
    assert dict(part.decisions.clusters) == {}
