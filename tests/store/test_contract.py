"""Every store meets the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetform.ports.store import Store
from fleetform.store.memory import MemoryStore
from fleetform.store.sqlite import SqliteStore
from store.contract import StoreContract


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestSqlite(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(str(tmp_path / "fleet.db"))
        yield store
        store.close()
