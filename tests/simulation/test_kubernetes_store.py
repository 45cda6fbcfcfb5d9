"""The same world over the store on Kubernetes, with faults at every write that it makes to the API server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fleetform.ports.store import Commit, Store
from fleetform.store.journal import SupersededError
from fleetform.store.kubernetes import KubernetesStore
from simulation.faults import CrashError
from simulation.fleet import FleetText
from simulation.laws import LawBrokenError
from simulation.scripts import SHORT
from simulation.world import World
from support.cells import Ended, MemoryCells

PLAIN = FleetText(guarded=False)
# taken: another replica takes over just before the write.
KINDS = ("ended", "ended after", "lost", "refused", "taken")


class _Replicas:
    """The store of whichever replica works now. One that ends, or is taken over from, is followed by another that has
    no copy of its own."""

    def __init__(self, folder: Path, at: int, kind: str) -> None:
        self._folder, self._at, self._kind = folder, at, kind
        self.cells = MemoryCells(self._fault)
        self._opened = 0
        self.hit = False
        self._now = self._open()

    def _open(self) -> KubernetesStore:
        self._opened += 1
        return KubernetesStore(str(self._folder / f"{self._kind}-{self._at}-{self._opened}.db"), self.cells, slots=8)

    def _fault(self, number: int) -> str:
        if number != self._at or self.hit:
            return ""
        self.hit = True
        if self._kind == "taken":
            self._open().close()
            return ""
        return self._kind

    def commit(self, commit: Commit, at: datetime) -> int:
        with self._following():
            return self._now.commit(commit, at)

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            with self._following():
                return getattr(self._now, name)(*given, **named)

        return call

    @contextmanager
    def _following(self) -> Iterator[None]:
        try:
            yield
        except (Ended, SupersededError):
            self._now.close()
            self._now = self._open()
            raise CrashError from None

    def close(self) -> None:
        self._now.close()


class _KubernetesWorld(World):
    def __init__(self, replicas: _Replicas) -> None:
        self._replicas = replicas
        super().__init__(SHORT, (), PLAIN)

    def new_store(self) -> Store:
        return self._replicas


@pytest.mark.rule("R0-19", "B1")
def test_a_fault_at_any_write_to_the_api_server_ends_the_same(tmp_path: Path) -> None:
    undisturbed = World(SHORT, (), PLAIN).play()
    quiet = _Replicas(tmp_path, 0, "none")
    assert _KubernetesWorld(quiet).play().end == undisturbed.end
    writes = quiet.cells.writes
    quiet.close()
    assert writes > 40
    # Every write, each with the next kind: the next run of numbers of writes and kinds is for the soak.
    for at in range(2, writes + 1):
        kind = KINDS[at % len(KINDS)]
        replicas = _Replicas(tmp_path, at, kind)
        try:
            assert _KubernetesWorld(replicas).play().end == undisturbed.end
        except (LawBrokenError, AssertionError) as error:
            error.add_note(f"{kind} at write {at}")
            raise
        assert replicas.hit
        replicas.close()
