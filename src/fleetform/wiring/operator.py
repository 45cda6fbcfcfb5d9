"""The operator: everything that runs in one replica of the control plane on Kubernetes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from fleetform.outside.boundary import Boundary
from fleetform.wiring.clock import SystemClock
from fleetform.wiring.loops import LoopParts, open_loop
from fleetform.wiring.views import stored_fleet_opener

if TYPE_CHECKING:
    from fleetform.loop.caring import Care
    from fleetform.loop.control import PassReport
    from fleetform.loop.driver import Driver
    from fleetform.operator.objects import ApiObjects
    from fleetform.operator.status.seen import Cache
    from fleetform.operator.workers import Worker
    from fleetform.outside.errors import OutsideError
    from fleetform.outside.kubernetes.access import Access
    from fleetform.outside.kubernetes.client import Client
    from fleetform.outside.listening import Listening
    from fleetform.outside.log import Log
    from fleetform.ports.store import StoreError

# Watches hold a connection each: one for every kind that is followed.
_FOLLOWING = 96


class OperatorSettings(NamedTuple):
    """namespace is the operator's own, where its leases and its state are. state_folder holds this replica's copies.

    admission is where reviews are answered, None if nowhere; admission_url how API servers reach that if not by the
    Service. certificates is a folder with one that somebody else renews; without it the operator makes its own.
    accounts_in is how clusters are reached (loop/reaching). sources_folder is the one folder of this machine that
    definitions may name; without it, none.
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


class OperatorLog(NamedTuple):
    """What is told: of one organization's control plane, and of the operator itself."""

    told: Callable[[str], Callable[[PassReport], None]]
    failed: Callable[[str, Exception], None]
    cared: Callable[[Care], None]
    said: Callable[[str], None]
    log: Log


class Operator:
    """One replica. run works until stop is set; then work ends, shards are handed over, and everything is closed."""

    def __init__(self, settings: OperatorSettings, log: OperatorLog) -> None:
        # Imported where it is needed: no other command is an operator.
        from fleetform.operator.fleets import CurrentFleet, with_approvers
        from fleetform.operator.leases import Shards
        from fleetform.operator.objects import ApiObjects
        from fleetform.operator.revisions import EarlierVersions
        from fleetform.operator.workers import Workers
        from fleetform.outside.kubernetes.client import Client

        self._settings, self._log = settings, log
        self._client = Client(settings.access)
        # Requests for leases must not wait behind others, nor for long.
        self._leasing = Client(settings.access, timeout=5.0)
        self._following = Client(settings.access, connections=_FOLLOWING)
        self._drivers: dict[str, Driver] = {}
        self._lock = Lock()
        self._clock = SystemClock(None)
        self._objects = ApiObjects(self._following, self._changed, log.said)
        self._shown: Cache | None = None
        self._opening = Lock()
        boundary = Boundary.of_folder(settings.sources_folder)
        opener = stored_fleet_opener([], None, self._clock, "none", settings.plugin_folder, with_approvers, boundary)
        self._earlier = EarlierVersions(
            self._following,
            lambda: self._fleet.wake(),
            lambda error: log.said(f"revisions of definitions cannot be followed: {error.message}"),
        )
        self._fleet = CurrentFleet(self._objects, self._earlier, opener, self._clock.now)
        self._shards = Shards(
            self._leasing,
            settings.namespace,
            settings.shards,
            lambda: self._workers.wake(),
            identity=os.environ.get("HOSTNAME", ""),
        )
        self._workers = Workers(self._shards, settings.shards, self._ready_organizations, self._open_worker, log.failed)

    @property
    def identity(self) -> str:
        return self._shards.identity

    def run(self, stop: Event) -> None:
        ended = Event()
        closing = self._serve_admission()
        self._objects.start()
        # Leases are kept until the work has ended; what tells admission is needed as long as it answers.
        leasing = Thread(target=self._shards.run, args=(ended,), name="leases", daemon=True)
        reading = Thread(target=self._fleet.run, args=(ended,), name="fleet", daemon=True)
        following = Thread(target=self._earlier.run, args=(ended,), name="revisions", daemon=True)
        for each in (leasing, reading, following):
            each.start()
        try:
            self._workers.run(stop)
        finally:
            ended.set()
            leasing.join()
            for close in closing:
                close()
            self._objects.stop()
            if self._shown is not None:
                self._shown.stop()

    def _changed(self) -> None:
        """Something on the API server is another: whoever reads it looks again."""
        self._fleet.wake()
        self._workers.wake()
        with self._lock:
            drivers = list(self._drivers.values())
        for each in drivers:
            each.wake(source_changed=True)

    def _ready_organizations(self) -> frozenset[str]:
        """None before everything was listed once: nobody works on a part of the fleet."""
        return self._objects.organizations() if self._objects.is_whole else frozenset(self._drivers)

    # ---- Organizations

    def _open_worker(self, organization: str, shard: int) -> Worker:
        may_write = self._may_write(shard)
        made = _Organization(self._settings, self._log, self._objects, self._cache(), organization, may_write)
        with self._lock:
            self._drivers[organization] = made.driver
        made.closing.append(lambda: self._forget(organization))
        return made

    def _cache(self) -> Cache:
        """What is told on the API server, for all organizations; followed from when the first of them is worked for."""
        from fleetform.operator.status.seen import Cache
        from fleetform.operator.status.showing import FOLLOWED

        with self._opening:
            if self._shown is None:
                self._shown = Cache(self._following, FOLLOWED, self._not_followed)
                self._shown.start()
            return self._shown

    def _not_followed(self, kind: str, error: OutsideError) -> None:
        self._log.said(f"what {kind} objects tell cannot be followed: {error.message}")

    def _may_write(self, shard: int) -> Callable[[], bool]:
        return lambda: self._shards.may_write(shard)

    def _forget(self, organization: str) -> None:
        with self._lock:
            self._drivers.pop(organization, None)

    def _serve_admission(self) -> Sequence[Callable[[], None]]:
        """What ends it."""
        from fleetform.operator.admission.manifests import Installed
        from fleetform.operator.admission.running import RunningAdmission

        settings = self._settings
        if settings.admission is None:
            return ()
        mounted = settings.certificates is not None
        folder = Path(settings.certificates or os.path.join(settings.state_folder, "certificates"))
        if not mounted:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        installed = Installed(settings.namespace, url=settings.admission_url, name=_own_name(self._client))
        running = RunningAdmission(
            self._fleet.get,
            settings.access,
            installed,
            settings.admission,
            folder,
            "mounted" if mounted else "self",
            log=self._log.log,
        )
        return (running.close,)


class _Organization:
    """The control plane of one organization (`operator/workers`)."""

    def __init__(
        self,
        settings: OperatorSettings,
        log: OperatorLog,
        objects: ApiObjects,
        cache: Cache,
        organization: str,
        may_write: Callable[[], bool],
    ) -> None:
        from fleetform.clusters.work import connected
        from fleetform.operator.fleets import with_approvers
        from fleetform.operator.source import OrganizationSource
        from fleetform.operator.status.showing import StatusWriter
        from fleetform.outside.kubernetes.client import Client
        from fleetform.store.cells import SecretCells
        from fleetform.store.kubernetes import KubernetesStore

        self._log, self._organization = log, organization
        self._client = Client(settings.access, may_write=may_write)
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

        def show(report: PassReport) -> None:
            told(report)
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
                log.said,
                interval=settings.interval,
                output_folder=None,
                plugin_folder=settings.plugin_folder,
                private_endpoints=settings.private_endpoints,
                accounts_in=settings.accounts_in,
                hub=settings.access,
                boundary=boundary,
                connect=partial(connected, may_write=may_write),
            )
        )
        self._status = StatusWriter(
            self._client,
            cache,
            clock.now,
            organization=organization,
            failed=lambda what, error: log.said(f"{what} cannot be shown: {error.message}"),
        )
        self.closing: list[Callable[[], None]] = []

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
        from fleetform.store.journal import SupersededError

        self._log.failed(self._organization, error)
        if isinstance(error, SupersededError):
            # Another replica works for it now.
            self._superseded = error
            self._loop.driver.stop()


def store_name(organization: str) -> str:
    """What the state of an organization is called: a name for Secrets and files, whatever the organization's is."""
    return f"{organization[:30].rstrip('-.')}-{hashlib.sha256(organization.encode()).hexdigest()[:8]}"


def _own_name(client: Client) -> str:
    """The user that our own requests are made as, by which admission knows them."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
    return str(client.create(review)["status"]["userInfo"]["username"])
