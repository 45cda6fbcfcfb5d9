"""Polling: a source elsewhere is fetched beside the loop, which goes on meanwhile and is woken afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread

# Many control planes started at once must not ask at once for ever.
_JITTER = 0.1


class Poller:
    """Fetches once in an interval, and at once when somebody says that there is something new. fetch does not raise."""

    def __init__(
        self,
        fetch: Callable[[], None],
        fetched: Callable[[], None],
        interval: timedelta,
        chance: Callable[[float, float], float],
    ) -> None:
        self._fetch, self._fetched = fetch, fetched
        self._interval, self._chance = interval.total_seconds(), chance
        self._hint, self._stop = Event(), Event()
        self._thread = Thread(target=self._run, daemon=True, name="fleetform poller")

    def start(self) -> None:
        self._thread.start()

    def hint(self) -> None:
        """Do not wait any longer."""
        self._hint.set()

    def stop(self) -> None:
        """A fetch that runs is not waited for."""
        self._stop.set()
        self._hint.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._hint.clear()
            self._fetch()
            if not self._stop.is_set():
                self._fetched()
            self._hint.wait(self._interval * self._chance(1 - _JITTER, 1 + _JITTER))
