"""Homes: where an owner's plugins are, and which of its groups each cluster is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.engine.index.layers import Group, Owner
from fleetform.engine.index.prepare import Cluster, Prepared
from fleetform.model.objects import Ref
from fleetform.syntax.names import generated_name
from fleetform.syntax.selectors import any_matches

Groups = tuple[Group, ...]
Home = tuple[Cluster, str, Groups]


def homes(prepared: Prepared, owner: Owner, clusters: set[Cluster] | None = None) -> Iterator[Home]:
    """The clusters an owner wants its plugin on (of all, or of some), the plugin's name there, and its groups."""
    object_ = owner.object
    if object_.ref.kind == "Plugin":
        ref = Ref("Cluster", object_.ref.organization, object_.spec.cluster_name or "")
        home = prepared.snapshot.clusters.get(ref)
        if home is not None and (clusters is None or home in clusters):
            yield home, object_.ref.name, ()
        return
    preset = object_.ref.name
    for cluster, groups in _selected(prepared, owner, clusters):
        yield cluster, generated_name(preset, cluster.ref.name), groups


def _selected(prepared: Prepared, owner: Owner, clusters: set[Cluster] | None) -> Iterator[tuple[Cluster, Groups]]:
    if owner.groups_are_homes:
        placed = last_placements(prepared, owner)
        yield from (pair for pair in placed.items() if clusters is None or pair[0] in clusters)
        return
    groups = _Groups(prepared, owner)
    for cluster in _members(prepared, owner, clusters):
        yield cluster, groups.of(cluster)


def _members(prepared: Prepared, owner: Owner, clusters: set[Cluster] | None) -> Iterable[Cluster]:
    organization = owner.object.ref.organization
    if owner.placement is not None:
        chosen = prepared.placements.chosen(organization, owner.placement)
        return chosen if clusters is None else [each for each in chosen if each in clusters]
    candidates = prepared.clusters.get(organization, ()) if clusters is None else clusters
    return [each for each in candidates if any_matches(owner.matchers, each.ref.name, each.labels)]


def last_placements(prepared: Prepared, owner: Owner) -> dict[Cluster, Groups]:
    """In Open Cluster Management the last placement that chooses a cluster counts, whole (R1-17).

    An add-on that was made there by hand, outside of every placement, starts from the defaults.
    """
    organization = owner.object.ref.organization
    found: dict[Cluster, Groups] = {}
    for cluster in prepared.clusters_with_instance(owner.object.ref):
        found[cluster] = ()
    for group in owner.groups:
        found.update(dict.fromkeys(prepared.placements.chosen(organization, group.placement or ""), (group,)))
    return found


class _Groups:
    """Which groups of an owner a cluster is in; clusters in the same groups share one answer."""

    def __init__(self, prepared: Prepared, owner: Owner) -> None:
        organization = owner.object.ref.organization
        self._groups = [
            (each, prepared.placements.members(organization, each.placement) if each.placement is not None else None)
            for each in owner.groups
        ]
        self._known: dict[Groups, Groups] = {}

    def of(self, cluster: Cluster) -> Groups:
        if not self._groups:
            return ()
        found = tuple([each for each, members in self._groups if self._holds(each, members, cluster)])
        return self._known.setdefault(found, found)

    def _holds(self, group: Group, members: frozenset[Cluster] | None, cluster: Cluster) -> bool:
        if members is not None:
            return cluster in members
        return any_matches(group.matchers, cluster.ref.name, cluster.labels)
