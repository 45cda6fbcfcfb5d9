"""Random edits of a fleet: each gives the next snapshot, with the objects it did not touch kept as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.snapshot import Snapshot
from properties.pools import CLUSTERS, PRESETS
from properties.strategies import (
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


KINDS_OF_EDITS: dict[str, Callable[[Snapshot], st.SearchStrategy[Edit]]] = {
    "override": override_edits,
    "stamp": stamp_edits,
    "cluster": cluster_edits,
    "preset": preset_edits,
    "plugin": plugin_edits,
    "definition": definition_edits,
    "time": time_edits,
}


def is_reached(plugin: PluginDecision, before: Snapshot, after: Snapshot) -> bool:
    """Whether an override that differs between two snapshots can reach the plugin."""
    changed = set(before.overrides.values()) ^ set(after.overrides.values())
    names = [
        each.spec.plugin_definition_names for each in changed if selects(each.spec.cluster_selector, plugin.cluster)
    ]
    return any(not each or plugin.target.definition in each for each in names)
