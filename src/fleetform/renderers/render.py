"""Renders many inputs: each distinct one once, in parallel, and none that is known (B2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import NamedTuple, TypeVar

import msgspec

from fleetform.catalogs.cache import Cache
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.rendering import Rendered, RendererName, RenderFailure, RenderInput
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from fleetform.outside.processes import DEFAULT_LIMITS, Limits, Programs
from fleetform.renderers.cache import Objects, RenderCache
from fleetform.renderers.failures import RenderError, failure_of
from fleetform.renderers.helm import render_chart
from fleetform.renderers.kustomize import render_kustomization
from fleetform.renderers.manifests import read_manifests
from fleetform.renderers.objects import Tree, check_distinct
from fleetform.renderers.scratch import Scratch
from fleetform.renderers.sources import Source, Sources, failed_source
from fleetform.renderers.substitution import substitute_objects
from fleetform.renderers.tools import Tool, Tools
from fleetform.syntax.hashing import render_key

Definition = Object[PluginDefinitionSpec]
Item = TypeVar("Item")
Answer = TypeVar("Answer")

_AT_FAULT = (RenderError, OutsideError, OSError, ValueError, RecursionError, msgspec.MsgspecError)


class _Job(NamedTuple):
    """One distinct render."""

    key: str
    input: RenderInput
    source: Source
    tool: Tool | None

    @property
    def subject(self) -> tuple[str, str]:
        """What renders to the same every time, or does not."""
        return self.input.renderer, self.source.digest


class Renderers:
    """Renders, and remembers what came of it. Sources are looked at once: another look is another Renderers.

    fetching asks repositories anew; else they are asked only for what the cache does not hold. Bytes of folders are
    held until a call ends; a later call that needs them reads them again, and they must be the same.
    """

    def __init__(
        self,
        cache_folder: str,
        fetching: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        workers: int | None = None,
    ) -> None:
        self._fetching = fetching
        self._workers = workers or os.cpu_count() or 1
        self._sources_cache, self._cache = Cache(cache_folder), RenderCache(cache_folder)
        self._programs = Programs(limits)
        self._tools = Tools(self._programs, self._cache)
        # The definition is kept beside, so that no other one gets its identity. Sources are kept without their files.
        self._brought: dict[int, tuple[Definition, Source | RenderFailure]] = {}
        self._held: dict[str, Mapping[str, bytes]] = {}
        self._lock = Lock()

    def digest(self, definition: Definition) -> str | None:
        """The digest of what a definition renders, which is brought here if need be; None where it cannot be had."""
        self._bring([definition])
        self._held.clear()
        source = self._brought[id(definition)][1]
        return source.digest if isinstance(source, Source) else None

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        """One answer for each input, in their order. Inputs that are the same share one, which nobody may change."""
        try:
            answers = self._rendered(inputs)
        finally:
            self._held.clear()
        self._cache.tidy()
        return answers

    def _rendered(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        self._bring([each.definition for each in inputs])
        jobs = [self._job(each) for each in inputs]
        distinct = {job.key: job for job in jobs if isinstance(job, _Job)}
        with Scratch() as scratch:
            found = self._objects(distinct.values(), scratch)
            rendered = [job for job in distinct.values() if isinstance(found[job.key], tuple)]
            unsteady = self._unsteady(rendered, found, scratch)
        answers = {key: _answer(job, found[key], unsteady) for key, job in distinct.items()}
        return [answers[job.key] if isinstance(job, _Job) else job for job in jobs]

    # ---- What there is to do

    def _bring(self, definitions: Iterable[Definition]) -> None:
        missing = list({id(each): each for each in definitions if id(each) not in self._brought}.values())
        if not missing:
            return
        with Web() as web:
            sources = Sources(self._sources_cache, self._fetching, web)

            def bring(definition: Definition) -> Source | RenderFailure:
                try:
                    return sources.bring(definition)
                except _AT_FAULT as error:
                    return failed_source(error, definition).failure

            for definition, source in zip(missing, self._in_parallel(bring, missing), strict=True):
                self._brought[id(definition)] = (definition, self._without_files(source))

    def _without_files(self, source: Source | RenderFailure) -> Source | RenderFailure:
        if isinstance(source, RenderFailure):
            return source
        self._held[source.digest] = source.files
        return source._replace(files={})

    def _files(self, job: _Job) -> Mapping[str, bytes]:
        """The files of a job's source, read again if it was brought in a call before."""
        with self._lock:
            if job.source.digest not in self._held:
                definition = job.input.definition
                with Web() as web:
                    # Whatever had to be fetched was.
                    source = Sources(self._sources_cache, False, web).bring(definition)
                if source.digest != job.source.digest:
                    raise RenderError(f"the source of {definition.ref.name} changed while it was read", "run it again")
                self._held[source.digest] = source.files
            return self._held[job.source.digest]

    def _job(self, input_: RenderInput) -> _Job | RenderFailure:
        source = self._brought[id(input_.definition)][1]
        if isinstance(source, RenderFailure):
            return source
        try:
            tool = self._tool(input_.renderer)
            return _Job(_key(input_, source, tool), input_, source, tool)
        except _AT_FAULT as error:
            return failure_of(error)

    def _tool(self, renderer: RendererName) -> Tool | None:
        if renderer == "helm":
            return self._tools.helm()
        return self._tools.kustomize() if renderer == "kustomize" else None

    # ---- Doing it

    def _objects(self, jobs: Iterable[_Job], scratch: Scratch) -> dict[str, Objects | RenderFailure]:
        """What each job comes to, out of the cache if it is there."""
        found: dict[str, Objects | RenderFailure] = {}
        fresh: list[_Job] = []
        for job in jobs:
            kept = self._cache.objects(job.key)
            if kept is None:
                fresh.append(job)
            else:
                found[job.key] = kept
        for job, made in zip(fresh, self._in_parallel(lambda job: self._render(job, scratch), fresh), strict=True):
            found[job.key] = made
            if isinstance(made, tuple):
                self._cache.keep_objects(job.key, made)
        return found

    def _unsteady(
        self, jobs: Iterable[_Job], found: dict[str, Objects | RenderFailure], scratch: Scratch
    ) -> set[tuple[str, str]]:
        """The sources that change by themselves; of one that nobody tried yet, one job is done again (B28)."""
        one_each: dict[tuple[str, str], _Job] = {}
        for job in jobs:
            one_each.setdefault(job.subject, job)
        untried = [job for subject, job in one_each.items() if self._cache.is_steady(*subject) is None]
        again = self._in_parallel(lambda job: self._render(job, scratch), untried)
        unsteady = {subject for subject in one_each if self._cache.is_steady(*subject) is False}
        for job, made in zip(untried, again, strict=True):
            if isinstance(made, RenderFailure):
                continue
            steady = msgspec.json.encode(made) == msgspec.json.encode(found[job.key])
            self._cache.keep_steady(*job.subject, steady)
            if not steady:
                unsteady.add(job.subject)
        return unsteady

    def _render(self, job: _Job, scratch: Scratch) -> Objects | RenderFailure:
        try:
            objects = self._by_renderer(job, scratch)
            check_distinct(objects, job.input.release_namespace)
            return tuple(objects)
        except _AT_FAULT as error:
            return failure_of(error)

    def _by_renderer(self, job: _Job, scratch: Scratch) -> list[Tree]:
        input_, source = job.input, job.source
        if input_.renderer == "helm":
            assert job.tool is not None
            chart = source.archive or scratch.export(source, partial(self._files, job)).folder
            names = (input_.release_name, input_.release_namespace)
            return render_chart(self._programs, job.tool, chart, input_.values, *names)
        if input_.renderer == "kustomize":
            assert job.tool is not None
            objects = render_kustomization(self._programs, job.tool, *scratch.export(source, partial(self._files, job)))
        else:
            objects = read_manifests(self._files(job), source.folder)
        return substitute_objects(objects, input_.variables, input_.strict, input_.declared_only, input_.unset)

    def _in_parallel(self, work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        if len(items) < 2:
            return [work(item) for item in items]
        pool = ThreadPoolExecutor(min(self._workers, len(items)))
        try:
            return list(pool.map(work, items))
        except BaseException:
            # Whoever interrupts us waits for no tool.
            self._programs.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _key(input_: RenderInput, source: Source, tool: Tool | None) -> str:
    return render_key(
        {
            "source": source.digest,
            "renderer": input_.renderer,
            "tool": tool.version if tool is not None else None,
            "values": input_.values,
            "variables": input_.variables,
            "unset": list(input_.unset),
            "strict": input_.strict,
            "declaredOnly": input_.declared_only,
            "configs": [list(each) for each in input_.configs],
            "releaseName": input_.release_name,
            "releaseNamespace": input_.release_namespace,
        }
    )


def _answer(job: _Job, found: Objects | RenderFailure, unsteady: set[tuple[str, str]]) -> Rendered | RenderFailure:
    return found if isinstance(found, RenderFailure) else Rendered(job.key, found, job.subject in unsteady)
