"""Random edits of a fleet: each gives the next snapshot, with the objects it did not touch kept as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec import structs

from fleetform.model.kinds.base import NameRef
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.placement import PlacementSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import Deployed, PluginState
from fleetform.syntax.names import generated_name
from properties.pools import CLUSTERS, DEFINITIONS, PRESETS
from properties.strategies import (
    ACME,
    LABEL_SETS,
    OPTIONS,
    STAMPS,
    a_cluster,
    an_object,
    hand_made,
    instances,
    overrides,
    presets,
)
from support.oracle import selects


class Edit(NamedTuple):
    """What was done, and the fleet afterwards."""

    what: str
    after: Snapshot


Objects = Mapping[Any, Object[Any]]


def put(objects: Objects, key: Any, object_: Object[Any]) -> dict[Any, Object[Any]]:
    """With the object added, or in the place of the one before; sorted as a snapshot that was read is."""
    changed = {**objects, key: object_}
    return {each: changed[each] for each in sorted(changed)}


def taken(objects: Objects, key: Any) -> dict[Any, Object[Any]]:
    return {each: value for each, value in objects.items() if each != key}


@st.composite
def override_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """An override added, changed or removed."""
    name = draw(st.sampled_from([*(ref.name for ref in before.overrides), "o8", "o9"]))
    object_ = draw(overrides(name))
    if object_.ref in before.overrides and draw(st.booleans()):
        return Edit(f"remove override {name}", replace(before, overrides=taken(before.overrides, object_.ref)))
    return Edit(f"write override {name}", replace(before, overrides=put(before.overrides, object_.ref, object_)))


@st.composite
def cluster_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """A cluster added, relabelled or removed."""
    object_ = a_cluster(draw(st.sampled_from(CLUSTERS)), draw(LABEL_SETS))
    if object_.ref in before.clusters and draw(st.booleans()):
        return Edit(f"remove {object_.ref}", replace(before, clusters=taken(before.clusters, object_.ref)))
    return Edit(f"write {object_.ref}", replace(before, clusters=put(before.clusters, object_.ref, object_)))


@st.composite
def preset_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    object_ = draw(presets(draw(st.sampled_from(PRESETS))))
    if object_.ref in before.presets and draw(st.integers(0, 3)) == 3:
        return Edit(f"remove {object_.ref}", replace(before, presets=taken(before.presets, object_.ref)))
    return Edit(f"write {object_.ref}", replace(before, presets=put(before.presets, object_.ref, object_)))


@st.composite
def plugin_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """A hand-made plugin, or values beside a preset, written or removed."""
    object_ = draw(st.one_of(instances(), hand_made()))
    if object_.ref in before.plugins and draw(st.booleans()):
        return Edit(f"remove {object_.ref}", replace(before, plugins=taken(before.plugins, object_.ref)))
    return Edit(f"write {object_.ref}", replace(before, plugins=put(before.plugins, object_.ref, object_)))


@st.composite
def definition_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """A definition's options changed, a version added, or one removed."""
    if not before.definitions:
        return Edit("nothing", before)
    key = draw(st.sampled_from(sorted(before.definitions)))
    ref, version = key
    what = draw(st.sampled_from(["options", "version", "removed"]))
    if what == "removed":
        return Edit(f"remove {ref} {version}", replace(before, definitions=taken(before.definitions, key)))
    version = "9.0.0" if what == "version" else version
    spec = PluginDefinitionSpec(version, options=draw(OPTIONS))
    object_ = an_object("PluginDefinition", ref.name, spec, ref.organization)
    definitions = put(before.definitions, (ref, version), object_)
    return Edit(f"write {ref} {version}", replace(before, definitions=definitions))


@st.composite
def time_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """Time passes, and overrides expire; or it is asked about a time before."""
    days = draw(st.sampled_from([90, 1, -2]))
    return Edit(f"{days} days", replace(before, at=before.at + timedelta(days=days)))


@st.composite
def stamp_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """An override gets another stamp: only its place among its rank changes."""
    if not before.overrides:
        return Edit("nothing", before)
    ref = draw(st.sampled_from(sorted(before.overrides)))
    object_ = replace(before.overrides[ref], created=draw(STAMPS))
    return Edit(f"stamp {ref}", replace(before, overrides=put(before.overrides, ref, object_)))


@st.composite
def state_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """Something else is known of one plugin: what runs, what was healthy, what was read there; or nothing any more."""
    cluster = Ref("Cluster", ACME, draw(st.sampled_from(CLUSTERS)))
    name = generated_name(draw(st.sampled_from(PRESETS)), cluster.name)
    deployed = st.builds(Deployed, st.sampled_from(["1.0.0", "9.0.0"]), st.sampled_from([None, *DEFINITIONS]))
    observed = st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from([1, True, "x", None]))
    state = draw(st.builds(PluginState, st.none() | deployed, st.none() | deployed, observed))
    here = {**before.states.get(cluster, {}), name: state}
    if draw(st.booleans()):
        del here[name]
    return Edit(f"state of {name}", replace(before, states={**before.states, cluster: here}))


@st.composite
def placement_edits(draw: st.DrawFn, before: Snapshot) -> Edit:
    """A placement comes, changes or goes; or a preset is put where one says."""
    if len(before.presets) > 0 and draw(st.booleans()):
        preset = before.presets[draw(st.sampled_from(sorted(before.presets)))]
        spec = structs.replace(preset.spec, cluster_selector=None, placement=NameRef("some"))
        placed = replace(preset, spec=spec)
        return Edit(f"place {preset.ref}", replace(before, presets=put(before.presets, placed.ref, placed)))
    wanted = draw(st.sampled_from([None, 1, 2]))
    placement = an_object("Placement", "some", PlacementSpec(number_of_clusters=wanted))
    if placement.ref in before.others and draw(st.booleans()):
        return Edit("remove placement", replace(before, others=taken(before.others, placement.ref)))
    return Edit("write placement", replace(before, others=put(before.others, placement.ref, placement)))


@st.composite
def rereadings(draw: st.DrawFn, before: Snapshot) -> Edit:
    """Every object is read again and says the same, but perhaps for one override."""
    parts = ("clusters", "definitions", "presets", "plugins", "overrides", "others")
    again: dict[str, Any] = {
        part: {key: replace(each) for key, each in getattr(before, part).items()} for part in parts
    }
    edit: Edit = draw(override_edits(replace(before, **again)))
    return edit if draw(st.booleans()) else Edit("read again", replace(before, **again))


KINDS_OF_EDITS: dict[str, Callable[[Snapshot], st.SearchStrategy[Edit]]] = {
    "override": override_edits,
    "stamp": stamp_edits,
    "cluster": cluster_edits,
    "preset": preset_edits,
    "plugin": plugin_edits,
    "definition": definition_edits,
    "time": time_edits,
    "state": state_edits,
    "placement": placement_edits,
    "reading": rereadings,
}


def is_reached(plugin: PluginDecision, before: Snapshot, after: Snapshot) -> bool:
    """Whether an override that differs between two snapshots can reach the plugin."""
    changed = set(before.overrides.values()) ^ set(after.overrides.values())
    names = [
        each.spec.plugin_definition_names for each in changed if selects(each.spec.cluster_selector, plugin.cluster)
    ]
    return any(not each or plugin.target.definition in each for each in names)
