"""What overrides must not touch, and that it does not matter who made a plugin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.pipeline import decide
from fleetform.model.kinds.base import ClusterSelector
from fleetform.model.kinds.preset import PluginOverrideSpec, PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot
from oracle import selects
from properties.seen import seen, values
from properties.strategies import ACME, NOW, OVERRIDE_SPECS, an_object, an_override, examples, fleets

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
    """The same object in another organization."""
    ref = Ref(object_.ref.kind, organization, object_.ref.name)
    return replace(object_, ref=ref) if object_.ref.organization == ACME else object_


def _moved_all(objects: Iterable[Object[Any]], organization: str) -> dict[Ref, Object[Any]]:
    return {each.ref: each for each in (_moved(object_, organization) for object_ in objects)}


def _with_twin(snapshot: Snapshot) -> Snapshot:
    """The fleet and, in another organization, the same one without its overrides."""
    twins = [_moved(each, GLOBEX) for each in snapshot.definitions.values()]
    return Snapshot(
        NOW,
        clusters={**snapshot.clusters, **_moved_all(snapshot.clusters.values(), GLOBEX)},
        definitions={**snapshot.definitions, **{(each.ref, each.spec.version): each for each in twins}},
        presets={**snapshot.presets, **_moved_all(snapshot.presets.values(), GLOBEX)},
        plugins={**snapshot.plugins, **_moved_all(snapshot.plugins.values(), GLOBEX)},
        overrides=snapshot.overrides,
    )


@pytest.mark.rule("R0-21")
@examples(120)
@given(fleets())
def test_an_override_reaches_its_own_organization_only(snapshot: Snapshot) -> None:
    twins = _with_twin(snapshot)
    of_globex = lambda plugin: plugin.organization == GLOBEX  # noqa: E731
    of_acme = lambda plugin: plugin.organization == ACME  # noqa: E731
    decisions = decide(twins)
    assert seen(decisions, of_globex) == seen(decide(replace(twins, overrides={})), of_globex)
    assert seen(decisions, of_acme) == seen(decide(snapshot))


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
