"""Which plugins there are: the owners that select a cluster, the groups it is in, and the plugin's name there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fleetform.engine.index.clusters import Cluster, ClusterIndex
from fleetform.engine.index.instances import Instances
from fleetform.engine.index.reach import Numbers, SelectorIndex
from fleetform.engine.layers.owners import Group, Owner
from fleetform.engine.placement.placements import Placements
from fleetform.syntax.names import generated_name
from fleetform.syntax.selectors import Matchers, any_matches

Groups = tuple[Group, ...]


class Selected(NamedTuple):
    """An owner that selects a cluster, and the owner's groups that the cluster is in."""

    owner: Owner
    groups: Groups

    def plugin_on(self, cluster: Cluster) -> str:
        """The name of the owner's plugin on a cluster (S8)."""
        name = self.owner.object.ref.name
        return name if self.owner.by_hand else generated_name(name, cluster.ref.name)


class Selection:
    """Answers which owners of an organization select a cluster, and which clusters an owner selects.

    Owners that select by labels or names are indexed together with their groups. Owners with a placement are asked one
    by one: a placement chooses from all clusters at once, so that no selector says which.
    """

    def __init__(
        self, owners: Iterable[Owner], clusters: ClusterIndex, placements: Placements, instances: Instances
    ) -> None:
        """Owners come oldest first, and so do those that select a cluster."""
        self._clusters, self._placements, self._instances = clusters, placements, instances
        self._age: dict[Owner, int] = {}
        self._by_hand: dict[str, list[Owner]] = {}
        self._placed: list[Owner] = []
        # Whether an owner may be kept from clusters of other namespaces.
        self._at_home = False
        self.asks_placements = False
        # What each number of the selector index means: an owner, or a group of one.
        meaning: list[tuple[Owner, Group | None]] = []
        selectors: list[Matchers] = []
        for age, owner in enumerate(owners):
            self._age[owner] = age
            self._at_home |= owner.object.conventions.own_namespace
            self.asks_placements |= bool(owner.placements)
            if owner.by_hand:
                self._by_hand.setdefault(owner.cluster, []).append(owner)
            elif owner.placements or owner.placed_by_groups or owner.placed_by_plugins:
                self._placed.append(owner)
            else:
                meaning += [(owner, None), *((owner, group) for group in owner.groups)]
                selectors += [owner.matchers, *(group.matchers for group in owner.groups)]
        self._selectors = SelectorIndex(selectors, lambda numbers: _selected(meaning, numbers))
        # Most passes ask for the same clusters again.
        self._on: dict[Cluster, Iterable[Selected]] = {}

    def on(self, cluster: Cluster) -> Iterable[Selected]:
        """The owners that have a plugin on a cluster, the oldest first: of two claims the older one's counts (B23)."""
        found = self._on.get(cluster)
        if found is None:
            found = self._on[cluster] = self._find_on(cluster)
        return found

    def _find_on(self, cluster: Cluster) -> Iterable[Selected]:
        by_hand = self._by_hand.get(cluster.ref.name, ())
        if is_going(cluster):
            return [Selected(owner, ()) for owner in by_hand]
        by_labels = self._selectors.of(cluster)
        if cluster.conventions.own_namespace:
            by_labels = tuple(each for each in by_labels if each.owner.may_select(cluster))
        if not by_hand and not self._placed:
            return by_labels
        found = [*by_labels, *(Selected(owner, ()) for owner in by_hand)]
        for owner in self._placed:
            groups = self._groups_of(owner, cluster)
            if groups is not None:
                found.append(Selected(owner, groups))
        return sorted(found, key=lambda each: self._age[each.owner])

    def _groups_of(self, owner: Owner, cluster: Cluster) -> Groups | None:
        """The groups of an owner with placements that a cluster is in; None where the owner does not select it."""
        organization, name, labels = owner.object.ref.organization, cluster.ref.name, cluster.labels
        groups = [
            group
            for group in owner.groups
            if (
                cluster in self._placements.members(organization, group.placement)
                if group.placement is not None
                else any_matches(group.matchers, name, labels)
            )
        ]
        if owner.placed_by_groups:
            # The last placement that chooses a cluster counts, whole (R1-17), and outside of them all there is no
            # plugin, also if somebody wrote one (R1-18).
            return owner.shared_groups(groups[-1:]) if groups else None
        if owner.placed_by_plugins:
            return () if name in self._instances.clusters_of(owner.object.ref) else None
        if owner.placement is not None:
            selects = cluster in self._placements.members(organization, owner.placement)
        else:
            selects = any_matches(owner.matchers, name, labels)
        return owner.shared_groups(groups) if selects else None

    def clusters_of(self, owner: Owner) -> Iterable[Cluster]:
        """The clusters on which an owner has a plugin."""
        organization = owner.object.ref.organization
        clusters = self._clusters.of(organization)
        if owner.by_hand:
            return [clusters[owner.cluster]] if owner.cluster in clusters else []
        return [each for each in self._selected_by(owner) if not is_going(each)]

    def _selected_by(self, owner: Owner) -> Iterable[Cluster]:
        """The clusters that a preset selects, those among them that are being deleted."""
        organization = owner.object.ref.organization
        clusters = self._clusters.of(organization)
        if owner.placed_by_groups:
            chosen = [self._placements.members(organization, group.placement or "") for group in owner.groups]
            return frozenset[Cluster]().union(*chosen)
        if owner.placed_by_plugins:
            return [clusters[each] for each in self._instances.clusters_of(owner.object.ref) if each in clusters]
        if owner.placement is not None:
            return self._placements.members(organization, owner.placement)
        matching = self._clusters.matching(organization, owner.matchers)
        return [each for each in matching if owner.may_select(each)] if self._at_home else matching

    def clusters_in(self, owner: Owner, group: Group) -> Iterable[Cluster]:
        """The clusters that a group of an owner selects."""
        organization = owner.object.ref.organization
        if group.placement is not None:
            return self._placements.members(organization, group.placement)
        return self._clusters.matching(organization, group.matchers)


def _selected(meaning: Sequence[tuple[Owner, Group | None]], numbers: Numbers) -> tuple[Selected, ...]:
    """The owners that numbers of the selector index mean, each with those of its groups that they mean."""
    groups: dict[Owner, list[Group]] = {}
    for owner, group in [meaning[number] for number in numbers]:
        if group is not None:
            groups.setdefault(owner, []).append(group)
    owners = [owner for owner, group in [meaning[number] for number in numbers] if group is None]
    return tuple([Selected(owner, owner.shared_groups(groups.get(owner, ()))) for owner in owners])


def is_going(cluster: Cluster) -> bool:
    """Whether a cluster is being deleted: presets leave it alone, and what runs there goes with it."""
    return cluster.metadata.deletion_timestamp is not None
