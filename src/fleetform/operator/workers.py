"""Workers: a control plane for each organization whose shard is ours, each in a thread of its own.

One that fails is begun again after a pause, and does not touch the others. A shard is let go of once every worker of it
has ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import NamedTuple, Protocol

from fleetform.operator.leases import boot_time

_LOOK = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class Worker(Protocol):
    """The control plane of one organization."""

    def run(self) -> None:
        """Works until it is stopped."""

    def stop(self) -> None:
        """Ends after the pass that runs. Any thread may ask, also before it runs."""

    def close(self) -> None: ...


class Held(Protocol):
    """Which shards are ours (`leases`)."""

    def held(self) -> frozenset[int]: ...

    def release(self, shards: frozenset[int]) -> None: ...


class _Running(NamedTuple):
    shard: int
    thread: Thread
    stop: Callable[[], None]


class _Pause(NamedTuple):
    until: float
    length: float


def shard_of(organization: str, shards: int) -> int:
    """The shard of an organization: the same for every replica."""
    return int.from_bytes(hashlib.sha256(organization.encode()).digest()[:8], "big") % shards


class Workers:
    """open_worker makes the worker of an organization, in the thread that will run it. failed is told why one ended."""

    def __init__(
        self,
        held: Held,
        shards: int,
        organizations: Callable[[], frozenset[str]],
        open_worker: Callable[[str, int], Worker],
        failed: Callable[[str, Exception], None],
        *,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self._held, self._shards = held, shards
        self._organizations, self._open, self._failed, self._clock = organizations, open_worker, failed, clock
        self._running: dict[str, _Running] = {}
        self._pauses: dict[str, _Pause] = {}
        self._had: frozenset[int] = frozenset()
        self._wake = Event()
        self.went_on_at = clock()

    def wake(self) -> None:
        """Something may be another: which shards are ours, or which organizations there are."""
        self._wake.set()

    @property
    def organizations(self) -> Mapping[str, int]:
        """Those that are worked for now, with their shards."""
        return {name: each.shard for name, each in self._running.items() if each.thread.is_alive()}

    def run(self, stop: Event) -> None:
        """Until it is told to stop; then every worker ends, and the shards are let go of."""
        while not stop.is_set():
            self.step()
            self._wake.wait(_LOOK)
            self._wake.clear()
        for each in self._running.values():
            each.stop()
        for each in self._running.values():
            each.thread.join()
        self._held.release(self._had)

    def step(self) -> None:
        self.went_on_at = self._clock()
        held = self._held.held()
        self._had |= held
        names = self._organizations()
        wanted = {name: shard for name in names if (shard := shard_of(name, self._shards)) in held}
        for name, each in list(self._running.items()):
            if name not in wanted:
                each.stop()
            if not each.thread.is_alive():
                del self._running[name]
        for name, shard in sorted(wanted.items()):
            pause = self._pauses.get(name)
            if name not in self._running and (pause is None or self._clock() >= pause.until):
                self._start(name, shard)
        lost = self._had - held - {each.shard for each in self._running.values()}
        if lost:
            self._held.release(lost)
            self._had -= lost

    def _start(self, name: str, shard: int) -> None:
        stopped = Event()
        worker: list[Worker] = []

        def stop() -> None:
            stopped.set()
            for each in worker:
                each.stop()

        def work() -> None:
            try:
                made = self._open(name, shard)
                try:
                    worker.append(made)
                    if not stopped.is_set():
                        made.run()
                finally:
                    made.close()
                self._pauses.pop(name, None)
            except Exception as error:
                length = min(self._pauses[name].length * 2, _LONGEST_PAUSE) if name in self._pauses else _FIRST_PAUSE
                self._pauses[name] = _Pause(self._clock() + length, length)
                self._failed(name, error)

        thread = Thread(target=work, name=f"organization {name}", daemon=True)
        self._running[name] = _Running(shard, thread, stop)
        thread.start()
