"""The operator: everything that runs in one replica of the control plane on Kubernetes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from fleetform.operator.admission.manifests import Installed
from fleetform.operator.admission.running import RunningAdmission
from fleetform.operator.fleets import CurrentFleet, with_approvers
from fleetform.operator.health import Health, Need, Vital
from fleetform.operator.leases import Shards
from fleetform.operator.metrics import OperatorMetrics, Replica, Requests
from fleetform.operator.objects import ApiObjects
from fleetform.operator.revisions import EarlierVersions
from fleetform.operator.status.seen import Cache
from fleetform.operator.status.showing import FOLLOWED
from fleetform.operator.workers import Worker, Workers
from fleetform.outside.boundary import Boundary
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import reason
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.records import prepare_records
from fleetform.wiring.clock import SystemClock
from fleetform.wiring.organizations import OperatorLog, OperatorSettings, Organization
from fleetform.wiring.views import stored_fleet_opener

if TYPE_CHECKING:
    from fleetform.loop.driver import Driver

# Watches hold a connection each: one for every kind that is followed, and two for every organization. With fewer, lists
# would wait for ever.
_FOLLOWING = 4096
# For how many seconds threads may not go on before a replica is taken for stuck: a round of leases and workers is a few
# requests, while reading a fleet anew may take a while.
_LONGEST_ROUND, _LONGEST_READING = 60.0, 600.0


class Operator:
    """One replica. run works until stop is set; then work ends, shards are handed over, and everything is closed."""

    def __init__(self, settings: OperatorSettings, log: OperatorLog) -> None:
        self._settings, self._log = settings, log
        self._requests = Requests()
        answered = self._requests.to("management")
        self._client = Client(settings.access, answered=answered)
        # Requests for leases must not wait behind others, nor for long: the next round asks again.
        self._leasing = Client(settings.access, timeout=5.0, tries=1, answered=answered)
        self._following = Client(settings.access, connections=_FOLLOWING, answered=answered)
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
        self._admission: RunningAdmission | None = None
        self.metrics = OperatorMetrics(Replica(settings.shards, self._shards.held, self._restarts), self._requests)
        self._ended = Event()
        self._leases = Thread(target=self._shards.run, args=(self._ended,), name="leases", daemon=True)
        self._reading = Thread(target=self._fleet.run, args=(self._ended,), name="fleet", daemon=True)
        self.health = Health()

    @property
    def identity(self) -> str:
        return self._shards.identity

    def run(self, stop: Event) -> None:
        prepare_records()
        self._admission = self._serve_admission()
        self._objects.start()
        self._earlier.start(self._ended)
        self._leases.start()
        self._reading.start()
        self._begin_health(stop)
        try:
            self._workers.run(stop)
        finally:
            # Leases are kept until the work has ended; what tells admission is needed as long as it answers.
            self._ended.set()
            self._leases.join()
            if self._admission is not None:
                self._admission.close()
            self._objects.stop()
            if self._shown is not None:
                self._shown.stop()

    def _begin_health(self, stop: Event) -> None:
        admission, fleet, shards, workers = self._admission, self._fleet, self._shards, self._workers
        vitals = [
            Vital("the thread of leases", self._leases.is_alive, lambda: shards.went_on_at, _LONGEST_ROUND),
            Vital("what starts workers", lambda: True, lambda: workers.went_on_at, _LONGEST_ROUND),
            Vital("what reads the fleet", self._reading.is_alive, lambda: fleet.went_on_at, _LONGEST_READING),
            Vital("what follows objects", lambda: self._objects.is_alive),
            Vital("what follows revisions", lambda: self._earlier.is_alive),
            Vital("what follows statuses", lambda: self._shown is None or self._shown.is_alive),
        ]
        needs = [Need(lambda: fleet.get() is not None, "the fleet was not read yet")]
        if admission is not None:
            vitals.append(Vital("what renews certificates", lambda: admission.is_alive))
            needs.append(Need(lambda: admission.answers, "admission does not answer"))
        self.health.begin(vitals, needs, stop.is_set)

    def _restarts(self) -> Mapping[str, int]:
        """How often watches could not go on, by kind."""
        found = Counter(self._objects.restarts())
        found.update(self._earlier.restarts())
        found.update(self._shown.restarts() if self._shown is not None else {})
        return found

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
        made = Organization(
            self._settings,
            self._log,
            self._objects,
            self._cache(),
            self.metrics,
            self._requests,
            organization,
            may_write,
        )
        with self._lock:
            self._drivers[organization] = made.driver
        made.closing.append(lambda: self._forget(organization))
        return made

    def _cache(self) -> Cache:
        """What is told on the API server, for all organizations; followed from when the first of them is worked for."""
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

    def _serve_admission(self) -> RunningAdmission | None:
        settings = self._settings
        if settings.admission is None:
            return None
        mounted = settings.certificates is not None
        folder = Path(settings.certificates or os.path.join(settings.state_folder, "certificates"))
        installed = Installed(settings.namespace, url=settings.admission_url, name=_own_name(self._client))
        try:
            if not mounted:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return RunningAdmission(
                self._fleet.get,
                settings.access,
                installed,
                settings.admission,
                folder,
                "mounted" if mounted else "self",
                settings.client_ca,
                log=self._log.log,
                answered=self.metrics.reviewed,
            )
        except OSError as error:
            message = f"the certificate of the admission endpoint in {folder} cannot be used: {reason(error)}"
            raise OutsideError(message, "it needs tls.crt and tls.key, in PEM and of one pair") from error


def _own_name(client: Client) -> str:
    """The user that our own requests are made as, by which admission knows them."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
    return str(client.create(review)["status"]["userInfo"]["username"])
