"""Every store meets the contract."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.store import Store
from fleetform.store.cells import SecretCells
from fleetform.store.kubernetes import KubernetesStore
from fleetform.store.memory import MemoryStore
from fleetform.store.sqlite import SqliteStore
from store.contract import StoreContract
from support.api_servers import ApiServer


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


_stores = count()


class TestKubernetes(StoreContract):
    """On a real API server, with a ring so small that every test goes round and makes checkpoints."""

    @pytest.fixture
    def store(self, hub: ApiServer, tmp_path: Path) -> Iterator[Store]:
        client = Client(access_from_kubeconfig(hub.kubeconfig()))
        store = KubernetesStore(
            str(tmp_path / "copy.db"), SecretCells(client, "default", f"contract-{next(_stores)}"), slots=4
        )
        yield store
        store.close()
        client.close()
