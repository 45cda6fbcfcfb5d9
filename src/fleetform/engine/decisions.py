"""Everything decided in one pass, and what the next one can reuse."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders
from fleetform.engine.options.shared import Sharing
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import Claim, ClusterDecisions, PluginDecision, PluginKey, Revision


class Plugins(Mapping[PluginKey, PluginDecision]):
    """The plugins of all clusters by organization, cluster and name, in that order.

    They are kept by cluster, so that a change on one leaves the records of all others as they are.
    """

    def __init__(self, clusters: Mapping[Ref, ClusterDecisions]) -> None:
        self._clusters = clusters

    def __getitem__(self, key: PluginKey) -> PluginDecision:
        organization, cluster, name = key
        return self._clusters[Ref("Cluster", organization, cluster)].plugins[name]

    def __iter__(self) -> Iterator[PluginKey]:
        for ref, here in self._clusters.items():
            for name in here.plugins:
                yield ref.organization, ref.name, name

    def __len__(self) -> int:
        return sum(len(here.plugins) for here in self._clusters.values())

    def items(self) -> ItemsView[PluginKey, PluginDecision]:
        return _Items(self)

    def values(self) -> ValuesView[PluginDecision]:
        return _Values(self)

    def each(self) -> Iterator[PluginDecision]:
        for here in self._clusters.values():
            yield from here.plugins.values()


class _Items(ItemsView[PluginKey, PluginDecision]):
    """Pairs, without looking each plugin up by its key."""

    _mapping: Plugins

    def __iter__(self) -> Iterator[tuple[PluginKey, PluginDecision]]:
        return zip(self._mapping, self._mapping.each(), strict=True)


class _Values(ValuesView[PluginDecision]):
    """Plugins, without looking each up by its key."""

    _mapping: Plugins

    def __iter__(self) -> Iterator[PluginDecision]:
        return self._mapping.each()


@dataclass(frozen=True, eq=False)
class Decisions:
    """Everything decided in one pass: what each cluster gets, by the cluster's reference, in order.

    index, sharing and binders are what it was decided with; the next pass takes from them what no change reaches.
    next_due is when something follows from the clock alone; openings are the times at which gates open.
    """

    clusters: Mapping[Ref, ClusterDecisions]
    index: Index
    sharing: Sharing
    binders: Binders
    next_due: datetime | None = None
    openings: frozenset[datetime] = frozenset()

    @cached_property
    def plugins(self) -> Plugins:
        return Plugins(self.clusters)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Of all clusters, by the plugin that loses."""
        found = [claim for here in self.clusters.values() for claim in here.claims]
        return tuple(sorted(found, key=lambda claim: (claim.candidate.ref, claim.cluster.ref.name, claim.claimed)))

    @property
    def overrides(self) -> tuple[Object[Any], ...]:
        """The overrides that apply at the time of the pass."""
        return tuple(self.index.overrides)

    @property
    def revisions(self) -> Mapping[tuple[str, str], Mapping[str, Revision]]:
        """By organization and name of their definition, then version."""
        return self.index.definitions.revisions

    @property
    def retired(self) -> Mapping[tuple[str, str], Mapping[str, Revision]]:
        """Those that are no longer offered and may still run."""
        return self.index.definitions.retired

    def versions_of(self, revision: Revision) -> Mapping[str, Revision]:
        """All versions known of a revision's definition."""
        return self.index.definitions.versions_of((revision.object.ref.organization, revision.object.ref.name))
