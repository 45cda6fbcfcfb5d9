"""Workload clusters: how they are reached, what is applied to them, and how that is doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fleetform.app.fleet import Fleet
    from fleetform.clusters.work import Connect, Load
    from fleetform.deliver.kubernetes.delivery import KubernetesDeliveries
    from fleetform.loop.reaching import ClusterAccess
    from fleetform.loop.records import Destination
    from fleetform.observe.applied import AppliedObserver
    from fleetform.observe.reading import ClusterReading
    from fleetform.outside.kubernetes.access import Access
    from fleetform.ports.delivery import Deliverer
    from fleetform.ports.observing import Observer


class WorkloadClusters(NamedTuple):
    """Everything that is done on workload clusters; load is how much that is, close lets go of them."""

    access: ClusterAccess
    deliveries: KubernetesDeliveries
    observer: AppliedObserver
    reader: ClusterReading
    load: Callable[[], Load]
    close: Callable[[], None]

    def deliverer(self, destination: Destination) -> Deliverer:
        from fleetform.deliver.kubernetes.apply import ApplyOptions

        cluster = destination.cluster
        setting = f"delivery.{destination.through}.adopt"
        options = ApplyOptions(destination.drift, destination.adopt, setting=setting, retain=destination.retain)
        return self.deliveries.to(cluster, self.access.of(cluster), destination.namespace, options)


def open_clusters(
    fleet: Callable[[], Fleet | None],
    worked: Callable[[], None],
    otherwise: Observer,
    kubeconfig: str | None = None,
    accounts_in: str | None = None,
    connect: Connect | None = None,
    hub: Access | None = None,
) -> WorkloadClusters:
    """worked is called whenever something was done on a cluster; otherwise observes what is not applied to one.

    kubeconfig, accounts_in and hub are ClusterAccess's. connect makes the client of a cluster: one that may not write
    while another process leads, say.
    """
    # Imported where it is needed: most control planes of a trial reach no cluster.
    from fleetform.clusters.work import Clusters
    from fleetform.deliver.kubernetes.delivery import KubernetesDeliveries
    from fleetform.loop.reaching import ClusterAccess
    from fleetform.observe.applied import AppliedObserver
    from fleetform.observe.reading import ClusterReading

    clusters = Clusters(worked, connect)
    access = ClusterAccess(fleet, kubeconfig, accounts_in, hub)
    observer = AppliedObserver(clusters, access.of, otherwise)
    reader = ClusterReading(clusters, access.of)
    deliveries = KubernetesDeliveries(clusters)
    return WorkloadClusters(access, deliveries, observer, reader, clusters.load, clusters.close)
