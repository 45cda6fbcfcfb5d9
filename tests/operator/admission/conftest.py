"""A management cluster that asks our endpoint, which answers from a fleet that a test gives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fleetform.operator.admission.manifests import Installed
from fleetform.outside.listening import listen
from support.api_servers import ApiServers
from support.asking import GENERATED, Asking, Replica
from support.fleets import DEFINITION, PRESET, fleet_with
from support.management import management_cluster


@pytest.fixture(scope="session")
def cluster(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    with management_cluster(api_servers, "admission", tmp_path_factory.mktemp("admission")) as management:
        listening = listen("127.0.0.1:0", secure=True)
        installed = Installed(url=listening.url)
        replica = Replica(management, tmp_path_factory.mktemp("replica"), listening, installed)
        found = Asking(management, replica, installed)
        for each in (DEFINITION, PRESET, GENERATED):
            found.written_by_operator(each)
        found.install()
        replica.serve()
        try:
            found.wait_until_asked()
            yield found
        finally:
            replica.close()


@pytest.fixture
def asking(cluster: Asking) -> Asking:
    """Each test begins with the same fleet."""
    base = fleet_with()
    cluster.replica.fleet = lambda: base
    cluster.replica.asked.clear()
    return cluster
