"""Delivery through Flux's own controllers on the workload cluster itself: it pulls, and needs nobody else for that."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from support.api_servers import ApiServers
from support.flux import (
    BROKEN,
    TEMPLATE,
    World,
    install_flux,
    published,
    published_kustomizations,
    start_flux,
    start_operator,
)
from support.management import management_cluster
from support.repositories import GitServer
from support.servers import HelmServer
from support.waiting import until

pytestmark = pytest.mark.flux

PULL = "{mode: Pull}"
KUSTOMIZE = "kustomize.toolkit.fluxcd.io/v1"
WITH_PASSWORD = ", optionValues: [{name: password, valueFrom: {secret: {name: there, key: password}}}]"


@pytest.mark.rule("R3-5", "B1")
def test_a_cluster_pulls_what_it_needs_and_lives_on_when_the_control_plane_is_gone(
    api_servers: ApiServers, tmp_path: Path
) -> None:
    (workload,) = api_servers.start("workload-that-pulls")
    kubeconfig = tmp_path / "workload"
    kubeconfig.write_text(workload.kubeconfig(), encoding="utf-8")
    published_kustomizations(tmp_path)
    with (
        management_cluster(api_servers, "pulled", tmp_path) as hub,
        HelmServer() as charts,
        GitServer(tmp_path) as repositories,
        ExitStack() as ends,
    ):
        world = World(hub, workload)
        install_flux(world.workload)
        start_flux(ends, kubeconfig, tmp_path)
        operator = start_operator(ends, hub, tmp_path)

        # A secret that is on the cluster alone, where Flux reads it.
        metadata = {"name": "there", "namespace": "flux-system"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": "one"}}
        world.workload.create(secret)
        options = "[{name: password, type: secret}]"
        world.release("web", "1.0.0", published(charts, "1.0.0", TEMPLATE % "1.0.0"), options)
        world.preset("web", WITH_PASSWORD, PULL)
        world.until_up_to_date("web-eu-1", "1.0.0")
        assert world.installed("web") == {"version": "1.0.0", "password": "one"}
        world.release("web", "1.1.0", published(charts, "1.1.0", TEMPLATE % "1.1.0"), options)
        world.until_up_to_date("web-eu-1", "1.1.0")
        assert world.installed("web") == {"version": "1.1.0", "password": "one"}

        # What Flux says there is heard here; and with the preset the release goes from the cluster.
        world.release("web", "1.2.0", published(charts, "1.2.0", BROKEN), options)
        until(lambda: world.failed("web-eu-1", "HelmRelease flux-system/web-eu-1"), 240)
        hub.client.delete(hub.client.resource("fleetform.dev/v1alpha1", "PluginPreset"), "acme", "web")
        until(lambda: world.installed("web") is None, 240)

        source = f"{{kustomize: {{git: {{url: 'http://{repositories.host}/apps', ref: {{tag: %s}}}}}}}}"
        world.namespace("apps")
        world.release("apps", "1.0.0", source % "1.0.0")
        world.preset("apps", flux=PULL)
        world.until_up_to_date("apps-eu-1", "1.0.0")
        world.release("apps", "1.1.0", source % "1.1.0")
        world.until_up_to_date("apps-eu-1", "1.1.0")
        assert world.installed("apps") == {"version": "1.1.0"}

        # Neither the operator nor its cluster is there any more: what somebody takes away comes back.
        operator.kill()
        operator.wait()
        hub.server.process.kill()
        maps = world.workload.resource("v1", "ConfigMap")
        world.workload.delete(maps, "apps", "web")
        asked = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "by-hand"}}}
        world.workload.merge(world.workload.resource(KUSTOMIZE, "Kustomization"), "flux-system", "apps-eu-1", asked)
        until(lambda: world.installed("apps") == {"version": "1.1.0"}, 120)
