"""Work on clusters, in threads beside the passes.

A piece of work is a generator: it yields how many seconds it wants to wait, and no thread waits with it. Of one cluster
one piece is at work at a time. A cluster that has not answered yet, or did not answer the last time, is asked one small
question first, by threads of their own: those that serve the others never find out the hard way that it is gone twice.
And while they do find out, others take their places.
"""

from __future__ import annotations

import heapq
import random
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from itertools import count, takewhile
from threading import Condition, Lock, Thread, current_thread
from typing import Any, NamedTuple, TypeVar

from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import Access, AccessError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ServerError

T = TypeVar("T")
# An organization and a cluster of it.
ClusterKey = tuple[str, str]
Waiting = Generator[float, None, T]
Work = Callable[[Client], Waiting[Any]]
Connect = Callable[[Access], Client]

_THREADS, _ASKING_THREADS = 32, 64
# A thread that has been at one step for longer waits for a cluster that may be gone: another one is started beside it.
_SLOW, _MOST_SLOW = 0.5, 224
_ASKED_FOR = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
# So many connections stay open while nothing is done there.
_MOST_CLIENTS = 256


class Outcome(NamedTuple):
    """What came of a piece of work: its answer, or why there is none."""

    answer: Any = None
    error: OutsideError | None = None

    @property
    def unreachable(self) -> bool:
        return self.error is not None and is_unreachable(self.error)


def is_unreachable(error: OutsideError) -> bool:
    """Whether an error says that nothing can be asked of the cluster: it does not answer, or does not know us."""
    return isinstance(error, (ServerError, AccessError))


class Load(NamedTuple):
    """How much is to be done: pieces of work that are not done, for how many seconds the oldest of them has been
    wanted, and how many clusters did not answer when they were last asked."""

    waiting: int = 0
    oldest: float = 0.0
    unreachable: int = 0


@dataclass(eq=False)
class _Piece:
    """A piece of work. since is when it was first wanted, due when it goes on; bug is what it failed with and should
    not have."""

    slot: Hashable
    id: Hashable
    work: Work
    is_news: Callable[[Outcome], bool]
    since: float
    going: Waiting[Any] | None = None
    due: float = 0.0
    outcome: Outcome | None = None
    bug: BaseException | None = None
    dropped: bool = False


@dataclass(eq=False)
class _Line:
    """The work of one cluster. answers: it did when it was last asked; again is when it may be asked otherwise."""

    access: Access
    pieces: list[_Piece] = field(default_factory=list)
    client: Client | None = None
    answers: bool = False
    queued: bool = False
    at_work: bool = False
    failures: int = 0
    again: float = 0.0
    error: OutsideError | None = None
    news: bool = False


class _Lane:
    """Lines that threads of one kind take from."""

    def __init__(self, lock: Lock, threads: int) -> None:
        self.lines: deque[_Line] = deque()
        self.ready = Condition(lock)
        self.most, self.threads, self.idle = threads, 0, 0
        # When the threads that are at work began their step, the longest first.
        self.since: dict[Thread, float] = {}

    def slow(self, now: float) -> int:
        """How many threads have been at one step for long."""
        return sum(1 for _ in takewhile(lambda since: now - since > _SLOW, self.since.values()))


class Clusters:
    """What is done on clusters. woken is called by a thread whenever something is done."""

    def __init__(
        self,
        woken: Callable[[], None] = lambda: None,
        connect: Connect | None = None,
        *,
        threads: int = _THREADS,
        asking_threads: int = _ASKING_THREADS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._woken, self._connect, self._clock = woken, connect or connected, clock
        self._lock = Lock()
        self._steady, self._asking = _Lane(self._lock, threads), _Lane(self._lock, asking_threads)
        self._lines: dict[ClusterKey, _Line] = {}
        self._open: OrderedDict[_Line, None] = OrderedDict()
        self._slots: dict[Hashable, _Piece] = {}
        self._timers: list[tuple[float, int, _Line]] = []
        self._order = count()
        self._unfinished = 0
        self._news = False
        self._watched = False
        self._closed = False

    def outcome(
        self,
        cluster: ClusterKey,
        access: Access | AccessError,
        slot: Hashable,
        id_: Hashable,
        work: Work,
        is_news: Callable[[Outcome], bool] = lambda outcome: True,
    ) -> Outcome | None:
        """What came of a piece of work, which can be taken once; None while it is under way: it begins if it has not.

        A slot holds one piece of work: asking for another, by its id, takes the place of the one before. Of what is no
        news nobody is told: it is taken whenever it is asked for again.
        """
        with self._lock:
            piece = self._slots.get(slot)
            if piece is not None and piece.id == id_:
                return self._taken(piece)
            if piece is not None:
                self._drop(piece)
            if isinstance(access, AccessError):
                return Outcome(error=access)
            line = self._line(cluster, access)
            if line.error is not None and line.again > self._clock():
                return Outcome(error=line.error)
            piece = self._slots[slot] = _Piece(slot, id_, work, is_news, self._clock())
            line.pieces.append(piece)
            self._unfinished += 1
            self._queue(line)
            return None

    def under_way(self, slot: Hashable) -> Hashable | None:
        """The id of the piece of work in a slot that is not done; None if there is none."""
        with self._lock:
            piece = self._slots.get(slot)
            return piece.id if piece is not None and piece.outcome is None and piece.bug is None else None

    def forget(self, slot: Hashable) -> None:
        """Nobody wants to know what comes of the work in a slot."""
        with self._lock:
            piece = self._slots.get(slot)
            if piece is not None:
                self._drop(piece)

    def is_busy(self) -> bool:
        """Whether anything is under way, or was until after this was last asked: somebody may want to know of it."""
        with self._lock:
            news, self._news = self._news, False
            return news or self._unfinished > 0

    def load(self) -> Load:
        with self._lock:
            since = [each.since for line in self._lines.values() for each in line.pieces]
            unreachable = sum(line.error is not None for line in self._lines.values())
            return Load(len(since), self._clock() - min(since) if since else 0.0, unreachable)

    def close(self) -> None:
        """Threads end after the step that they are at. What is not done can be begun again by another process."""
        with self._lock:
            self._closed = True
            self._steady.ready.notify_all()
            self._asking.ready.notify_all()
            clients = [line.client for line in self._lines.values() if line.client is not None and not line.at_work]
        for each in clients:
            each.close()

    # ---- Under the lock

    def _taken(self, piece: _Piece) -> Outcome | None:
        if piece.bug is not None:
            del self._slots[piece.slot]
            raise piece.bug
        if piece.outcome is not None:
            del self._slots[piece.slot]
        return piece.outcome

    def _drop(self, piece: _Piece) -> None:
        """Nobody wants it any more: it ends at its next step."""
        del self._slots[piece.slot]
        piece.dropped = True
        piece.due = 0.0

    def _line(self, cluster: ClusterKey, access: Access) -> _Line:
        line = self._lines.get(cluster)
        if line is None:
            line = self._lines[cluster] = _Line(access)
        elif line.access != access:
            # Somebody gave another way to reach it: whatever was wrong with the one before says nothing of this one.
            if line.client is not None and not line.at_work:
                line.client.close()
            line.access, line.client, line.answers = access, None, False
            line.failures, line.again, line.error = 0, 0.0, None
        return line

    def _queue(self, line: _Line) -> None:
        """Has a line worked on, now or when its first piece is due."""
        if line.queued or line.at_work or not line.pieces:
            return
        due = min(each.due for each in line.pieces)
        if due > self._clock():
            heapq.heappush(self._timers, (due, next(self._order), line))
            self._steady.ready.notify()
            return
        lane = self._steady if line.answers else self._asking
        line.queued = True
        lane.lines.append(line)
        lane.ready.notify()
        self._man(lane)

    def _man(self, lane: _Lane) -> None:
        """Starts a thread if lines wait and too few threads are there that may soon take one."""
        slow = min(lane.slow(time.monotonic()), _MOST_SLOW)
        if lane.idle < len(lane.lines) and lane.threads - slow < lane.most:
            lane.threads += 1
            Thread(target=self._run, args=(lane,), name="cluster", daemon=True).start()
        if not self._watched:
            self._watched = True
            Thread(target=self._watch, name="clusters", daemon=True).start()

    def _watch(self) -> None:
        """While lines wait, looks from time to time whether all threads are held up."""
        while True:
            time.sleep(_SLOW / 2)
            with self._lock:
                if self._closed or not self._unfinished:
                    self._watched = False
                    return
                for lane in (self._steady, self._asking):
                    for _ in range(len(lane.lines)):
                        self._man(lane)

    def _next(self, lane: _Lane) -> _Line | None:
        """The next line of a lane, waited for; None once all is to end, or there are threads enough."""
        thread = current_thread()
        with self._lock:
            lane.since.pop(thread, None)
            while not self._closed:
                now = self._clock()
                while self._timers and self._timers[0][0] <= now:
                    self._queue(heapq.heappop(self._timers)[2])
                if lane.lines:
                    line = lane.lines.popleft()
                    line.queued, line.at_work = False, True
                    lane.since[thread] = time.monotonic()
                    return line
                if lane.threads > lane.most:
                    break
                wait = self._timers[0][0] - now if self._timers and lane is self._steady else None
                lane.idle += 1
                lane.ready.wait(wait)
                lane.idle -= 1
            lane.threads -= 1
            return None

    # ---- The threads

    def _run(self, lane: _Lane) -> None:
        while (line := self._next(lane)) is not None:
            access = line.access
            error = self._ask(line) if lane is self._asking else self._step(line)
            with self._lock:
                line.at_work = False
                if line.access is access:
                    self._note(line, error)
                news, line.news = line.news, False
                self._queue(line)
                closing = self._unused_clients()
            for each in closing:
                each.close()
            if news:
                self._woken()

    def _ask(self, line: _Line) -> OutsideError | None:
        """The small question, in little time."""
        try:
            self._client(line).raw("GET", "/version", seconds=_ASKED_FOR)
        except OutsideError as error:
            return error if is_unreachable(error) else None
        return None

    def _step(self, line: _Line) -> OutsideError | None:
        """Goes on with the first piece that is due; why the cluster does not answer, if it does not."""
        with self._lock:
            now = self._clock()
            piece = next((each for each in line.pieces if each.due <= now), None)
        if piece is None:
            return None
        pause, outcome, bug, error = 0.0, None, None, None
        try:
            if piece.dropped:
                outcome = Outcome()
            else:
                piece.going = piece.going or piece.work(self._client(line))
                pause = next(piece.going)
        except StopIteration as done:
            outcome = Outcome(done.value)
        except OutsideError as failed:
            outcome, error = Outcome(error=failed), failed if is_unreachable(failed) else None
        except BaseException as failed:
            # It is raised where the work was asked for.
            bug = failed
        with self._lock:
            piece.due = self._clock() + pause
            if outcome is not None or bug is not None:
                self._finish(line, piece, outcome, bug)
        return error

    def _finish(self, line: _Line, piece: _Piece, outcome: Outcome | None, bug: BaseException | None) -> None:
        line.pieces.remove(piece)
        piece.outcome, piece.bug, piece.going = outcome, bug, None
        self._unfinished -= 1
        if outcome is None or piece.dropped or piece.is_news(outcome):
            line.news = self._news = True

    def _note(self, line: _Line, error: OutsideError | None) -> None:
        """What the last question says of the cluster. Nothing that waits is tried while it does not answer."""
        if error is None:
            line.answers, line.failures, line.error = True, 0, None
            return
        line.answers, line.error = False, error
        pause = min(_FIRST_PAUSE * (1 << min(line.failures, 16)), _LONGEST_PAUSE)
        line.failures += 1
        line.again = self._clock() + pause * random.uniform(1.0, 1.25)
        for each in list(line.pieces):
            self._finish(line, each, Outcome(error=error), None)

    def _client(self, line: _Line) -> Client:
        client, access = line.client, line.access
        if client is None or client.access is not access:
            client = line.client = self._connect(access)
        with self._lock:
            self._open[line] = None
            self._open.move_to_end(line)
        return client

    def _unused_clients(self) -> list[Client]:
        """Connections of clusters on which nothing was done for longest, if there are many."""
        found: list[Client] = []
        while len(self._open) > _MOST_CLIENTS:
            line = next(iter(self._open))
            if line.at_work:
                break
            del self._open[line]
            if line.client is not None:
                found.append(line.client)
                line.client = None
        return found


def connected(
    access: Access,
    may_write: Callable[[], bool] = lambda: True,
    answered: Callable[[str, int], None] = lambda method, status: None,
) -> Client:
    """The client of a workload cluster; may_write is asked before each request that writes, answered told of each."""
    return Client(access, timeout=10.0, tries=3, may_write=may_write, answered=answered)
