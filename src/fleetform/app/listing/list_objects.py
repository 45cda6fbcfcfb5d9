"""Clusters, definitions, catalogs, and kinds that have no status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listed_objects import (
    CatalogSourceStatus,
    CatalogStatus,
    ClusterStatus,
    DefinitionStatus,
    ListedCatalog,
    ListedCluster,
    ListedDefinition,
)


def list_clusters(fleet: Fleet, scope: Scope) -> Iterator[ListedCluster]:
    plugins = Counter(plugin.cluster for plugin in fleet.decisions.plugins.values())
    blocked = Counter(plugin.cluster for plugin in fleet.decisions.plugins.values() if plugin.blocked_by)
    for cluster in fleet.snapshot.clusters.values():
        if scope.holds_cluster(cluster.ref, cluster.labels):
            status = ClusterStatus(plugins=plugins[cluster], blocked=blocked[cluster])
            yield ListedCluster(**structs.asdict(listed_object(cluster)), status=status)


def list_definitions(fleet: Fleet, scope: Scope) -> Iterator[ListedDefinition]:
    used = Counter(
        plugin.target.revision.object for plugin in scope.plugins(fleet) if plugin.target.revision is not None
    )
    for definition in fleet.snapshot.definitions.values():
        if scope.offers(definition.ref):
            status = DefinitionStatus(plugins=used[definition])
            yield ListedDefinition(**structs.asdict(listed_object(definition, fleet.decisions.index)), status=status)


def list_catalogs(fleet: Fleet, scope: Scope) -> Iterator[ListedCatalog]:
    """Catalogs with what is known of each of their sources; those of the platform serve everybody."""
    for object_ in fleet.snapshot.others.values():
        if object_.ref.kind == "Catalog" and object_.spec is not None and scope.offers(object_.ref):
            readings = fleet.catalog_definitions.sources.get(object_.ref, [])
            offered = {
                (each.document.tree.get("metadata") or {}).get("name")
                for reading in readings
                for each in reading.entries
                if not each.retired
            }
            sources = [
                CatalogSourceStatus(
                    source=reading.title,
                    revision=reading.revision or None,
                    versions=sum(not each.retired for each in reading.entries),
                    gone=sum(each.retired for each in reading.entries),
                    read_at=reading.read,
                    failed_since=reading.failed,
                    error=reading.error or None,
                    next_look_at=reading.next_look,
                    problems=list(reading.problems),
                    changed=list(reading.changed),
                )
                for reading in readings
            ]
            status = CatalogStatus(definitions=len(offered), sources=sources)
            yield ListedCatalog(**structs.asdict(listed_object(object_)), status=status)


def listing_of(*names: str) -> Callable[[Fleet, Scope], Iterator[Listed]]:
    """Kinds whose objects have no status."""

    def getter(fleet: Fleet, scope: Scope) -> Iterator[Listed]:
        for object_ in (*fleet.snapshot.organizations.values(), *fleet.snapshot.others.values()):
            if object_.ref.kind in names and object_.spec is not None and scope.offers(object_.ref):
                yield listed_object(object_)

    return getter
