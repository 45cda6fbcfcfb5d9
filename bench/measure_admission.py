"""Admission over HTTPS: answers to writes of all kinds, on a fleet of 10,000 plugins that is decided.

The endpoint is the real one, in this process, and who asks has one connection, as an API server keeps it. A time is
what the processor works for an answer, TLS, JSON and the one who asks included: nobody waits for anything else.
"""

from __future__ import annotations

import gc
import json
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import msgspec

from bench.calibrate import calibrate
from bench.fleets import ORGANIZATION, Size, make_fleet
from bench.table import Row, at_most, plainly
from fleetform.app.fleet import Fleet
from fleetform.load.locator import FileLocator
from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Object
from fleetform.model.snapshot import Snapshot
from fleetform.operator.admission.certificates import Keys, due
from fleetform.operator.admission.manifests import PATH
from fleetform.operator.admission.serving import Admission, AdmissionServer
from fleetform.outside.certificates import Certificate
from fleetform.outside.listening import listen
from fleetform.outside.promptness import answer_promptly
from fleetform.ports.inputs import Input
from fleetform.ports.state import KnownState

CLUSTERS, EACH = 1000, 60
TITLE = "Admission: writes to a fleet of 10,000 plugins with 500 overrides, over HTTPS"
Manifest = dict[str, Any]
# Old and new object of the request with a number.
Writes = Callable[[int], tuple[Manifest | None, Manifest]]


def rows() -> list[Row]:
    loop = calibrate()
    answer_promptly()
    snapshot = make_fleet(Size(CLUSTERS))
    fleet = Fleet(Input([], [], FileLocator()), snapshot, KnownState(), ())
    assert len(fleet.decisions.plugins) == 10 * CLUSTERS
    gc.collect()
    found, all_of_them = [], []
    with _served(fleet) as ask:
        for write in _usual(snapshot).values():
            # What is made when it is first asked for, and kept.
            ask(*write(EACH))
        for what, write in _usual(snapshot).items():
            times = [ask(*write(number)) for number in range(EACH)]
            all_of_them += times
            found.append(plainly(f"  {what}, median", median(times), "ms", loop))
        for what, write in _wide(snapshot).items():
            times = [ask(*write(number)) for number in range(EACH // 4)]
            found.append(plainly(f"  {what}, median", median(times), "ms", loop))
    return [at_most("p99 of writes that reach a part of the fleet", _p99(all_of_them), 20.0, "ms", loop), *found]


def _usual(snapshot: Snapshot) -> dict[str, Writes]:
    return {
        "an override of three clusters by name": _override(snapshot, "names"),
        "an override of a region": _override(snapshot, "labels"),
        "a Plugin beside a preset": _instance,
        "a cluster that joins": _cluster(snapshot),
        "a preset on a region": _preset(snapshot),
    }


def _wide(snapshot: Snapshot) -> dict[str, Writes]:
    return {
        "an override of every plugin": _override(snapshot, "everything"),
        "a definition's next version, on 1,000 clusters": _version(snapshot),
    }


def _override(snapshot: Snapshot, reach: str) -> Writes:
    def reaches(override: Object[Any]) -> str:
        selector = override.spec.cluster_selector
        return "everything" if selector is None else "names" if selector.cluster_names else "labels"

    those = [each for each in snapshot.overrides.values() if reaches(each) == reach]

    def write(number: int) -> tuple[Manifest, Manifest]:
        old, new = _manifest(those[number % len(those)]), _manifest(those[number % len(those)])
        new["spec"]["overrides"][0]["value"] = 1_000_000 + number
        return old, new

    return write


def _instance(number: int) -> tuple[None, Manifest]:
    spec = {
        "presetRef": {"name": "p0"},
        "clusterName": f"c{number}",
        "optionValues": [{"name": "group1.option1", "value": number}],
    }
    return None, _named("Plugin", f"p0-c{number}", spec)


def _cluster(snapshot: Snapshot) -> Writes:
    some = next(iter(snapshot.clusters.values()))
    return lambda number: (None, {**_manifest(some), "metadata": {**_metadata(f"new-{number}"), "labels": some.labels}})


def _preset(snapshot: Snapshot) -> Writes:
    def write(number: int) -> tuple[None, Manifest]:
        plugin = {"pluginDefinition": {"name": f"d{number % 10}"}, "releaseName": f"more-{number}"}
        selector = {"matchLabels": {"region": f"r{number % 20}"}}
        return None, _named("PluginPreset", f"more-{number}", {"plugin": plugin, "clusterSelector": selector})

    return write


def _version(snapshot: Snapshot) -> Writes:
    those = list(snapshot.definitions.values())

    def write(number: int) -> tuple[Manifest, Manifest]:
        old, new = _manifest(those[number % len(those)]), _manifest(those[number % len(those)])
        new["spec"]["version"] = "1.1.0"
        return old, new

    return write


def _manifest(object_: Object[Any]) -> Manifest:
    found = _named(object_.ref.kind, object_.ref.name, msgspec.to_builtins(object_.spec))
    return {**found, "metadata": {**found["metadata"], "labels": dict(object_.labels)}}


def _named(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": _metadata(name), "spec": spec}


def _metadata(name: str) -> Manifest:
    return {"name": name, "namespace": ORGANIZATION, "creationTimestamp": "2026-10-01T00:00:00Z"}


@contextmanager
def _served(fleet: Fleet) -> Iterator[Callable[[Manifest | None, Manifest], float]]:
    """Asks the endpoint, and says how many milliseconds that took."""
    made = due(None, ["127.0.0.1"], datetime.now(UTC), published=False)
    assert made is not None
    with tempfile.TemporaryDirectory() as name:
        listening = listen("127.0.0.1:0", secure=True)
        server = AdmissionServer(Admission(lambda: fleet, "nobody"), listening, _files(made, Path(name)))
        context = ssl.create_default_context(cadata=made.bundle.decode())
        connection = HTTPSConnection("127.0.0.1", listening.socket.getsockname()[1], context=context)

        def ask(old: Manifest | None, new: Manifest) -> float:
            body = _review(old, new)
            began = time.process_time()
            connection.request("POST", PATH, body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            seconds = time.process_time() - began
            assert answer["response"]["allowed"], answer
            return seconds * 1000

        try:
            yield ask
        finally:
            connection.close()
            server.close()


def _review(old: Manifest | None, new: Manifest) -> bytes:
    group, _, version = API_VERSION.partition("/")
    request = {
        "uid": "0",
        "kind": {"group": group, "version": version, "kind": new["kind"]},
        "operation": "CREATE" if old is None else "UPDATE",
        "name": new["metadata"]["name"],
        "namespace": ORGANIZATION,
        "userInfo": {"username": "somebody"},
        "object": new,
        **({"oldObject": old} if old is not None else {}),
    }
    return msgspec.json.encode({"request": request})


def _files(keys: Keys, folder: Path) -> Certificate:
    (folder / "tls.crt").write_bytes(keys.leaf)
    (folder / "tls.key").write_bytes(keys.leaf_key)
    return Certificate(str(folder / "tls.crt"), str(folder / "tls.key"))


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100)[98]
