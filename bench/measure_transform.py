"""Transforms: settling, applying, and the ways to run plugins, as ratios in one run.

The peer's figures were measured on 2 cores of a machine whose calibration loop is not known; ratios are what counts. A
plugin of its own process is the one in bench/transform, built with Go; without Go it is a shell script and, where it
streams, one in Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.calibrate import best_of, calibrate
from bench.peers import deployment
from bench.table import Row, at_least, at_most, plainly, print_table
from fleetform.engine.transform.records import Proposal, Response
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import CRANE, Operation, apply_text, parse_patch, write_patch
from fleetform.transform import Runner
from fleetform.transform.wire import write_request
from fleetform.transformers.discover import discover
from fleetform.transformers.executables import Workshop
from fleetform.transformers.parallel import run_all
from fleetform.transformers.plugins import BoundPlugin

CRANE_RUN_US, CRANE_APPLY_US = 168.278, 601.916
RESOURCES, PLUGINS, STARTED = 10_000, 5, 1_000
OBJECT = deployment("web")
# Ten operations of five plugins: two conflicts, and one pair that is equal.
FIVE: list[list[dict[str, Any]]] = [
    [{"op": "remove", "path": "/status"}, {"op": "remove", "path": "/metadata/uid"},
     {"op": "replace", "path": "/spec/replicas", "value": 1}],
    [{"op": "add", "path": "/metadata/labels/migrated", "value": "true"},
     {"op": "replace", "path": "/spec/replicas", "value": 2}],
    [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mirror.local/team/web:1.2.0"},
     {"op": "remove", "path": "/status"}],
    [{"op": "add", "path": "/metadata/annotations/example.com~1owner", "value": "team-a"},
     {"op": "add", "path": "/metadata/labels/migrated", "value": "yes"}],
    [{"op": "add", "path": "/spec/template/spec/tolerations", "value": [{"operator": "Exists"}]}],
]  # fmt: skip
TITLE = f"Transforms: {RESOURCES:,} resources × {PLUGINS} plugins, a Deployment of 4.7 kB"

_SHELL = """#!/bin/sh
read -r request
if [ "$request" = "{}" ]; then
  echo '{"name":"sh","version":"v1","requestVersion":["v1"],"responseVersion":["v1"]}'
else
  echo '{"version":"v1","patches":[{"op":"replace","path":"/spec/replicas","value":2}]}'
fi
"""
_STREAM = f"""#!{sys.executable}
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    reply = {{"version": "v1", "patches": [{{"op": "replace", "path": "/spec/replicas", "value": 2}}]}}
    if not request:
        reply = {{"name": "py", "requestVersion": ["v1"], "responseVersion": ["v1"], "modes": ["stream"]}}
    reply["requestId"] = request.get("requestId")
    print(json.dumps(reply), flush=True)
"""


class Fixed:
    """A plugin in this process that looks at the object, and answers with its operations."""

    def __init__(self, number: int) -> None:
        self.name = f"p{number}"
        self._response = Response(parse_patch(FIVE[number]))

    def run(self, resource: Mapping[str, Any]) -> Response:
        return self._response if resource.get("kind") == "Deployment" else Response()


def rows() -> list[Row]:
    return [*_pure(), *_processes()]


def _pure() -> list[Row]:
    loop = calibrate()
    runner = Runner([Fixed(number) for number in range(PLUGINS)], {f"p{number}": number for number in range(PLUGINS)})
    run = _microseconds(lambda: runner.run(OBJECT))
    kept: list[Operation] = [each.operation for each in runner.run(OBJECT).kept]
    document, patch = msgspec.json.encode(OBJECT), write_patch(kept)
    applied = _microseconds(lambda: apply_text(document, patch, CRANE))
    small, large = (min(_seconds(number) for _ in range(3)) for number in (1_000, 10_000))
    return [
        plainly("Crane 0.1.5, five in-process plugins, its own code", CRANE_RUN_US, "µs a resource"),
        at_most("Fleetform, the same five in Python", run, CRANE_RUN_US, "µs a resource", loop),
        plainly("Crane's apply, its own code", CRANE_APPLY_US, "µs a resource"),
        at_most("Fleetform's apply, text to text", applied, CRANE_APPLY_US, "µs a resource", loop),
        at_most("settling 1,000 operations of 10 plugins on one object", small * 1000, 20, "ms", loop),
        at_most("  and 10,000, of that time", large / small, 13, "×"),
    ]


def _microseconds(work: Callable[[], object]) -> float:
    return best_of(5, lambda: [work() for _ in range(1_000)]) / 1_000 * 1e6


def _seconds(number: int) -> float:
    proposals = _clashing(number)
    return best_of(1, lambda: settle(OBJECT, proposals))


def _clashing(number: int) -> list[Proposal]:
    """Ten plugins; every fifth path is another's too, above or below it, or in the same list."""
    found = []
    for plugin in range(10):
        operations = []
        for each in range(number // 10):
            mine = f"{plugin}-{each}"
            paths = (
                f"/metadata/annotations/a{mine}",
                f"/spec/x{mine}/y/z",
                f"/spec/common{each}/y{'/z' * (plugin % 2)}",
                f"/spec/template/spec/containers/0/env/{plugin * number + each}/value",
                f"/data/k{mine}",
            )
            path = paths[each % 5]
            operations.append(Operation(op="add", path=path, value=plugin))
        found.append(Proposal(f"p{plugin}", Response(tuple(operations)), (plugin * 7) % 10))
    return found


def _processes() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        started, streaming = _plugins(Path(folder))
        resources = [{**OBJECT, "metadata": {**OBJECT["metadata"], "name": f"web-{each}"}} for each in range(RESOURCES)]
        one_by_one = _wait(lambda: _one_exec_after_another(started, resources[:STARTED])) / STARTED
        at_once = _wait(lambda: _through(started, resources[:STARTED], None, streams=False)) / STARTED
        one_stream = _wait(lambda: _through(streaming, resources, 1)) / RESOURCES
        streams = _wait(lambda: _through(streaming, resources, None)) / RESOURCES
    runner = Runner([Fixed(number) for number in range(PLUGINS)])
    in_process = _wait(lambda: _finish(run_all(runner, resources))) / RESOURCES
    cores = os.cpu_count() or 1
    return [
        plainly(f"one exec after another ({STARTED:,} resources)", one_by_one * 1000, "ms a resource"),
        plainly(f"unmodified executables on {cores} cores", at_once * 1000, "ms a resource"),
        at_least("  faster", one_by_one / at_once, 1.5),
        plainly("streaming, one process a plugin", one_stream * 1000, "ms a resource"),
        at_least("  faster", one_by_one / one_stream, 7),
        plainly("streaming, one a plugin and core", streams * 1000, "ms a resource"),
        at_least("  faster", one_by_one / streams, 10),
        plainly("in Python, in this process", in_process * 1000, "ms a resource"),
        at_least("  faster", one_by_one / in_process, 30),
    ]


def _plugins(folder: Path) -> tuple[Path, Path]:
    """Folders of five plugins: of those that are started each time, and of those that stream."""
    names = [f"plugin-{number}" for number in range(PLUGINS)]
    binary = _built(folder)
    for kind, text in (("started", _SHELL), ("streaming", _STREAM)):
        (folder / kind).mkdir()
        for name in names:
            path = folder / kind / name
            if binary is not None:
                os.link(binary, path)
            else:
                path.write_text(text, encoding="utf-8")
                path.chmod(0o755)
    return folder / "started", folder / "streaming"


def _built(folder: Path) -> Path | None:
    go, binary = shutil.which("go"), folder / "plugin"
    if go is None:
        return None
    source = Path(__file__).parent / "transform" / "plugin.go"
    done = subprocess.run([go, "build", "-o", str(binary), str(source)], capture_output=True, check=False)
    return binary if done.returncode == 0 else None


def _one_exec_after_another(folder: Path, resources: Iterable[dict[str, Any]]) -> None:
    paths = [str(path) for path in sorted(folder.iterdir())]
    for resource in resources:
        request = write_request(resource, None)
        for path in paths:
            subprocess.run([path], input=request, capture_output=True, check=True)


def _through(folder: Path, resources: Iterable[dict[str, Any]], workers: int | None, streams: bool = True) -> None:
    with Workshop(workers=workers) as workshop:
        found = discover(str(folder), workshop, streams)
        assert len(found.plugins) == PLUGINS, found.problems
        _finish(run_all(Runner([BoundPlugin(each) for each in found.plugins]), resources, workers))


def _finish(outcomes: Iterable[Any]) -> None:
    assert not any(each.failures for each in outcomes)


def _wait(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    print_table(TITLE, rows())
