"""Which organizations a replica works for, and what becomes of those that fail."""

from __future__ import annotations

import time
from threading import Event, Thread

from fleetform.operator.workers import Workers, shard_of


class _Shards:
    def __init__(self, *shards: int) -> None:
        self.now = frozenset(shards)
        self.released: list[frozenset[int]] = []

    def held(self) -> frozenset[int]:
        return self.now

    def release(self, shards: frozenset[int]) -> None:
        self.released.append(shards)


class _Worker:
    """Works until it is stopped, or fails at once."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.began, self.stopped, self.closed = Event(), Event(), Event()
        self.may_end = Event()
        self.may_end.set()

    def run(self) -> None:
        self.began.set()
        if self.fails:
            raise RuntimeError("the disk is full")
        self.stopped.wait()
        self.may_end.wait()

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        self.closed.set()


class _Replica:
    def __init__(self, shards: _Shards, *names: str, number: int = 2) -> None:
        self.names = frozenset(names)
        self.workers: dict[str, list[_Worker]] = {}
        self.failures: list[tuple[str, str]] = []
        self.failing: set[str] = set()
        self.now = 0.0
        self.all = Workers(
            shards,
            number,
            lambda: self.names,
            self._open,
            lambda name, error: self.failures.append((name, str(error))),
            clock=lambda: self.now,
        )

    def _open(self, name: str, shard: int) -> _Worker:
        assert shard == shard_of(name, 2)
        worker = _Worker(name in self.failing)
        self.workers.setdefault(name, []).append(worker)
        return worker

    def step(self) -> None:
        self.all.step()


# One of each shard of two.
FIRST = next(name for name in map(str, range(9)) if shard_of(name, 2) == 0)
SECOND = next(name for name in map(str, range(9)) if shard_of(name, 2) == 1)


def _began(replica: _Replica, name: str) -> _Worker:
    for _ in range(1000):
        if name in replica.workers and replica.workers[name][-1].began.is_set():
            return replica.workers[name][-1]
        time.sleep(0.01)
    raise AssertionError(f"{name} did not begin")


def test_every_organization_has_one_shard_and_shards_have_about_the_same_number() -> None:
    found = [shard_of(f"organization-{number}", 4) for number in range(1000)]
    assert {found.count(shard) // 50 for shard in range(4)} <= {4, 5}


def test_a_replica_works_for_organizations_of_its_shards_and_no_other() -> None:
    replica = _Replica(_Shards(0), FIRST, SECOND)
    replica.step()
    _began(replica, FIRST)
    assert replica.all.organizations == {FIRST: 0}


def test_a_shard_is_let_go_of_once_its_work_has_ended() -> None:
    shards = _Shards(0, 1)
    replica = _Replica(shards, FIRST, SECOND)
    replica.step()
    busy = _began(replica, FIRST)
    _began(replica, SECOND)
    busy.may_end.clear()
    shards.now = frozenset({1})
    replica.step()
    replica.step()
    assert busy.stopped.is_set()
    assert shards.released == []
    busy.may_end.set()
    assert busy.closed.wait(5)
    for _ in range(1000):
        replica.step()
        if shards.released:
            break
        time.sleep(0.01)
    assert shards.released == [frozenset({0})]
    assert replica.all.organizations == {SECOND: 1}


def test_one_that_fails_is_begun_again_after_pauses_that_grow_and_the_others_go_on() -> None:
    replica = _Replica(_Shards(0, 1), FIRST, SECOND)
    replica.failing = {FIRST}
    begun = []
    for second in range(16):
        replica.now = float(second)
        for _ in range(3):
            replica.step()
            for each in list(replica.all._running.items()):
                if each[0] == FIRST:
                    each[1].thread.join(5)
        begun.append(len(replica.workers[FIRST]))
    assert begun == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]
    assert replica.failures[0] == (FIRST, "the disk is full")
    assert all(each.closed.is_set() for each in replica.workers[FIRST])
    assert len(replica.workers[SECOND]) == 1


def test_an_organization_that_is_gone_is_no_longer_worked_for() -> None:
    replica = _Replica(_Shards(0), FIRST)
    replica.step()
    worker = _began(replica, FIRST)
    replica.names = frozenset()
    replica.step()
    assert worker.closed.wait(5)


def test_the_end_waits_for_work_and_hands_shards_over() -> None:
    shards = _Shards(0, 1)
    replica = _Replica(shards, FIRST, SECOND)
    stop = Event()
    thread = Thread(target=replica.all.run, args=(stop,), daemon=True)
    thread.start()
    workers = [_began(replica, name) for name in (FIRST, SECOND)]
    stop.set()
    replica.all.wake()
    thread.join(10)
    assert not thread.is_alive()
    assert all(each.closed.is_set() for each in workers)
    assert shards.released == [frozenset({0, 1})]
