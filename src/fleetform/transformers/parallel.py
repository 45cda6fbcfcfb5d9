"""Many objects through one runner.

Plugins with processes of their own run at once, bounded by the cores, and those that are kept alive get many objects at
once; plugins in this process run one after another, so that they need not be made for threads. What comes out is in the
objects' order, and the same as the plain way gives.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

from fleetform.engine.transform.records import Response
from fleetform.transform.runner import Failure, Outcome, Runner, ask
from fleetform.transform.views import read_only
from fleetform.transformers.plugins import BoundPlugin

# Objects that are taken together: enough that no process waits for the next, and no more memory than that.
_BATCH = 32

_Resources = Sequence[Mapping[str, Any]]
_Answers = list[Response | Failure]


def run_all(runner: Runner, resources: Iterable[Mapping[str, Any]], workers: int | None = None) -> Iterator[Outcome]:
    """What comes of each object, in their order."""
    workers = workers or os.cpu_count() or 1
    if not any(_is_external(each) for each in runner.plugins):
        yield from map(runner.run, resources)
        return
    waiting: deque[tuple[_Resources, list[list[Future[_Answers]]]]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="transform")
    source = iter(resources)
    try:
        while batch := list(islice(source, _BATCH)):
            waiting.append((batch, [_asked(pool, each, batch) for each in runner.plugins]))
            if len(waiting) > workers:
                yield from _finished(runner, *waiting.popleft())
        while waiting:
            yield from _finished(runner, *waiting.popleft())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _is_external(plugin: object) -> bool:
    return isinstance(plugin, BoundPlugin) and plugin.is_external


def _asked(pool: ThreadPoolExecutor, plugin: object, batch: _Resources) -> list[Future[_Answers]]:
    """A plugin's answers to come; none where it runs in this process, and is asked when its turn comes."""
    if not isinstance(plugin, BoundPlugin) or not plugin.is_external:
        return []
    if hasattr(plugin.plugin, "answer_many"):
        return [pool.submit(plugin.run_many, batch)]
    return [pool.submit(plugin.run_many, [each]) for each in batch]


def _finished(runner: Runner, batch: _Resources, asked: list[list[Future[_Answers]]]) -> Iterator[Outcome]:
    answers = []
    for plugin, futures in zip(runner.plugins, asked, strict=True):
        if futures:
            answers.append([answer for future in futures for answer in future.result()])
        else:
            answers.append([ask(plugin, read_only(each)) for each in batch])
    for number, resource in enumerate(batch):
        yield runner.settle(resource, [each[number] for each in answers])
