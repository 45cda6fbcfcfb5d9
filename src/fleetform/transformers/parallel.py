"""Many objects through one runner: plugins with processes of their own run at once, bounded by the cores; plugins in
this process run one after another, so that they need not be made for threads. What comes out is in the objects' order,
and the same as the plain way gives."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fleetform.engine.transform.records import Response
from fleetform.transform.runner import Failure, Outcome, Plugin, Runner, ask
from fleetform.transform.views import read_only

# Objects that wait for their answers, for each worker: enough that none is idle, and no more memory than that.
_AHEAD = 8

_Asked = Plugin | Future[Response | Failure]


def run_all(runner: Runner, resources: Iterable[Mapping[str, Any]], workers: int | None = None) -> Iterator[Outcome]:
    """What comes of each object, in their order."""
    workers = workers or os.cpu_count() or 1
    if workers == 1 or not any(getattr(each, "is_external", False) for each in runner.plugins):
        yield from map(runner.run, resources)
        return
    waiting: deque[tuple[Mapping[str, Any], list[_Asked]]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="transform")
    try:
        for resource in resources:
            view = read_only(resource)
            asked: list[_Asked] = [
                pool.submit(ask, each, view) if getattr(each, "is_external", False) else each for each in runner.plugins
            ]
            waiting.append((resource, asked))
            if len(waiting) > _AHEAD * workers:
                yield _finished(runner, *waiting.popleft())
        while waiting:
            yield _finished(runner, *waiting.popleft())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _finished(runner: Runner, resource: Mapping[str, Any], asked: list[_Asked]) -> Outcome:
    view = read_only(resource)
    answers = [each.result() if isinstance(each, Future) else ask(each, view) for each in asked]
    return runner.settle(resource, answers)
