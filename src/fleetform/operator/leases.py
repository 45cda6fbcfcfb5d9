"""Leases: which replica does the work of which shard. Run it in a thread of its own: busy cores must not lose a lease.

A lease is ours for as long as we renewed it in time, counted from before the request that did so. Whether another's has
run out is counted from when we saw it change, by our own clock: clocks of machines differ. A replica that has shards
waits a little longer before it takes another, so that they spread; one that has two more than another hands one over.

A lease is a promise among replicas that are well. What holds when one is not (frozen, and woken after hours) is that
the store refuses it (`store/journal`) and that it asks `may_write` before each request.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from threading import Event, Lock
from typing import Any, NamedTuple

from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client

_TYPE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
_WANTED = "fleetform.dev/wanted-by"


class Timing(NamedTuple):
    """In seconds. duration: others take a lease that was not renewed for so long. deadline: we stop when we could not
    renew for so long. retry: between two looks. reserve: so much later for each shard that one has it takes another."""

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 1.0
    reserve: float = 0.5


TIMING = Timing()


class _Seen(NamedTuple):
    """A lease of another as it was last seen, and since when it is so."""

    version: str
    since: float


def boot_time() -> float:
    """Seconds that go on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Shards:
    """The shards of one deployment, each with a lease. changed is told whenever others are ours than before."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        number: int,
        changed: Callable[[], None] = lambda: None,
        *,
        name: str = "fleetform",
        timing: Timing = TIMING,
        clock: Callable[[], float] = boot_time,
        identity: str = "",
    ) -> None:
        self._client, self._namespace, self._number = client, namespace, number
        self._changed, self._name, self._timing, self._clock = changed, name, timing, clock
        # New at each start: what an earlier process of this pod held is not ours.
        self.identity = f"{identity or 'replica'}-{secrets.token_hex(4)}"
        self._resource = client.resource(_TYPE["apiVersion"], _TYPE["kind"])
        self._lock = Lock()
        self._until: dict[int, float] = {}
        self._seen: dict[int, _Seen] = {}
        self._free_since: dict[int, float] = {}
        self._told: frozenset[int] = frozenset()
        # When the thread last went on: one that stands still loses its leases.
        self.went_on_at = clock()

    # ---- What the rest asks

    def held(self) -> frozenset[int]:
        """The shards that are ours now."""
        now = self._clock()
        with self._lock:
            return frozenset(shard for shard, until in self._until.items() if now < until)

    def may_write(self, shard: int) -> bool:
        now = self._clock()
        with self._lock:
            return now < self._until.get(shard, 0.0)

    # ---- What the thread does

    def run(self, stop: Event) -> None:
        """Takes and renews leases until it is told to stop; then hands over those it has."""
        while not stop.is_set():
            self.step()
            stop.wait(self._timing.retry * random.uniform(0.8, 1.2))
        self.release(range(self._number))

    def step(self) -> None:
        """Looks at each lease once."""
        self.went_on_at = self._clock()
        try:
            listed = self._client.items(self._resource, self._namespace)
            leases = {each["metadata"]["name"]: {**each, **_TYPE} for each in listed}
        except OutsideError:
            leases = None
        if leases is not None:
            found = {shard: leases.get(self._lease(shard)) for shard in range(self._number)}
            for shard, lease in found.items():
                self.went_on_at = self._clock()
                try:
                    self._look_at(shard, lease)
                except OutsideError:
                    # Somebody else was faster, or the server does not answer: the next look tells.
                    continue
            self._ask_for_one(found)
        if (held := self.held()) != self._told:
            self._told = held
            self._changed()

    def release(self, shards: Collection[int]) -> None:
        """Lets others have them at once. What runs for a shard must have ended before."""
        for shard in sorted(shards):
            with self._lock:
                ours = self._until.pop(shard, None) is not None
            if ours:
                try:
                    lease = self._client.get(self._resource, self._namespace, self._lease(shard))
                    if lease is not None and _holder(lease) == self.identity:
                        spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
                        self._client.replace({**lease, "spec": spec})
                except OutsideError:
                    # It runs out by itself.
                    continue

    def _look_at(self, shard: int, lease: dict[str, Any] | None) -> None:
        if lease is None:
            if self._is_our_turn(shard):
                self._take(shard, None)
        elif _holder(lease) == self.identity and self._is_known(shard):
            self._renew(shard, lease)
        elif _holder(lease) == self.identity or self._is_free(shard, lease):
            if self._is_our_turn(shard):
                self._take(shard, lease)
        else:
            self._free_since.pop(shard, None)

    def _is_known(self, shard: int) -> bool:
        """Whether we have it, or had it and our work for it has not ended; one that was given up may be taken anew."""
        with self._lock:
            return shard in self._until

    def _is_free(self, shard: int, lease: dict[str, Any]) -> bool:
        """Whether nobody has it: handed over, or not renewed since we saw it change, for as long as it says."""
        if not _holder(lease):
            return True
        now, version = self._clock(), lease["metadata"]["resourceVersion"]
        seen = self._seen.get(shard)
        if seen is None or seen.version != version:
            self._seen[shard] = _Seen(version, now)
            return False
        return now - seen.since >= float(lease["spec"].get("leaseDurationSeconds") or self._timing.duration)

    def _is_our_turn(self, shard: int) -> bool:
        """Who has more waits longer."""
        since = self._free_since.setdefault(shard, self._clock())
        return self._clock() - since >= len(self.held()) * self._timing.reserve

    def _take(self, shard: int, lease: dict[str, Any] | None) -> None:
        begun, now = self._clock(), _now()
        transitions = int((lease or {}).get("spec", {}).get("leaseTransitions") or 0)
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._timing.duration),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions + 1 if lease is not None else 0,
        }
        if lease is None:
            metadata = {"name": self._lease(shard), "namespace": self._namespace}
            self._client.create({**_TYPE, "metadata": metadata, "spec": spec})
        else:
            self._client.replace({**lease, "spec": spec, "metadata": _without_wish(lease["metadata"])})
        self._is_ours(shard, begun)

    def _renew(self, shard: int, lease: dict[str, Any]) -> None:
        wanted = (lease["metadata"].get("annotations") or {}).get(_WANTED)
        if wanted and wanted != self.identity and len(self.held()) > 1:
            with self._lock:
                # Until the work has ended nobody else gets it; it is not renewed any more.
                self._until[shard] = 0.0
            return
        if not self.may_write(shard):
            return
        begun = self._clock()
        self._client.replace({**lease, "spec": {**lease["spec"], "renewTime": _now()}})
        self._is_ours(shard, begun)

    def _is_ours(self, shard: int, begun: float) -> None:
        with self._lock:
            self._until[shard] = begun + self._timing.deadline
        self._free_since.pop(shard, None)
        self._seen.pop(shard, None)

    def _ask_for_one(self, leases: dict[int, dict[str, Any] | None]) -> None:
        """A replica that has at least two fewer than another asks that one for a shard."""
        ours = len(self.held())
        by_holder: dict[str, list[int]] = {}
        for shard, lease in leases.items():
            if lease is not None and _holder(lease) not in ("", self.identity):
                by_holder.setdefault(_holder(lease), []).append(shard)
        most = max(by_holder.values(), key=len, default=[])
        if len(most) < ours + 2:
            return
        wishes = [(leases[shard] or {})["metadata"].get("annotations") or {} for shard in most]
        if any(_WANTED in each for each in wishes):
            return
        patch = {"metadata": {"annotations": {_WANTED: self.identity}}}
        try:
            self._client.merge(self._resource, self._namespace, self._lease(most[-1]), patch)
        except OutsideError:
            return

    def _lease(self, shard: int) -> str:
        return f"{self._name}-shard-{shard}"


def _holder(lease: dict[str, Any]) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def _without_wish(metadata: dict[str, Any]) -> dict[str, Any]:
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != _WANTED}
    return {**metadata, "annotations": annotations}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
