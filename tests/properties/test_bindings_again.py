"""Bindings and all that they read come, go and change: decided again, they equal a fresh decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import decide
from fleetform.model.kinds.base import ClusterSelector, Metadata, OptionValue
from fleetform.model.kinds.definition import Option, Output, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import (
    Binding,
    DefinitionRef,
    OverrideItem,
    PluginOverrideSpec,
    PluginPresetSpec,
    PluginTemplate,
)
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.yaml_in import read_one
from properties.edits import put, taken
from properties.strategies import NOW, an_object, an_override, examples
from support.bound import everything
from support.states import states

CLUSTERS = ("c0", "c1", "c2")
OWNERS = ("web", "ca", "mid")
TEXTS = ("one", "two", "$(A)")


def _read(kind: Any, *written: str) -> list[Any]:
    return [msgspec.convert(read_one(each), kind) for each in written]


# Every name is bound in one way only, so that any choice of these has no name twice.
BINDINGS: list[Binding] = _read(
    Binding,
    "{name: A, value: a-$(CLUSTER_NAME)}",
    "{name: B, objectFieldRef: {kind: ConfigMap, name: m0, fieldPath: /data/k}}",
    "{name: C, objectFieldRef: {kind: ConfigMap, name: 'm$(cluster.labels.number)', fieldPath: /data/k}, default: c}",
    "{name: D, objectFieldRef: {kind: Secret, name: s0, fieldPath: /data/k}, optional: true}",
    "{name: E, clusterFieldRef: {path: /spec/facts/zone}, default: z}",
    "{name: F, objectFieldRef: {kind: Cluster, name: $(CLUSTER_NAME), fieldPath: /spec/facts/zone}, optional: true}",
    "{name: G, objectFieldRef: {kind: Cluster, name: c0, fieldPath: /spec/facts/zone}, default: g}",
    "{name: H, pluginOutputRef: {definition: ca, output: out}}",
    "{name: I, pluginOutputRef: {definition: mid, output: out}, default: i}",
    "{name: J, objectFieldRef: {kind: PluginPreset, name: ca, fieldPath: /spec/plugin/releaseName}, default: j}",
    "{name: K, objectFieldRef: {kind: 'Config$(L)', name: m1, fieldPath: /data/k}, optional: true}",
    "{name: L, value: Map}",
)  # fmt: skip
DOWNSTREAM: list[Binding] = _read(
    Binding,
    "{name: P, objectFieldRef: {kind: Service, name: s, fieldPath: /spec/ip}}",
    "{name: Q, objectFieldRef: {kind: Service, name: s-$(A), fieldPath: /spec/ip}, default: q}",
)
OUTPUTS: list[list[Output]] = [
    [],
    _read(Output, "{name: out, value: 1}"),
    _read(Output, "{name: out, value: o-$(CLUSTER_NAME)}"),
    _read(Output, "{name: out, value: {b: $(B), c: [$(C)]}}"),
    _read(Output, "{name: out, value: $(D)}"),
    _read(Output, "{name: out, objectFieldRef: {kind: Service, name: s, fieldPath: /spec/ip}}"),
]
MENTIONS = [f"$({each.name})" for each in (*BINDINGS, *DOWNSTREAM)]
VALUES = st.lists(st.sampled_from([*MENTIONS, "x-$(A)-$(B)", "$(cluster.labels.number)", "plain"]), max_size=3)


@st.composite
def owners(draw: st.DrawFn, name: str) -> Object[PluginPresetSpec]:
    values = [OptionValue(f"o{index}", value=each) for index, each in enumerate(draw(VALUES))]
    bound = draw(st.none() | st.lists(st.sampled_from(BINDINGS), unique_by=lambda each: each.name, max_size=6))
    more = draw(st.none() | st.lists(st.sampled_from(DOWNSTREAM), unique_by=lambda each: each.name))
    labels = draw(st.sampled_from([None, None, {"number": "0"}]))
    spec = PluginPresetSpec(
        plugin=PluginTemplate(
            DefinitionRef(name), release_name=draw(st.sampled_from([None, name])), option_values=values
        ),
        cluster_selector=ClusterSelector(match_labels=labels),
        control_plane_bindings=bound,
        bindings=more,
        substitute=draw(st.sampled_from([None, {"V": "$(A)"}, {"V": "<$(B)>", "W": "$(cluster.facts.zone)"}])),
    )
    return an_object("PluginPreset", name, spec)


@st.composite
def definitions(draw: st.DrawFn, name: str) -> Object[PluginDefinitionSpec]:
    options = [Option(f"o{index}", "any") for index in range(3)]
    version = draw(st.sampled_from(["1.0.0", "1.0.0", "2.0.0"]))
    return an_object(
        "PluginDefinition", name, PluginDefinitionSpec(version, options=options, outputs=draw(st.sampled_from(OUTPUTS)))
    )


@st.composite
def clusters(draw: st.DrawFn, name: str) -> Object[ClusterSpec]:
    labels = draw(st.sampled_from([{}, {"number": "0"}, {"number": "1"}]))
    facts = draw(st.sampled_from([None, {"zone": "a"}, {"zone": "b"}]))
    return an_object("Cluster", name, ClusterSpec(facts=facts), labels=labels)


@st.composite
def held(draw: st.DrawFn) -> Object[Any]:
    """A ConfigMap or a Secret."""
    kind, field = draw(st.sampled_from([("ConfigMap", "data"), ("ConfigMap", "data"), ("Secret", "stringData")]))
    name = draw(st.sampled_from(["m0", "m1"] if kind == "ConfigMap" else ["s0"]))
    data = {draw(st.sampled_from(["k", "k", "l"])): draw(st.sampled_from(TEXTS))}
    tree = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "acme"}, field: data}
    ref = Ref(kind, "acme", name)
    return Object(ref, Metadata(name=name), None, Origin("o.yaml", 1, 9), "foreign:v1", content=tree)


@st.composite
def observations(draw: st.DrawFn) -> dict[tuple[str, str, str], dict[str, Any]]:
    keys = st.sampled_from([("acme", cluster, f"{owner}-{cluster}") for cluster in CLUSTERS for owner in OWNERS])
    seen = st.dictionaries(st.sampled_from(["P", "Q", "out"]), st.sampled_from(["10.0.0.1", "10.0.0.2", None]))
    return draw(st.dictionaries(keys, seen, max_size=3))


def overrides() -> st.SearchStrategy[Object[PluginOverrideSpec]]:
    items = st.sampled_from([*MENTIONS, "plain"]).map(lambda value: [OverrideItem("o0", value=value)])
    return st.builds(lambda each: an_override("o", PluginOverrideSpec(each)), items)


@st.composite
def fleets(draw: st.DrawFn) -> Snapshot:
    made = [draw(clusters(name)) for name in CLUSTERS]
    defined = [draw(definitions(name)) for name in OWNERS]
    owned = [draw(owners(name)) for name in OWNERS[: draw(st.integers(1, 3))]]
    others = draw(st.lists(held(), max_size=3))
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in made},
        definitions={(each.ref, each.spec.version): each for each in defined},
        presets={each.ref: each for each in sorted(owned, key=lambda each: each.ref)},
        others={each.ref: each for each in sorted(others, key=lambda each: each.ref)},
        states=states(observed=draw(observations())),
    )


@st.composite
def edits(draw: st.DrawFn, before: Snapshot) -> Snapshot:
    """One object written or taken away, or something else read on clusters."""
    what = draw(st.sampled_from(["other", "other", "cluster", "preset", "definition", "observed", "override", "take"]))
    if what == "take":
        return _without_one(draw, before)
    if what == "observed":
        return replace(before, states=states(observed=draw(observations())))
    if what == "cluster":
        cluster = draw(clusters(draw(st.sampled_from(CLUSTERS))))
        return replace(before, clusters=put(before.clusters, cluster.ref, cluster))
    if what == "preset":
        owner = draw(owners(draw(st.sampled_from(OWNERS))))
        return replace(before, presets=put(before.presets, owner.ref, owner))
    if what == "definition":
        definition = draw(definitions(draw(st.sampled_from(OWNERS))))
        key = (definition.ref, definition.spec.version)
        return replace(before, definitions=put(before.definitions, key, definition))
    if what == "override":
        override = draw(overrides())
        return replace(before, overrides=put(before.overrides, override.ref, override))
    object_ = draw(held())
    return replace(before, others=put(before.others, object_.ref, object_))


def _without_one(draw: st.DrawFn, before: Snapshot) -> Snapshot:
    field = draw(st.sampled_from(["others", "presets", "definitions", "clusters"]))
    objects = getattr(before, field)
    if not objects:
        return before
    changed: dict[str, Any] = {field: taken(objects, draw(st.sampled_from(sorted(objects))))}
    return replace(before, **changed)


@pytest.mark.rule("R3-8", "R0-14", "R0-16", "B16", "B17")
@examples(250)
@given(fleets(), st.data())
def test_edits_decided_one_by_one_equal_a_fresh_decision(snapshot: Snapshot, data: st.DataObject) -> None:
    decisions = decide(snapshot)
    for _ in range(data.draw(st.integers(1, 3))):
        snapshot = data.draw(edits(snapshot))
        decisions = decide(snapshot, decisions)
        assert everything(decisions) == everything(decide(snapshot))


@pytest.mark.rule("R3-8")
@examples(80)
@given(fleets(), held())
def test_an_object_that_nobody_binds_leaves_every_plugin_as_it_is(snapshot: Snapshot, object_: Object[Any]) -> None:
    before = decide(snapshot)
    tree = {**object_.content, "kind": "Unread"}
    unread = replace(object_, ref=Ref("Unread", "acme", object_.ref.name), content=tree)
    after = decide(replace(snapshot, others=put(snapshot.others, unread.ref, unread)), before)
    computed = any(
        "$(" in ref.kind for owner in after.index.owners.values() if owner.program for ref in owner.program.references
    )
    assert computed or all(plugin is before.plugins[key] for key, plugin in after.plugins.items())
