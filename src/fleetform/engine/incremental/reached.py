"""Which plugins a change can reach: owners on clusters. What is not reached stays as it was decided.

It may take a plugin for reached that comes out the same; never the other way round, which a property test holds against
deciding everything anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fleetform.engine.decisions import Decisions
from fleetform.engine.incremental.changes import Changes
from fleetform.engine.incremental.configs import ChangedConfigs
from fleetform.engine.incremental.definitions import ChangedDefinitions
from fleetform.engine.incremental.fields import owners_reading_changes
from fleetform.engine.incremental.secrets import holders_of_changed_secrets
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders
from fleetform.engine.index.reach import OverrideIndex, Reach
from fleetform.engine.layers.overrides import Override
from fleetform.engine.layers.owners import Owner
from fleetform.engine.options.shared import Sharing
from fleetform.model.objects import Object
from fleetform.syntax.names import generated_name
from fleetform.syntax.selectors import Matchers

OwnerObject = Object[Any]

# So many changed overrides are asked one by one for the clusters that they reach.
_FEW = 10


class Reached:
    """Owners to be decided again on clusters, and what of the pass before no longer holds."""

    def __init__(self, index: Index) -> None:
        self._index = index
        # None: every owner on that cluster.
        self._owners: dict[Cluster, set[OwnerObject] | None] = {}
        # Owners whose plugins are all decided again: what they shared is forgotten.
        self.changed: set[Owner] = set()
        self.definitions: set[tuple[str, str]] = set()
        self.configs: ChangedConfigs | None = None
        self.instances = False

    def add(self, cluster: Cluster, owners: Iterable[OwnerObject]) -> None:
        known = self._owners.setdefault(cluster, set())
        if known is not None:
            known.update(owners)

    def add_cluster(self, cluster: Cluster | None) -> None:
        if cluster is not None:
            self._owners[cluster] = None

    def add_owner(self, owner: Owner) -> None:
        """An owner wherever it is now, with nothing of it kept."""
        self.changed.add(owner)
        for cluster in self._index.clusters_of(owner):
            self.add(cluster, (owner.object,))

    def on_clusters(self) -> Iterator[tuple[Cluster, set[OwnerObject] | None]]:
        clusters = self._index.snapshot.clusters
        return ((each, owners) for each, owners in self._owners.items() if clusters.get(each.ref) is each)

    def sharing(self, before: Sharing, binders: Binders) -> Sharing:
        """What plugins shared in the pass before, as far as it holds."""
        sharing = before.after(self._index, binders, self.changed, self.definitions)
        if self.configs is not None:
            self.configs.forget(sharing)
        if self.instances:
            sharing.forget_instances(self._index)
        return sharing


def reached_by(changes: Changes, index: Index, previous: Decisions) -> Reached:
    reached, before = Reached(index), previous.index
    for cluster in index.clusters.came:
        reached.add_cluster(cluster)
    _add_owners(reached, changes, index, before)
    _add_overrides(reached, index, before)
    definitions = ChangedDefinitions(changes, index, previous)
    reached.definitions = definitions.names
    for owner in index.owners.values() if definitions.anything else ():
        if owner.object in before.owners and definitions.reach(owner):
            reached.add_owner(owner)
    _add_placed(reached, index, before)
    _add_states(reached, changes, index)
    _add_forced(reached, changes, index, previous)
    if index.configs is not before.configs:
        reached.configs = ChangedConfigs(index, before)
        for cluster, owner in reached.configs.reached():
            reached.add(cluster, (owner.object,))
    for owner in owners_reading_changes(changes, index, before, reached.changed):
        reached.add_owner(owner)
    for cluster, holder in holders_of_changed_secrets(changes, previous):
        reached.add(cluster, (holder,))
    _add_readers(reached, index)
    return reached


def _add_readers(reached: Reached, index: Index) -> None:
    """Those that read outputs of plugins that are reached on their clusters: these may get another version now."""
    reading = {
        each.object: set(each.program.producers)
        for each in index.owners.values()
        if each.program is not None and each.program.producers
    }
    for cluster, owners in list(reached.on_clusters()) if reading else ():
        here = {each.owner.object for each in index.owners_on(cluster)} & reading.keys()
        known = set(owners) if owners is not None else here
        while more := {each for each in here - known if not reading[each].isdisjoint(_definitions_of(known, index))}:
            known |= more
            reached.add(cluster, more)


def _definitions_of(owners: Iterable[OwnerObject], index: Index) -> set[str]:
    return {index.owners[each].definition for each in owners if each in index.owners}


def _add_owners(reached: Reached, changes: Changes, index: Index, before: Index) -> None:
    """Presets and plugins that came, went or changed; where they were, claims are settled again."""
    for object_ in changes.objects("presets", "plugins"):
        if object_ in index.owners:
            reached.add_owner(index.owners[object_])
        elif object_ in before.owners:
            owner = before.owners[object_]
            reached.changed.add(owner)
            for cluster in before.clusters_of(owner):
                reached.add(cluster, ())
        else:
            # A Plugin beside a preset. In some systems it also decides whether the preset has a plugin there, which
            # others on the cluster may read outputs of.
            reached.instances = True
            reached.add_cluster(_cluster_beside(object_, index))


def _cluster_beside(plugin: OwnerObject, index: Index) -> Cluster | None:
    """The cluster of a Plugin beside a preset; one that names none is found by the name that the preset gives."""
    if plugin.spec.cluster_name:
        return index.cluster_of(plugin)
    preset = plugin.spec.preset_ref.name
    clusters = index.clusters.of(plugin.ref.organization)
    found = clusters.get(plugin.ref.name.removeprefix(f"{preset}-"))
    if found is not None and generated_name(preset, found.ref.name) == plugin.ref.name:
        return found
    # A long name was cut, with a hash of the whole.
    return next((each for each in clusters.values() if generated_name(preset, each.ref.name) == plugin.ref.name), None)


def _add_overrides(reached: Reached, index: Index, before: Index) -> None:
    """Overrides that changed, came, went or expired, wherever they reach."""
    changed: dict[str, list[Override]] = {}
    for object_ in index.overrides.keys() ^ before.overrides.keys():
        override = index.overrides.get(object_) or before.overrides[object_]
        changed.setdefault(object_.ref.organization, []).append(override)
    for organization, overrides in changed.items():
        if len(overrides) <= _FEW:
            # What an override was and what it is mostly reach the same clusters.
            by_selector: dict[Matchers, list[Override]] = {}
            for each in overrides:
                by_selector.setdefault(each.matchers, []).append(each)
            on_clusters = [
                (cluster, reach)
                for matchers, reach in [(selector, Reach(tuple(alike))) for selector, alike in by_selector.items()]
                for cluster in index.clusters.matching(organization, matchers)
            ]
        else:
            # Asking each of many for its clusters would go over the fleet as often as there are overrides.
            together = OverrideIndex(overrides)
            on_clusters = [(each, together.reach(each)) for each in index.clusters.of(organization).values()]
        owners_of: dict[Reach, set[OwnerObject] | None] = {}
        for cluster, reach in on_clusters:
            if reach not in owners_of:
                owners_of[reach] = _owners_reached(index, organization, reach.overrides)
            owners = owners_of[reach]
            if owners is None:
                reached.add_cluster(cluster)
            elif owners:
                reached.add(cluster, owners)


def _owners_reached(index: Index, organization: str, overrides: tuple[Override, ...]) -> set[OwnerObject] | None:
    """The owners whose definitions some overrides name; None where one names none, and so reaches all of them."""
    if any(not each.definitions for each in overrides):
        return None
    return set(index.owners_of_definitions(organization, {name for each in overrides for name in each.definitions}))


def _add_placed(reached: Reached, index: Index, before: Index) -> None:
    """Clusters that a placement chooses now and did not, or the other way round."""
    if index.placements is before.placements:
        return
    for owner in index.owners.values():
        for name in owner.placements if owner.object in before.owners else ():
            home = owner.object.ref.organization
            for cluster in index.placements.members(home, name) ^ before.placements.members(home, name):
                reached.add_cluster(cluster)


def _add_forced(reached: Reached, changes: Changes, index: Index, previous: Decisions) -> None:
    """Plugins on the way to another version, where it may be another time from which one that breaks is forced."""
    now, then = index.snapshot, previous.index.snapshot
    policies = [each.definitions.policies for each in (index, previous.index)]
    if not any(each.spec.force_after is not None for listed in policies for each in listed):
        return
    if not changes.time_tells and policies[0] == policies[1] and now.announced == then.announced:
        return
    for ref, here in previous.clusters.items():
        moving = [each for each in here.candidates if each.running not in (None, each.wanted_version)]
        cluster = now.clusters.get(ref)
        if moving and cluster is not None:
            reached.add(cluster, (each.target.owner for each in moving))


def _add_states(reached: Reached, changes: Changes, index: Index) -> None:
    """Plugins of which something else is known, and those on their clusters that read outputs."""
    for ref, name in changes.states():
        cluster = index.snapshot.clusters.get(ref)
        if cluster is not None:
            for each in index.owners_on(cluster):
                program = each.owner.program
                if each.plugin_on(cluster) == name or (program is not None and program.producers):
                    reached.add(cluster, (each.owner.object,))
