"""What overrides must not touch, and that it does not matter who made a plugin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import decide
from fleetform.model.kinds.base import ClusterSelector
from fleetform.model.kinds.preset import PluginOverrideSpec, PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot
from properties.seen import seen, values
from properties.strategies import ACME, NOW, OVERRIDE_SPECS, a_snapshot, an_object, an_override, examples, fleets
from support.oracle import selects

GLOBEX = "globex"

# Four ways to reach nothing: no such cluster, no such label, no such definition, too late.
NOWHERE = (
    {"cluster_selector": ClusterSelector(cluster_names=["nowhere"])},
    {"cluster_selector": ClusterSelector(match_labels={"env": "none"})},
    {"plugin_definition_names": ["unknown"]},
    {"expires": "2026-10-31"},
)


def _reaching_nothing(spec: PluginOverrideSpec, way: dict[str, Any]) -> PluginOverrideSpec:
    said = {"plugin_definition_names": spec.plugin_definition_names, "cluster_selector": spec.cluster_selector}
    return PluginOverrideSpec(spec.overrides, allow_undeclared=spec.allow_undeclared, **{**said, **way})


DEAD_SPECS = st.builds(_reaching_nothing, OVERRIDE_SPECS, st.sampled_from(NOWHERE))


@pytest.mark.rule("R0-20", "S19")
@examples(120)
@given(fleets(max_overrides=0), st.lists(DEAD_SPECS, min_size=1, max_size=4))
def test_overrides_that_match_nothing_change_nothing(snapshot: Snapshot, specs: list[PluginOverrideSpec]) -> None:
    dead = [an_override(f"dead-{number}", spec) for number, spec in enumerate(specs)]
    with_dead = replace(snapshot, overrides={each.ref: each for each in dead})
    assert seen(decide(with_dead)) == seen(decide(snapshot))


def _moved(object_: Object[Any], organization: str) -> Object[Any]:
    """The same object in another organization; the platform's stay where they are."""
    ref = Ref(object_.ref.kind, organization, object_.ref.name)
    return replace(object_, ref=ref) if object_.ref.organization == ACME else object_


def _fleet_of(organization: str, snapshot: Snapshot) -> Snapshot:
    """The same fleet in another organization."""
    moved = {
        field: [_moved(each, organization) for each in getattr(snapshot, field).values()]
        for field in ("clusters", "definitions", "presets", "plugins", "overrides")
    }
    return a_snapshot(**moved)


def _together(one: Snapshot, other: Snapshot) -> Snapshot:
    """Two organizations' fleets, with the overrides of the first."""
    return Snapshot(
        NOW,
        clusters={**one.clusters, **other.clusters},
        definitions={**one.definitions, **other.definitions},
        presets={**one.presets, **other.presets},
        plugins={**one.plugins, **other.plugins},
        overrides=one.overrides,
    )


@pytest.mark.rule("R0-21")
@pytest.mark.parametrize(("own", "foreign"), [(ACME, GLOBEX), (GLOBEX, ACME)])
@examples(60)
@given(fleets())
def test_an_override_reaches_its_own_organization_only(own: str, foreign: str, snapshot: Snapshot) -> None:
    with_overrides, other = _fleet_of(own, snapshot), replace(_fleet_of(foreign, snapshot), overrides={})
    decisions = decide(_together(with_overrides, other))
    assert seen(decisions) == {**seen(decide(with_overrides)), **seen(decide(other))}


def _by_hand(preset: Object[PluginPresetSpec], cluster: str) -> Object[PluginSpec]:
    """The plugin that a preset makes on a cluster, written by hand."""
    template = preset.spec.plugin
    spec = PluginSpec(
        plugin_definition=template.plugin_definition,
        cluster_name=cluster,
        release_name=template.release_name,
        option_values=template.option_values,
    )
    name = f"{preset.ref.name}-{cluster}"
    return an_object("Plugin", name, spec, created=preset.created, dialect=preset.dialect)


@pytest.mark.rule("R0-17")
@examples(150)
@given(fleets(plain=True))
def test_hand_made_and_preset_made_plugins_get_the_same_values(snapshot: Snapshot) -> None:
    by_hand = [
        _by_hand(preset, cluster.ref.name)
        for preset in snapshot.presets.values()
        for cluster in snapshot.clusters.values()
        if selects(preset.spec.cluster_selector, cluster)
    ]
    without_presets = replace(snapshot, presets={}, plugins={each.ref: each for each in by_hand})
    assert values(decide(without_presets)) == values(decide(snapshot))
