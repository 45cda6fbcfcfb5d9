"""A snapshot, indexed: everything that deciding and checking ask about it, made once.

Each part is taken from the pass before where nothing that it is made of changed. A part is never changed once a pass is
made: two passes may start from the same one, and an earlier one may be asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cached_property
from typing import Any

from fleetform.engine.bindings.compile import binds_variables
from fleetform.engine.bindings.fields import Fields
from fleetform.engine.configs.combine import ConfigIndex
from fleetform.engine.index.clusters import Cluster, ClusterIndex
from fleetform.engine.index.definitions import DefinitionIndex
from fleetform.engine.index.instances import Instances
from fleetform.engine.index.reach import OverrideIndex
from fleetform.engine.index.selection import Selected, Selection
from fleetform.engine.layers.overrides import Override, override_layer
from fleetform.engine.layers.owners import Owner, plugin_owner, preset_owner
from fleetform.engine.placement.placements import Placements, placements_after
from fleetform.model.kinds.preset import PluginPresetSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.names import generated_name

_OBJECTS = ("organizations", "clusters", "definitions", "presets", "plugins", "overrides", "others")


class Index:
    """One snapshot's objects, compiled and found by what they reach."""

    def __init__(self, snapshot: Snapshot, before: Index | None = None) -> None:
        self.snapshot = snapshot
        self.clusters: ClusterIndex = ClusterIndex(snapshot.clusters, before.clusters if before is not None else None)
        self.owners = _owners(snapshot, before)
        earlier: Mapping[Object[Any], Override] = before.compiled_overrides if before is not None else {}
        overrides = snapshot.overrides.values()
        self.compiled_overrides: dict[Object[Any], Override] = {
            each: earlier.get(each) or override_layer(each) for each in overrides
        }
        # Those that apply at the time of the snapshot.
        self.overrides = {
            object_: each
            for object_, each in self.compiled_overrides.items()
            if each.expires is None or each.expires > snapshot.at
        }
        placements = before.placements if before is not None else None
        self.placements: Placements = placements_after(snapshot, self.clusters.of, placements)
        self.definitions = _definitions(snapshot, before)
        self.instances: Instances = (
            before.instances.since(snapshot.plugins) if before is not None else Instances(snapshot.plugins)
        )
        if before is not None and _same(snapshot, before.snapshot, "others"):
            self.configs: ConfigIndex = before.configs
        else:
            self.configs = ConfigIndex(snapshot.others, before.configs if before is not None else None)
        if before is not None and _same(snapshot, before.snapshot, *_OBJECTS):
            self.fields: Fields = before.fields
        else:
            self.fields = Fields(snapshot)
        # Selectors are indexed when they are asked for; once, while neither they nor what they choose from change.
        self._generated: dict[tuple[str, str], dict[str, str]] = {}
        self._selections: dict[str, Selection] = {}
        self._override_indexes: dict[str, OverrideIndex] = {}
        if before is not None:
            if before.overrides.keys() == self.overrides.keys():
                self._override_indexes = before._override_indexes
            same = before.owners is self.owners and before.instances is self.instances
            if same and before.clusters.all is snapshot.clusters:
                chosen_again = before.placements is not self.placements
                known = before._selections.items()
                # Time alone may change what placements choose, and nothing else here.
                self._selections = {name: each for name, each in known if not (chosen_again and each.asks_placements)}

    def at_time(self, snapshot: Snapshot) -> Index:
        """The same index at another time, at which nothing else is due."""
        index = copy(self)
        index.snapshot = snapshot
        index.placements = placements_after(snapshot, self.clusters.of, self.placements)
        return index

    def selection(self, organization: str) -> Selection:
        """Which owners of an organization select which clusters."""
        found = self._selections.get(organization)
        if found is None:
            found = Selection(self._owners_of(organization), self.clusters, self.placements, self.instances)
            self._selections[organization] = found
        return found

    def selects_as(self, before: Index, organization: str) -> bool:
        """Whether it is known that every owner of an organization selects the clusters that it selected before."""
        return self.selection(organization) is before._selections.get(organization)

    def _owners_of(self, organization: str) -> Iterable[Owner]:
        return self._by_organization.get(organization, ())

    @cached_property
    def _by_organization(self) -> dict[str, list[Owner]]:
        found: dict[str, list[Owner]] = {}
        for object_, owner in self.owners.items():
            found.setdefault(object_.ref.organization, []).append(owner)
        return found

    def owners_of_definitions(self, organization: str, definitions: Collection[str]) -> list[Object[Any]]:
        """The owners of an organization that install one of some definitions."""
        return [each.object for each in self._owners_of(organization) if each.definition in definitions]

    def owners_on(self, cluster: Cluster) -> Iterable[Selected]:
        """The owners that have a plugin on a cluster, the oldest first."""
        return self.selection(cluster.ref.organization).on(cluster)

    def clusters_of(self, owner: Owner) -> Iterable[Cluster]:
        return self.selection(owner.object.ref.organization).clusters_of(owner)

    def reach(self, organization: str) -> OverrideIndex:
        """Which overrides of an organization reach a cluster."""
        found = self._override_indexes.get(organization)
        if found is None:
            overrides = [each for object_, each in self.overrides.items() if object_.ref.organization == organization]
            found = self._override_indexes[organization] = OverrideIndex(overrides)
        return found

    def instance(self, owner: Owner, plugin: str) -> Object[Any] | None:
        """The Plugin that stands beside a preset's plugin."""
        return None if owner.by_hand else self.instances.of_preset(owner.object.ref).get(plugin)

    def cluster_of(self, plugin: Object[Any]) -> Cluster | None:
        """The cluster that a Plugin names."""
        return self.snapshot.clusters.get(Ref("Cluster", plugin.ref.organization, plugin.spec.cluster_name or ""))

    # ---- What exists, for those who check

    def preset(self, organization: str, name: str) -> Object[PluginPresetSpec] | None:
        return self.snapshot.presets.get(Ref("PluginPreset", organization, name))

    def generated_names(self, organization: str, preset: str) -> Mapping[str, str]:
        """The clusters by the name that a preset gives its plugin there."""
        key = (organization, preset)
        if key not in self._generated:
            self._generated[key] = {generated_name(preset, each): each for each in self.clusters.of(organization)}
        return self._generated[key]

    def names(self, kind: str, organization: str) -> Sequence[str]:
        """The names of an organization's objects of a kind that stands among the others."""
        return self._names.get((kind, organization), ())

    @cached_property
    def _names(self) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for ref in self.snapshot.others:
            found.setdefault((ref.kind, ref.organization), []).append(ref.name)
        return found

    def binds(self, object_: Object[Any]) -> bool:
        """Whether variable references in an object's values may count: an owner's own, and an override's for any."""
        if object_.ref.kind != "PluginOverride" and getattr(object_.spec, "preset_ref", None) is None:
            return binds_variables(object_)
        return object_.ref.organization in self._binding

    @cached_property
    def _binding(self) -> set[str]:
        return {object_.ref.organization for object_, owner in self.owners.items() if owner.program is not None}

    def due(self) -> Iterator[datetime]:
        """The times after the snapshot's at which something follows from the clock alone."""
        times = (
            *(each.expires for each in self.overrides.values()),
            *self.definitions.ends(),
            *self.placements.look_again(),
        )
        return (each for each in times if each is not None and each > self.snapshot.at)


def _owners(snapshot: Snapshot, before: Index | None) -> dict[Object[Any], Owner]:
    """Presets and hand-made plugins, the oldest first: of two claims on a release the older keeps it (B23)."""
    if before is not None and _same(snapshot, before.snapshot, "presets", "plugins"):
        return before.owners
    earlier: Mapping[Object[Any], Owner] = before.owners if before is not None else {}
    by_hand = [each for each in snapshot.plugins.values() if each.spec.preset_ref is None]
    objects: list[Object[Any]] = [*snapshot.presets.values(), *by_hand]
    owners = {}
    for object_ in sorted(objects, key=_age):
        make = preset_owner if object_.ref.kind == "PluginPreset" else plugin_owner
        owners[object_] = earlier.get(object_) or make(object_)
    return owners


def _definitions(snapshot: Snapshot, before: Index | None) -> DefinitionIndex:
    if before is None:
        return DefinitionIndex(snapshot)
    if _same(snapshot, before.snapshot, "at", "definitions", "retired", "others", "rejected", "ends"):
        return before.definitions
    return DefinitionIndex(snapshot, before.definitions)


def _same(now: Snapshot, then: Snapshot, *parts: str) -> bool:
    """Whether parts of two snapshots are the same; maps that hold the same objects were made one before (changes)."""
    pairs = [(part, getattr(now, part), getattr(then, part)) for part in parts]
    return all(one is other or (part == "at" and one == other) for part, one, other in pairs)


def _age(object_: Object[Any]) -> tuple[Any, ...]:
    stamp = object_.created.timestamp() if object_.created else float("inf")
    return (stamp, object_.ref.kind == "Plugin", object_.ref.name, object_.ref.organization)
