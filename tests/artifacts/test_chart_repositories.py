"""A chart is found by repository, name and version, in Helm repositories and in OCI registries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fleetform.artifacts.chart_repositories import ChartLookup
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from support.servers import HelmServer, OciServer, digest_of, packed_chart


@pytest.fixture
def server() -> Iterator[HelmServer]:
    with HelmServer() as started:
        yield started


def test_a_charts_digest_is_the_one_of_its_bytes(server: HelmServer) -> None:
    archive = packed_chart("web", "1.0.0+a")
    server.add("web", "1.0.0+a", archive)
    server.add("web", "2.0.0", archive, digest=None)
    with OciServer() as registry, Web() as web:
        registry.push_chart("charts/web", "1.0.0_a", archive)
        for repository in (server.repository, registry.repository("charts"), registry.repository("charts/")):
            assert ChartLookup(web).digest(repository, "web", "1.0.0+a") == digest_of(archive)
    with Web() as web:
        assert ChartLookup(web).digest(server.repository, "web", "v2") == digest_of(archive)
    assert not any("/blobs/" in path for path in registry.paths)


@pytest.mark.parametrize(("chart", "version"), [("web", "2.0.0"), ("db", "1.0.0"), ("web", "any"), ("w*", "1.0.0")])
def test_a_chart_that_is_not_there_has_no_digest(server: HelmServer, chart: str, version: str) -> None:
    server.add("web", "1.0.0")
    with Web() as web, pytest.raises(OutsideError, match=r"does not list it|not a semantic version"):
        ChartLookup(web).digest(server.repository, chart, version)


def test_what_is_no_chart_has_no_digest() -> None:
    with OciServer() as registry, Web() as web:
        registry.push("charts/web", "1.0.0", [])
        with pytest.raises(OutsideError, match="it has no chart"):
            ChartLookup(web).digest(registry.repository("charts"), "web", "1.0.0")
