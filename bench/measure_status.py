"""What is told on Kubernetes: statuses of a large fleet on a real API server, beside a client that does nothing else.

The raw client sends the very same bodies over as many connections, prepared beforehand, and looks at no answer.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import urllib3

from bench.calibrate import calibrate
from bench.fresh import resident_mb, run_fresh
from bench.table import Row, at_least, at_most, plainly
from fleetform.model.kinds import API_VERSION
from fleetform.operator.status.comparing import requests
from fleetform.operator.status.passes import Pass
from fleetform.operator.status.projection import Projection
from fleetform.operator.status.seen import Cache
from fleetform.operator.status.showing import FOLLOWED, StatusWriter
from fleetform.operator.status.wanted import MANAGED_BY
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.connections import tls_of
from fleetform.outside.promptness import answer_promptly

if TYPE_CHECKING:
    from fleetform.loop.control import PassReport
    from support.plane import Plane

ROOT = Path(__file__).parent.parent
CLUSTERS, PRESETS = 500, 10
PLUGINS = CLUSTERS * PRESETS
THREADS = 4
TITLE = f"Statuses: {PLUGINS:,} plugins on a real API server"
_PATIENCE = 600.0
_RAW = 200


def rows() -> list[Row]:
    found = run_fresh("bench.measure_status", CLUSTERS)
    loop = found["loop"]
    return [
        plainly("plugins made and told, a second", found["made"], ""),
        at_least("statuses written, beside a raw client with the same bodies", found["ratio"], 0.9),
        plainly("  a second", found["rate"], ""),
        at_most("processor time of a write, in this process", found["cpu"], 1, "ms", loop),
        plainly("  of the raw client's", found["raw_cpu"], "ms", loop),
        at_most("requests when nothing changed", found["again"], 0, ""),
        plainly("a pass in which nothing changed, until that is known", found["nothing"], "ms", loop),
        plainly("passes that change all plugins, until that is computed", found["all"], "s", loop),
        at_most("memory for 12,000 objects", found["memory"], 40, "MB"),
    ]


def measure(clusters: int) -> dict[str, float]:
    # Real servers and a played world, as tests have them.
    sys.path.insert(0, str(ROOT / "tests"))
    from support.api_servers import ApiServers
    from support.management import management_cluster
    from support.plane import Files, Plane

    answer_promptly()
    plane = Plane(Files(_files(clusters, 0)))
    with (
        ApiServers() as servers,
        tempfile.TemporaryDirectory() as folder,
        management_cluster(servers, "management", Path(folder)) as management,
    ):
        return _measure(management.client, plane, clusters)


def _measure(client: Client, plane: Plane, clusters: int) -> dict[str, float]:
    plugins = clusters * PRESETS
    found: dict[str, float] = {"loop": calibrate()}
    report = plane.settle()

    cache = _cache(client)
    writer = _writer(client, cache, plane)
    begun = time.perf_counter()
    _show(writer, plane, report)
    found["made"] = plugins / (time.perf_counter() - begun)
    before = writer.writes
    spent = time.process_time()
    writer.show(plane.settle(), plane.control.fleet, plane.control.image)
    found["nothing"] = (time.process_time() - spent) * 1000
    assert writer.wait(_PATIENCE)
    found["again"] = writer.writes - before
    writer.stop()
    # Beside one that is kept, so that it cannot take the place of one that is gone.
    gc.collect()
    base = resident_mb()
    second = _cache(client)
    gc.collect()
    found["memory"] = (resident_mb() - base) / (plugins + PRESETS) * 12_000
    second.stop()

    bodies = _bodies(client, plane, plane.settle())
    raw_took = raw_cpu = took = cpu = written = found["all"] = 0.0
    # One preset after the other, and the raw client in between: a machine that slows down slows both.
    for edited in range(1, PRESETS + 1):
        cache.stop()
        some_took, some_cpu = _raw(client, bodies)
        raw_took, raw_cpu = raw_took + some_took, raw_cpu + some_cpu
        cache = _cache(client)
        writer = _writer(client, cache, plane)
        _show(writer, plane, plane.settle())
        plane.files.files = _files(clusters, edited)
        report, before = plane.settle(), writer.writes
        begun, spent = time.perf_counter(), time.process_time()
        writer.show(report, plane.control.fleet, plane.control.image)
        computed, used = time.perf_counter() - begun, time.process_time() - spent
        assert writer.wait(_PATIENCE)
        took, cpu = took + time.perf_counter() - begun - computed, cpu + time.process_time() - spent - used
        written, found["all"] = written + writer.writes - before, found["all"] + used
        writer.stop()
    cache.stop()
    found["rate"] = written / took
    found["ratio"] = found["rate"] / (PRESETS * len(bodies) / raw_took)
    found["cpu"] = cpu / written * 1000
    found["raw_cpu"] = raw_cpu / (PRESETS * len(bodies)) * 1000

    return found


def _writer(client: Client, cache: Cache, plane: Plane) -> StatusWriter:
    sending = Client(client.access, connections=THREADS)
    made = StatusWriter(sending, cache, plane.clock.now, threads=THREADS)
    made.start()
    return made


def _cache(client: Client) -> Cache:
    made = Cache(Client(client.access, connections=len(FOLLOWED) + 2), FOLLOWED)
    made.start()
    assert made.wait(_PATIENCE)
    return made


def _show(writer: StatusWriter, plane: Plane, report: PassReport) -> None:
    writer.show(report, plane.control.fleet, plane.control.image)
    assert writer.wait(_PATIENCE)


def _files(clusters: int, edited: int) -> dict[str, str]:
    """A fleet of which some presets were edited."""
    head = f"apiVersion: {API_VERSION}\nkind: "
    definitions = [
        f"{head}PluginDefinition\nmetadata: {{name: d-{each}, namespace: acme}}\nspec:\n  version: 1.0.0\n"
        "  source: {manifests: {path: ./manifests}}\n  options: [{name: replicas, type: int, default: 1}]\n"
        for each in range(PRESETS)
    ]
    presets = [
        f"{head}PluginPreset\nmetadata: {{name: p-{each}, namespace: acme}}\nspec:\n  clusterSelector: {{}}\n"
        f"  plugin: {{pluginDefinition: {{name: d-{each}}}, optionValues: {{replicas: {2 + (each < edited)}}}}}\n"
        for each in range(PRESETS)
    ]
    names = [f"{head}Cluster\nmetadata: {{name: c-{each}, namespace: acme}}\n" for each in range(clusters)]
    every = {"definitions": definitions, "presets": presets, "clusters": names}
    return {f"{name}.yaml": "---\n".join(texts) for name, texts in every.items()}


def _bodies(client: Client, plane: Plane, report: PassReport) -> list[tuple[str, bytes]]:
    """Statuses of the fleet's own plugins, for objects that are as those are and that nobody else writes."""
    assert plane.control.fleet is not None
    assert report.plan is not None
    projection = Projection()
    projection.update(Pass(plane.control.fleet, report.plan, plane.control.image))
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "raw"}})
    resource = client.resource(API_VERSION, "Plugin")
    found: list[tuple[str, bytes]] = []
    for ref, wanted in projection.wanted.items():
        if ref.kind == "Plugin" and len(found) < _RAW:
            made, told = requests(ref, wanted, None, plane.clock.now())
            # Without what says whose they are: nobody wants them, and ours would be taken away.
            labels = {**made.body["metadata"]["labels"], MANAGED_BY: "raw"}
            metadata = {"name": ref.name, "namespace": "raw", "labels": labels}
            client.apply({**made.body, "metadata": metadata})
            body = {**told.body, "metadata": {"name": ref.name, "namespace": "raw"}}
            path = resource.path("raw", ref.name, "status") + "?fieldManager=raw&force=true&fieldValidation=Strict"
            found.append((path, msgspec.json.encode(body)))
    return found


def _raw(client: Client, bodies: Sequence[tuple[str, bytes]]) -> tuple[float, float]:
    """Seconds and processor seconds of sending all of them."""
    access = client.access
    pool = urllib3.PoolManager(maxsize=THREADS, block=True, retries=False, ssl_context=tls_of(access))
    headers = {"Authorization": f"Bearer {access.token}", "Content-Type": "application/apply-patch+yaml"}
    # Something has to change: the same once more costs the server less.
    mark = str(time.monotonic_ns()).encode()

    def send(each: tuple[str, bytes]) -> None:
        body = each[1].replace(b'"state":"', b'"failure":"%s","state":"' % mark)
        assert pool.request("PATCH", access.server + each[0], body=body, headers=headers).status == 200

    begun, spent = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(send, bodies))
    return time.perf_counter() - begun, time.process_time() - spent


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
