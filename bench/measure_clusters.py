"""Work on many clusters of which some do not answer: what the others get done, beside the same without those."""

from __future__ import annotations

import time
from functools import partial
from itertools import count
from threading import Event
from typing import Any

from bench.table import Row, at_most, plainly
from fleetform.clusters.work import ClusterKey, Clusters, Waiting
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError

TITLE = "Clusters: work on 300 clusters at once, some of which do not answer"
CLUSTERS = 300
PIECES = 60
REQUESTS = 10
_ANSWER = 0.004
_SILENCE = 10.0


class _Cluster(Client):
    """A client whose cluster answers after some milliseconds, or not at all once it is gone."""

    def __init__(self, access: Access, gone: Event | None) -> None:
        # No connection: what is measured is who waits for whom.
        self.access, self._gone = access, gone

    def close(self) -> None:
        """There is nothing to close."""

    def raw(self, method: str, path: str, *rest: Any, seconds: float | None = None, **more: Any) -> bytes:
        if self._gone is not None and self._gone.is_set():
            time.sleep(seconds or _SILENCE)
            raise BusyError("timed out", timed_out=True)
        time.sleep(_ANSWER)
        return b"{}"


def rows() -> list[Row]:
    always, midway = Event(), Event()
    always.set()
    plain = _per_second(0, None)
    found = [plainly(f"pieces of {REQUESTS} requests a second, all answer", plain, "")]
    for what, gone in (("do not answer from the start", always), ("stop answering midway", midway)):
        part = _per_second(CLUSTERS // 10, gone)
        found.append(at_most(f"10 % {what}: throughput that the others lose", (1 - part / plain) * 100, 5, "%"))
    return found


def _per_second(gone: int, when: Event | None) -> float:
    """Pieces a second on the clusters that answer, as many of these each time."""
    keys: list[ClusterKey] = [("acme", str(number)) for number in range(CLUSTERS)]
    silent = [("acme", f"gone-{number}") for number in range(gone)]
    clusters = Clusters(connect=lambda access: _Cluster(access, when if "gone" in access.server else None))
    whole, ended, all_done = CLUSTERS * PIECES, count(1), Event()

    def work(answers: bool, client: Client) -> Waiting[None]:
        yield from ()
        for _ in range(REQUESTS):
            client.raw("PATCH", "/")
        if answers:
            so_far = next(ended)
            if when is not None and so_far == whole // 10:
                when.set()
            if so_far == whole:
                all_done.set()

    begun = time.perf_counter()
    for number in range(PIECES):
        for key in (*silent, *keys):
            piece = partial(work, key not in silent)
            clusters.outcome(key, Access(f"https://{key[1]}"), (key, number), number, piece)
    all_done.wait()
    took = time.perf_counter() - begun
    clusters.close()
    return whole / took
