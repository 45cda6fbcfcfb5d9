"""Deliveries beside the passes, for destinations that may take long to answer: a line of work for each, and a thread as
long as there is any.

A pass hands over what it wants at a place and goes on; the one that is woken when that is done takes what came of it.
What a pass hands over for a place is delivered in one go. None of this is stored: a process that begins anew hands the
same over again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Condition, Lock, Thread

from fleetform.model.results.decisions import PluginKey
from fleetform.outside.errors import OutsideError
from fleetform.ports.delivery import UNDER_WAY, Beside, Deliverer, Drift, Failure, Note, Parcel

# What was found out about drift at a place counts for so many seconds.
_LOOKED_AT_FOR = 600.0
# So many lines are worked on at once: servers take few connections of one client.
_THREADS = 24
# At the end so many seconds are given to what has begun.
_LAST = 10.0


@dataclass(eq=False)
class _Handed:
    """What was handed over of a plugin for a place, "" if it is to go from there; failure is what came of it, once it
    is done, and bug what should not have come."""

    input_hash: str
    done: bool = False
    failure: Failure | None = None
    bug: BaseException | None = None


@dataclass(eq=False)
class _Look:
    """A look for drift of some plugins at a place, over since a time of the clock. What it saw says nothing of those
    that were delivered since: they are as they were delivered until the next look."""

    keys: frozenset[PluginKey]
    delivered: frozenset[PluginKey] = frozenset()
    over: float | None = None
    found: Sequence[Drift] = ()
    error: OutsideError | None = None
    bug: BaseException | None = None


class DeliveriesBeside:
    """What is under way in all lines. woken is called by a thread whenever something is done."""

    def __init__(self, woken: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._woken, self.clock = woken, clock
        self.lock = Lock()
        self._ended = Condition(self.lock)
        self.handed: dict[PluginKey, dict[Hashable, _Handed]] = {}
        self.looks: dict[Hashable, _Look] = {}
        # The work of each line; those that nobody works on stand in the order in which they are taken.
        self._lines: dict[str, deque[Callable[[], None]]] = {}
        self._waiting: deque[str] = deque()
        self._threads = 0
        self._news = self._closed = False

    def to(self, line: str, place: Hashable, deliverer: Deliverer) -> DeliveryBeside:
        """A place of a line that a deliverer reaches. Of one line one thing is done at a time."""
        return DeliveryBeside(self, line, (line, place), deliverer)

    def is_under_way(self, key: PluginKey, input_hash: str) -> bool:
        with self.lock:
            handed = self.handed.get(key, {}).values()
            return any(each.input_hash == input_hash and not each.done for each in handed)

    def is_busy(self) -> bool:
        """Whether anything is under way, or was until after this was last asked: somebody may want to know of it."""
        with self.lock:
            news, self._news = self._news, False
            return news or bool(self._lines)

    def close(self) -> None:
        """Nothing else begins. What has begun is waited for, unless it takes long: a process that begins anew finds out
        what of it arrived."""
        with self.lock:
            self._closed = True
            while self._waiting:
                del self._lines[self._waiting.popleft()]
            self._ended.wait_for(lambda: not self._threads, _LAST)

    def put(self, line: str, work: Callable[[], None]) -> None:
        """Has something done after all else in a line. The caller holds the lock."""
        if line in self._lines:
            self._lines[line].append(work)
            return
        self._lines[line] = deque([work])
        self._waiting.append(line)
        if self._threads < _THREADS:
            self._threads += 1
            Thread(target=self._run, name="delivery", daemon=True).start()

    def _run(self) -> None:
        while (line := self._next()) is not None:
            self._lines[line][0]()
            with self.lock:
                self._lines[line].popleft()
                if self._lines[line] and not self._closed:
                    self._waiting.append(line)
                else:
                    del self._lines[line]
                self._news = True
            self._woken()

    def _next(self) -> str | None:
        """The next line that nobody works on; None if there is none, or nothing is to begin."""
        with self.lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads -= 1
            self._ended.notify_all()
            return None


class DeliveryBeside:
    """One place."""

    def __init__(self, beside: DeliveriesBeside, line: str, place: Hashable, deliverer: Deliverer) -> None:
        self._beside, self._line, self._place, self._deliverer = beside, line, place, deliverer

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        wanted = dict.fromkeys(removals, "") | {each.key: each.input_hash for each in parcels}
        found = dict.fromkeys(wanted, UNDER_WAY)
        with self._beside.lock:
            known = {key: handed for key in wanted if (handed := self._handed(key, wanted[key])) is not None}
            for key, handed in known.items():
                if handed.done:
                    self._take(key, handed, found)
            begun = {key: self._hand_over(key, wanted[key]) for key in wanted if key not in known}
            if begun:
                look = self._beside.looks.get(self._place)
                if look is not None:
                    # The others are looked at in their time, however often something is delivered beside them.
                    look.keys, look.delivered = look.keys.union(begun), look.delivered.union(begun)
                self._beside.put(self._line, partial(self._deliver, begun, parcels, removals, note))
        return found

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        """As of the last look, which is taken from time to time; OutsideError before it is over."""
        wanted, clock = frozenset(keys), self._beside.clock
        with self._beside.lock:
            look = self._beside.looks.get(self._place)
            is_old = look is not None and look.over is not None and clock() - look.over > _LOOKED_AT_FOR
            if look is None or is_old or not wanted <= look.keys:
                # With what others ask for who come to this place by another login.
                others = look.keys - wanted if look is not None else frozenset[PluginKey]()
                look = self._beside.looks[self._place] = _Look(wanted | others)
                self._beside.put(self._line, partial(self._look, look, [*keys, *sorted(others)], beside))
            if look.bug is not None:
                del self._beside.looks[self._place]
                raise look.bug
            if look.over is None:
                raise OutsideError("it is being looked at")
            if look.error is not None:
                raise look.error
            seen = wanted - look.delivered
            return [each for each in look.found if each.key in seen]

    # ---- Under the lock

    def _handed(self, key: PluginKey, input_hash: str) -> _Handed | None:
        handed = self._beside.handed.get(key, {}).get(self._place)
        return handed if handed is not None and handed.input_hash == input_hash else None

    def _hand_over(self, key: PluginKey, input_hash: str) -> _Handed:
        """It takes the place of what waits here for the same plugin. What came of others elsewhere nobody asked for."""
        before = self._beside.handed.get(key, {})
        handed = _Handed(input_hash)
        self._beside.handed[key] = {place: each for place, each in before.items() if not each.done}
        self._beside.handed[key][self._place] = handed
        return handed

    def _take(self, key: PluginKey, handed: _Handed, found: dict[PluginKey, Failure]) -> None:
        here = self._beside.handed[key]
        del here[self._place]
        if not here:
            del self._beside.handed[key]
        if handed.bug is not None:
            raise handed.bug
        if handed.failure is not None:
            found[key] = handed.failure
        else:
            del found[key]

    # ---- The threads

    def _deliver(
        self,
        begun: Mapping[PluginKey, _Handed],
        parcels: Sequence[Parcel],
        removals: Sequence[PluginKey],
        note: Note,
    ) -> None:
        with self._beside.lock:
            # Something else may have been handed over of some of them since.
            wanted = {key: each for key, each in begun.items() if self._handed(key, each.input_hash) is each}
        sent = [each for each in parcels if each.key in wanted]
        gone = [key for key in removals if key in wanted]
        failures: Mapping[PluginKey, Failure] = {}
        bug: BaseException | None = None
        try:
            if wanted:
                failures = self._deliverer.deliver(sent, gone, note)
        except BaseException as error:
            # It is raised where what came of it is asked for.
            bug = error
        with self._beside.lock:
            for key, handed in wanted.items():
                handed.done, handed.failure, handed.bug = True, failures.get(key), bug

    def _look(self, look: _Look, keys: Sequence[PluginKey], beside: Collection[str]) -> None:
        with self._beside.lock:
            if self._beside.looks.get(self._place) is not look:
                return
        try:
            look.found = self._deliverer.drift(keys, beside)
        except OutsideError as error:
            look.error = error
        except BaseException as error:
            look.bug = error
        look.over = self._beside.clock()


class AllBeside:
    """What is done beside the passes in several ways."""

    def __init__(self, *ways: Beside) -> None:
        self._ways = ways

    def is_under_way(self, key: PluginKey, input_hash: str) -> bool:
        return any(each.is_under_way(key, input_hash) for each in self._ways)

    def is_busy(self) -> bool:
        return any(each.is_busy() for each in self._ways)
