"""Delivery through Flux's own controllers, from a management cluster to a workload cluster: what they install, and what
is made of what they say of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from support.api_servers import ApiServers
from support.flux import (
    BROKEN,
    SECRET,
    TEMPLATE,
    World,
    install_flux,
    plain,
    published,
    published_kustomizations,
    start_flux,
    start_operator,
)
from support.kit import archive
from support.management import management_cluster
from support.repositories import GitServer
from support.servers import HelmServer, OciServer
from support.waiting import until

pytestmark = pytest.mark.flux

WITH_PASSWORD = ", optionValues: [{name: password, valueFrom: {secret: {name: login, key: password}}}]"


@pytest.fixture(scope="module")
def world(api_servers: ApiServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("controllers")
    (workload,) = api_servers.start("workload-of-flux")
    with management_cluster(api_servers, "controllers", folder) as hub, ExitStack() as ends:
        install_flux(hub.client)
        found = World(hub, workload)
        found.apply(SECRET % "one")
        start_flux(ends, hub.kubeconfig, folder)
        start_operator(ends, hub, folder)
        yield found


@pytest.fixture
def charts() -> Iterator[HelmServer]:
    with HelmServer() as found:
        yield found


@pytest.fixture(scope="module")
def kustomizations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A source by the version of the plugin; 1.2.0 is broken."""
    folder = tmp_path_factory.mktemp("repositories")
    published_kustomizations(folder)
    with GitServer(folder) as server:
        yield f"{{kustomize: {{git: {{url: 'http://{server.host}/apps', ref: {{tag: %s}}}}}}}}"


@pytest.mark.rule("R3-5", "B1")
def test_a_chart_is_healthy_once_it_is_installed_with_what_its_secrets_hold_now(
    world: World, charts: HelmServer
) -> None:
    options = "[{name: password, type: secret}]"
    world.release("web", "1.0.0", published(charts, "1.0.0", TEMPLATE % "1.0.0"), options)
    world.preset("web", WITH_PASSWORD)
    world.until_up_to_date("web-eu-1", "1.0.0")
    assert world.installed("web") == {"version": "1.0.0", "password": "one"}

    # Nothing of Flux's objects differs but what it was asked: without that it would look again in ten minutes.
    before = world.status("web-eu-1")["admitted"]
    world.apply(SECRET % "two")
    until(lambda: world.status("web-eu-1").get("admitted") != before, 240)
    world.until_up_to_date("web-eu-1", "1.0.0")
    assert world.installed("web") == {"version": "1.0.0", "password": "two"}

    # Flux has not read the index of the repository since: it is asked to.
    world.release("web", "1.1.0", published(charts, "1.1.0", TEMPLATE % "1.1.0"), options)
    world.until_up_to_date("web-eu-1", "1.1.0")
    assert world.installed("web") == {"version": "1.1.0", "password": "two"}


@pytest.mark.rule("R3-5", "B1")
def test_a_kustomization_is_healthy_once_it_has_the_revision_that_its_source_has(
    world: World, kustomizations: str
) -> None:
    world.release("apps", "1.0.0", kustomizations % "1.0.0")
    world.namespace("apps")
    world.preset("apps")
    world.until_up_to_date("apps-eu-1", "1.0.0")
    assert world.installed("apps") == {"version": "1.0.0"}
    # The Kustomization itself stays as it is: only its source changes.
    world.release("apps", "1.1.0", kustomizations % "1.1.0")
    world.until_up_to_date("apps-eu-1", "1.1.0")
    assert world.installed("apps") == {"version": "1.1.0"}


@pytest.mark.rule("R3-5")
def test_a_chart_of_a_registry_is_healthy_once_it_is_the_one_that_its_source_has(world: World) -> None:
    with OciServer() as registry:
        for version in ("1.0.0", "1.1.0"):
            registry.push_chart("charts/web", version, archive(plain(version), version))
        source = f"{{helm: {{repository: '{registry.repository('charts')}', chart: web, version: %s}}}}"
        world.release("oci", "1.0.0", source % "1.0.0")
        world.preset("oci")
        world.until_up_to_date("oci-eu-1", "1.0.0")
        assert world.installed("oci") == {"version": "1.0.0"}
        # The HelmRelease itself stays as it is.
        world.release("oci", "1.1.0", source % "1.1.0")
        world.until_up_to_date("oci-eu-1", "1.1.0")
        assert world.installed("oci") == {"version": "1.1.0"}


@pytest.mark.rule("R3-5", "B1", "B34")
def test_what_flux_cannot_install_fails_and_goes_back(world: World, charts: HelmServer, kustomizations: str) -> None:
    """After all retries: seven minutes."""
    plugins = {"chart": "HelmRelease acme/chart-eu-1", "plain": "Kustomization acme/plain-eu-1"}
    world.namespace("plain")
    world.release("chart", "1.1.0", published(charts, "1.1.0", plain("1.1.0")))
    world.release("plain", "1.1.0", kustomizations % "1.1.0")
    for name in plugins:
        world.preset(name)
        world.until_up_to_date(f"{name}-eu-1", "1.1.0")

    world.release("chart", "1.2.0", published(charts, "1.2.0", BROKEN))
    world.release("plain", "1.2.0", kustomizations % "1.2.0")
    for name, culprit in plugins.items():
        until(partial(world.failed, f"{name}-eu-1", culprit), 240)
    for name in plugins:
        until(partial(world.is_back, f"{name}-eu-1", "1.1.0", "1.2.0"), 720)
        assert world.installed(name) == {"version": "1.1.0"}
