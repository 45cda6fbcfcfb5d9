"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from support.api_servers import ApiServer, ApiServers
from support.management import Management, management_cluster

# Tests are not timed: what is fast enough on a quiet machine must not fail on a busy one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What somebody keeps on this machine must decide no test, and tests leave nothing there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def api_servers() -> Iterator[ApiServers]:
    """etcd, for API servers that a test starts for itself."""
    with ApiServers() as servers:
        yield servers


@pytest.fixture(scope="session")
def hub(api_servers: ApiServers) -> ApiServer:
    """The API server of a management cluster; tests that share it use namespaces of their own."""
    (server,) = api_servers.start("hub")
    return server


@pytest.fixture(scope="session")
def workload_servers(api_servers: ApiServers) -> list[ApiServer]:
    """The API servers of three workload clusters; tests that share them use namespaces of their own."""
    return api_servers.start("one", "two", "three")


@pytest.fixture(scope="session")
def management(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Management]:
    """A management cluster with our kinds; tests that share it use namespaces of their own."""
    with management_cluster(api_servers, "management", tmp_path_factory.mktemp("management")) as found:
        yield found
