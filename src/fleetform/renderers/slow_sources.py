"""Sources that are fetched beside whoever renders: one that takes long is not waited for, and is there another time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Event, Lock, Thread
from typing import Generic, TypeVar

from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object

Definition = Object[PluginDefinitionSpec]
Answer = TypeVar("Answer")
Obtain = Callable[[Definition], Answer]

# So many sources are fetched at once.
_THREADS = 16
# What nobody asked for again after so many seconds is forgotten.
_KEPT = 3600.0


@dataclass(eq=False)
class _Fetch(Generic[Answer]):
    """A source that is fetched. The definition is kept, so that no other one gets its identity."""

    definition: Definition
    since: float
    over: Event = field(default_factory=Event)
    answer: Answer | None = None
    bug: BaseException | None = None


class SlowSources(Generic[Answer]):
    """patience is for how many seconds those of one question are waited for, all together."""

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._clock = patience, clock
        self._lock = Lock()
        self._places = BoundedSemaphore(_THREADS)
        self._fetches: dict[int, _Fetch[Answer]] = {}

    def obtain(
        self, definitions: Sequence[Definition], begin: Callable[[], AbstractContextManager[Obtain[Answer]]]
    ) -> list[Answer | None]:
        """What came of each; None of what takes longer, which goes on: who asks again gets it then.

        begin gives what obtains one of those that are not under way yet, for as long as any of them is.
        """
        with self._lock:
            now = self._clock()
            kept = {id_: each for id_, each in self._fetches.items() if now - each.since < _KEPT}
            new = {id(each): _Fetch[Answer](each, now) for each in definitions if id(each) not in kept}
            self._fetches = kept | new
            asked = [self._fetches[id(each)] for each in definitions]
        if new:
            Thread(target=self._begin, args=(list(new.values()), begin), name="sources", daemon=True).start()
        until = time.monotonic() + self._patience
        return [self._answer(each) if each.over.wait(max(until - time.monotonic(), 0)) else None for each in asked]

    def _answer(self, fetch: _Fetch[Answer]) -> Answer | None:
        with self._lock:
            self._fetches.pop(id(fetch.definition), None)
        if fetch.bug is not None:
            raise fetch.bug
        return fetch.answer

    def _begin(
        self, fetches: Sequence[_Fetch[Answer]], begin: Callable[[], AbstractContextManager[Obtain[Answer]]]
    ) -> None:
        with begin() as obtain:
            for each in fetches:
                self._places.acquire()
                Thread(target=self._fetch, args=(each, obtain), name="source", daemon=True).start()
            for each in fetches:
                each.over.wait()

    def _fetch(self, fetch: _Fetch[Answer], obtain: Obtain[Answer]) -> None:
        try:
            fetch.answer = obtain(fetch.definition)
        except BaseException as error:
            # It is raised where the source is asked for.
            fetch.bug = error
        finally:
            self._places.release()
            fetch.over.set()
