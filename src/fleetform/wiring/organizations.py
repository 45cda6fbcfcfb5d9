"""One organization's control plane in a replica: its loop over objects of the API server, and its status there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fleetform.clusters.work import connected
from fleetform.loop.metrics import Metrics
from fleetform.operator.advice import with_kubectl
from fleetform.operator.fleets import with_approvers
from fleetform.operator.source import OrganizationSource
from fleetform.operator.status.showing import StatusWriter
from fleetform.outside.boundary import Boundary
from fleetform.outside.kubernetes.client import Client
from fleetform.store.cells import SecretCells
from fleetform.store.journal import SupersededError
from fleetform.store.kubernetes import KubernetesStore
from fleetform.store.sqlite_reader import SqliteReader
from fleetform.wiring.clock import SystemClock
from fleetform.wiring.loops import LoopParts, open_loop
from fleetform.wiring.views import stored_fleet_opener

if TYPE_CHECKING:
    from fleetform.loop.caring import Care
    from fleetform.loop.control import PassReport
    from fleetform.loop.driver import Driver
    from fleetform.operator.metrics import OperatorMetrics, Requests
    from fleetform.operator.objects import ApiObjects
    from fleetform.operator.status.seen import Cache
    from fleetform.outside.kubernetes.access import Access
    from fleetform.outside.listening import Listening
    from fleetform.outside.log import Log
    from fleetform.ports.store import StoreError


class OperatorSettings(NamedTuple):
    """namespace is the operator's own, where its leases and its state are. state_folder holds this replica's copies.

    admission is where reviews are answered, None if nowhere; admission_url how API servers reach that if not by the
    Service. certificates is a folder with one that somebody else renews; without it the operator makes its own. With
    client_ca, a file, only who has a certificate by it is answered.
    accounts_in is how clusters are reached (loop/reaching). sources_folder is the one folder of this machine that
    definitions may name; without it, none. own_greenhouse: statuses of Greenhouse's Plugins are written, also where
    Greenhouse wrote them.
    """

    access: Access
    namespace: str
    state_folder: str
    shards: int = 1
    interval: timedelta = timedelta(seconds=30)
    admission: Listening | None = None
    admission_url: str | None = None
    certificates: str | None = None
    plugin_folder: str | None = None
    private_endpoints: bool = False
    accounts_in: str | None = None
    sources_folder: str | None = None
    own_greenhouse: bool = False
    client_ca: str | None = None


class OperatorLog(NamedTuple):
    """What is told: of one organization's control plane, and of the operator itself."""

    told: Callable[[str], Callable[[PassReport], None]]
    failed: Callable[[str, Exception], None]
    cared: Callable[[Care], None]
    said: Callable[[str], None]
    log: Log


class Organization:
    """The control plane of one organization (`operator/workers`)."""

    def __init__(
        self,
        settings: OperatorSettings,
        log: OperatorLog,
        objects: ApiObjects,
        cache: Cache,
        metrics: OperatorMetrics,
        requests: Requests,
        organization: str,
        may_write: Callable[[], bool],
    ) -> None:
        self._log, self._organization = log, organization
        self._client = Client(settings.access, may_write=may_write, answered=requests.to("management"))
        self._superseded: StoreError | None = None
        clock = SystemClock(None)
        boundary = Boundary.of_folder(settings.sources_folder)
        name = store_name(organization)
        path = os.path.join(settings.state_folder, f"{name}.db")
        try:
            store = KubernetesStore(path, SecretCells(self._client, settings.namespace, name))
        except BaseException:
            # It is tried again and again, with a client each time.
            self._client.close()
            raise
        told = log.told(organization)
        self._metrics = Metrics(partial(SqliteReader, path), f"{path}-wal", clock.now)

        def show(report: PassReport) -> None:
            told(report)
            self._metrics.told(report)
            self._status.show(report, self._loop.control.fleet, self._loop.control.image)

        self._loop = open_loop(
            LoopParts(
                store,
                OrganizationSource(objects, organization, lambda: self._loop.control.image.files),
                clock,
                stored_fleet_opener([], organization, clock, "due", settings.plugin_folder, with_approvers, boundary),
                f"the state of {organization}",
                show,
                self._failed,
                log.cared,
                with_kubectl,
                log.said,
                self._metrics.looked,
                interval=settings.interval,
                output_folder=None,
                plugin_folder=settings.plugin_folder,
                private_endpoints=settings.private_endpoints,
                accounts_in=settings.accounts_in,
                hub=settings.access,
                boundary=boundary,
                connect=partial(connected, may_write=may_write, answered=requests.to("workload")),
            )
        )
        self._status = StatusWriter(
            self._client,
            cache,
            clock.now,
            organization=organization,
            own_greenhouse=settings.own_greenhouse,
            said=log.said,
            failed=lambda what, error: log.said(f"{what} cannot be shown: {error.message}"),
        )
        self._metrics.load = self._loop.load
        self.closing = [metrics.works_for(organization, self._metrics, lambda: self._status.waiting)]

    @property
    def driver(self) -> Driver:
        return self._loop.driver

    def run(self) -> None:
        self._status.start()
        self._loop.driver.run()
        if self._superseded is not None:
            raise self._superseded

    def stop(self) -> None:
        self._loop.driver.stop()

    def close(self) -> None:
        for each in self.closing:
            each()
        self._status.stop()
        self._loop.close()
        self._client.close()

    def _failed(self, error: StoreError) -> None:
        self._log.failed(self._organization, error)
        self._metrics.failed(error)
        if isinstance(error, SupersededError):
            # Another replica works for it now.
            self._superseded = error
            self._loop.driver.stop()


def store_name(organization: str) -> str:
    """What the state of an organization is called: a name for Secrets and files, whatever the organization's is."""
    return f"{organization[:30].rstrip('-.')}-{hashlib.sha256(organization.encode()).hexdigest()[:8]}"
