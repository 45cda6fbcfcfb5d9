"""Configs and placements that come, go and change: decided again, they equal a fresh decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.kinds.base import ClusterSelector, LabelSelector, Metadata, NameRef
from fleetform.model.kinds.definition import ConfigValues, ObjectName, PluginDefinitionSpec, SupportedConfig
from fleetform.model.kinds.placement import PlacementSpec, Predicate, RequiredClusterSelector
from fleetform.model.kinds.preset import (
    ConfigRef,
    DefinitionRef,
    PluginPresetSpec,
    PluginSpec,
    PluginTemplate,
    PresetGroup,
)
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot
from properties.edits import put, taken
from properties.seen import seen_plugin
from properties.strategies import NOW, a_cluster, an_object, examples

GROUP = "example.com"
TYPES = ("reds", "blues")
CONFIGS = ("a", "b", "c")
CLUSTERS = ("c0", "c1", "c2", "c3")
PLACEMENTS = ("p", "q")
MODES = (None, "OverrideByGVK", "Merge", "Override")
LABELS: tuple[dict[str, str], ...] = ({}, {"env": "prod"}, {"env": "dev"})

REFS = st.lists(
    st.builds(lambda type_, name: ConfigRef(GROUP, type_, name), st.sampled_from(TYPES), st.sampled_from(CONFIGS)),
    max_size=3,
)


def config(type_: str, name: str, content: int) -> Object[Any]:
    kind = type_.removesuffix("s").capitalize()
    tree = {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "acme"},
        "spec": {"n": content, "map": {name: content}},
    }
    ref = Ref(f"{kind}.{GROUP}", "acme", name)
    return Object(ref, Metadata(name=name), None, Origin("c.yaml", 1, 9), f"foreign:{GROUP}/v1", content=tree)


CONFIG_OBJECTS = st.builds(config, st.sampled_from(TYPES), st.sampled_from(CONFIGS), st.integers(0, 2))


@st.composite
def placements(draw: st.DrawFn) -> Object[PlacementSpec]:
    selector = RequiredClusterSelector(label_selector=LabelSelector(match_labels=draw(st.sampled_from(LABELS)) or None))
    number = draw(st.sampled_from([None, 1, 2]))
    spec = PlacementSpec(predicates=[Predicate(selector)], number_of_clusters=number)
    return an_object("Placement", draw(st.sampled_from(PLACEMENTS)), spec)


@st.composite
def definitions(draw: st.DrawFn) -> Object[PluginDefinitionSpec]:
    supported = []
    for type_ in TYPES:
        values = draw(
            st.sampled_from([None, ConfigValues(to=type_), ConfigValues(to=type_, use="All"), ConfigValues()])
        )
        default = draw(st.sampled_from([None, ObjectName("a"), ObjectName("c")]))
        supported.append(SupportedConfig(GROUP, type_, default, draw(st.booleans()), values))
    return an_object("PluginDefinition", "d", PluginDefinitionSpec("1.0.0", configs=supported))


@st.composite
def owners(draw: st.DrawFn, name: str) -> Object[PluginPresetSpec]:
    placed = st.sampled_from([None, *(NameRef(each) for each in PLACEMENTS)])
    groups = []
    for number in range(draw(st.integers(0, 2))):
        placement = draw(placed)
        selector = None if placement is not None else ClusterSelector(match_labels={"env": "prod"})
        groups.append(PresetGroup(f"g{number}", selector, placement, configs=draw(REFS)))
    home = draw(placed)
    spec = PluginPresetSpec(
        plugin=PluginTemplate(DefinitionRef("d"), release_name=name, configs=draw(REFS)),
        cluster_selector=ClusterSelector() if home is None else None,
        placement=home,
        groups=groups,
        config_mode=draw(st.sampled_from(MODES)),
    )
    return an_object(
        "PluginPreset", name, spec, dialect=draw(st.sampled_from(["native", "native", "ocm", "ocm-by-hand"]))
    )


@st.composite
def instances(draw: st.DrawFn) -> Object[PluginSpec]:
    cluster = draw(st.sampled_from(CLUSTERS))
    return an_object(
        "Plugin", f"web-{cluster}", PluginSpec(preset_ref=NameRef("web"), cluster_name=cluster, configs=draw(REFS))
    )


@st.composite
def fleets(draw: st.DrawFn) -> Snapshot:
    clusters = [a_cluster(name, draw(st.sampled_from(LABELS))) for name in CLUSTERS]
    others = [*draw(st.lists(CONFIG_OBJECTS, max_size=5)), *draw(st.lists(placements(), max_size=2))]
    presets = [draw(owners("web")), draw(owners("other"))]
    definition = draw(definitions())
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(definition.ref, "1.0.0"): definition},
        presets={each.ref: each for each in presets},
        plugins={each.ref: each for each in draw(st.lists(instances(), max_size=2))},
        others={each.ref: each for each in others},
    )


@st.composite
def edits(draw: st.DrawFn, before: Snapshot) -> Snapshot:
    """A config or a placement written or taken away, a cluster relabelled."""
    what = draw(st.sampled_from(["write", "write", "take", "relabel"]))
    if what == "relabel":
        cluster = a_cluster(draw(st.sampled_from(CLUSTERS)), draw(st.sampled_from(LABELS)))
        return replace(before, clusters=put(before.clusters, cluster.ref, cluster))
    if what == "take" and before.others:
        return replace(before, others=taken(before.others, draw(st.sampled_from(sorted(before.others)))))
    object_ = draw(st.one_of(CONFIG_OBJECTS, placements()))
    return replace(before, others=put(before.others, object_.ref, object_))


def everything(decisions: Decisions) -> dict[Any, Any]:
    return {
        key: (
            seen_plugin(plugin),
            plugin.configs.mode,
            [(each.identity, each.fold, each.spec_hash) for each in plugin.configs.effective],
            sorted((each.reference.identity, each.reference.fold, each.reason) for each in plugin.configs.hidden),
        )
        for key, plugin in decisions.plugins.items()
    }


@pytest.mark.rule("R0-14", "R0-16", "R1-15")
@examples(300)
@given(fleets(), st.data())
def test_edits_decided_one_by_one_equal_a_fresh_decision(snapshot: Snapshot, data: st.DataObject) -> None:
    decisions = decide(snapshot)
    for _ in range(data.draw(st.integers(1, 3))):
        snapshot = data.draw(edits(snapshot))
        decisions = decide(snapshot, decisions)
        assert everything(decisions) == everything(decide(snapshot))


@pytest.mark.rule("R1-9")
@examples(150)
@given(fleets())
def test_what_counts_is_listed_once_and_everything_else_is_hidden(snapshot: Snapshot) -> None:
    for plugin in decide(snapshot).plugins.values():
        identities = [each.identity for each in plugin.configs.effective]
        assert len(identities) == len(set(identities))
        # A default's index is 0, whatever its type.
        folds = {(each.type, each.fold) for each in plugin.configs.effective}
        assert not folds & {(each.reference.type, each.reference.fold) for each in plugin.configs.hidden}
