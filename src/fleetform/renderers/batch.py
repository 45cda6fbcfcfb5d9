"""Renders many inputs: each distinct one once, in parallel, and none that is in the cache (B2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import NamedTuple, TypeVar

import msgspec

from fleetform.app.reading.source_folders import is_local
from fleetform.artifacts.obtain import Artifact, Artifacts
from fleetform.artifacts.store import ArtifactStore
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import read_file
from fleetform.outside.http import Web
from fleetform.outside.processes import DEFAULT_LIMITS, Limits, Programs
from fleetform.ports.rendering import RenderSource
from fleetform.renderers.addon_template import render_template
from fleetform.renderers.cache import RenderCache, RenderedObjects
from fleetform.renderers.failures import RenderError, failure_of, source_failure, still_fetched
from fleetform.renderers.helm import render_chart
from fleetform.renderers.kustomize import render_kustomization
from fleetform.renderers.manifests import odd_keys, read_manifests
from fleetform.renderers.parse import check_distinct
from fleetform.renderers.scratch import Scratch
from fleetform.renderers.slow_sources import SlowSources
from fleetform.renderers.substitution import substitute_objects
from fleetform.renderers.tools import Tool, Tools
from fleetform.syntax.hashing import render_key
from fleetform.syntax.trees import YamlMap

Definition = Object[PluginDefinitionSpec]
Item = TypeVar("Item")
Answer = TypeVar("Answer")

_AT_FAULT = (RenderError, OutsideError, OSError, ValueError, RecursionError, msgspec.MsgspecError)


class _Job(NamedTuple):
    """One distinct render."""

    key: str
    input: RenderInput
    artifact: Artifact
    tool: Tool | None

    @property
    def subject(self) -> tuple[str, str]:
        """A renderer and an artifact: whether they render the same every time is found out once for all inputs."""
        return self.input.renderer, self.artifact.digest


def _from_template(input_: RenderInput) -> Rendered | RenderFailure:
    """The objects of an AddOnTemplate, which needs neither a source nor a tool."""
    assert input_.add_on is not None
    key = render_key(
        {
            "renderer": input_.renderer,
            "addOn": list(input_.add_on),
            "values": input_.values,
            "configs": [list(each) for each in input_.configs],
        }
    )
    try:
        objects = render_template(input_.add_on, input_.values)
        check_distinct(objects, input_.release_namespace)
        return Rendered(key, tuple(objects))
    except _AT_FAULT as error:
        return failure_of(error)


class Renderers:
    """Renders, and keeps the results. Each artifact is obtained once: to see changes, make another Renderers.

    fetching asks repositories again; otherwise they are asked only for what is not in the store. Bytes of folders are
    kept in memory until a call ends; a later call that needs them reads them again, and they must be the same.
    patience: sources elsewhere that take more seconds are not there yet, and are fetched on for a later call.
    """

    def __init__(
        self,
        cache_folder: str,
        fetching: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        workers: int | None = None,
        boundary: Boundary = EVERYWHERE,
        patience: float | None = None,
    ) -> None:
        self._fetching, self._boundary = fetching, boundary
        self._slow = SlowSources[Artifact | RenderFailure](patience) if patience is not None else None
        self._workers = workers or os.cpu_count() or 1
        self._store, self._cache = ArtifactStore(cache_folder), RenderCache(cache_folder)
        self._programs = Programs(limits)
        self._tools = Tools(self._programs, self._cache)
        # By identity; the definition is kept beside, so that no other one gets its identity. Without files.
        self._obtained: dict[int, tuple[Definition, Artifact | RenderFailure]] = {}
        self._files_by_digest: dict[str, Mapping[str, bytes]] = {}
        self._odd_keys: dict[str, tuple[str, ...]] = {}
        self._lock = Lock()

    def digest(self, definition: Definition) -> str | None:
        """The digest of what a definition renders, which is obtained if need be; None if that fails."""
        self._obtain([definition])
        self._files_by_digest.clear()
        artifact = self._obtained[id(definition)][1]
        return artifact.digest if isinstance(artifact, Artifact) else None

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        """One answer for each input, in their order. Equal inputs share one answer, which must not be changed."""
        made_here = {id(each): _from_template(each) for each in inputs if each.add_on is not None}
        try:
            self._obtain([each.definition for each in inputs if each.add_on is None])
            jobs = [self._job(each) if each.add_on is None else made_here[id(each)] for each in inputs]
            distinct = {job.key: job for job in jobs if isinstance(job, _Job)}
            with Scratch() as scratch:
                found = self._objects(distinct.values(), scratch)
                rendered = [job for job in distinct.values() if isinstance(found[job.key], tuple)]
                unsteady = self._unsteady(rendered, found, scratch)
        finally:
            self._files_by_digest.clear()
            # What could not be had may be there the next time.
            self._obtained = {key: each for key, each in self._obtained.items() if isinstance(each[1], Artifact)}
        self._cache.tidy()
        answers: dict[str, Rendered | RenderFailure] = {}
        for key, job in distinct.items():
            made = found[key]
            odd = self._odd_keys.get(job.artifact.digest, ()) if job.input.renderer == "manifests" else ()
            unlike = job.subject in unsteady
            answers[key] = made if isinstance(made, RenderFailure) else Rendered(key, made, unlike, odd)
        return [answers[job.key] if isinstance(job, _Job) else job for job in jobs]

    def source(self, input_: RenderInput) -> RenderSource | None:
        """What was rendered; files are read when they are asked for."""
        found = self._obtained.get(id(input_.definition)) if input_.add_on is None else None
        artifact = found[1] if found is not None else None
        if not isinstance(artifact, Artifact):
            return None
        return RenderSource(artifact.digest, partial(self._source_files, input_.definition, artifact))

    def render_from(self, input_: RenderInput, files: Mapping[str, bytes]) -> Rendered | RenderFailure:
        """The objects of an input, out of these very files of its source. Nothing is kept: secrets may be in it."""
        if input_.add_on is not None:
            return _from_template(input_)
        try:
            with Scratch() as scratch:
                artifact = Artifact("", dict(files))
                if len(files) == 1 and input_.renderer == "helm":
                    (name,) = files
                    folder = scratch.export(artifact, lambda: files).folder
                    artifact = artifact._replace(archive=os.path.join(folder, name))
                job = _Job("", input_, artifact, self._tool(input_))
                objects = self._render_with_tool(job, scratch, lambda: files)
                check_distinct(objects, input_.release_namespace)
                return Rendered("", tuple(objects))
        except _AT_FAULT as error:
            return failure_of(error)

    def _source_files(self, definition: Definition, artifact: Artifact) -> Mapping[str, bytes]:
        if artifact.archive is not None:
            return {os.path.basename(artifact.archive): read_file(artifact.archive)}
        try:
            return self._files(definition, artifact)
        finally:
            self._files_by_digest.clear()

    # ---- Jobs, for all that a tool renders or that lies in a source

    def _obtain(self, definitions: Iterable[Definition]) -> None:
        missing = list({id(each): each for each in definitions if id(each) not in self._obtained}.values())
        if not missing:
            return
        for definition, artifact in self._obtained_now(missing):
            if isinstance(artifact, Artifact):
                source = definition.spec.source
                if source is not None and source.manifests is not None:
                    self._odd_keys[artifact.digest] = odd_keys(artifact.files, artifact.folder)
                self._files_by_digest[artifact.digest] = artifact.files
                artifact = artifact._replace(files={})
            self._obtained[id(definition)] = (definition, artifact)

    def _obtained_now(self, missing: Sequence[Definition]) -> Iterator[tuple[Definition, Artifact | RenderFailure]]:
        """Artifacts, or why they are not there. Where slow sources are not waited for that may be a reason, too."""
        far = [each for each in missing if self._slow is not None and not is_local(each)]
        if self._slow is not None and far:
            for definition, found in zip(far, self._slow.obtain(far, self._obtaining), strict=True):
                yield definition, found or still_fetched(definition)
        near = [each for each in missing if self._slow is None or is_local(each)]
        with self._obtaining() as obtain:
            yield from zip(near, self._in_parallel(obtain, near), strict=True)

    @contextmanager
    def _obtaining(self) -> Iterator[Callable[[Definition], Artifact | RenderFailure]]:
        with Web() as web:
            artifacts = Artifacts(self._store, self._fetching, web, self._boundary)

            def obtain(definition: Definition) -> Artifact | RenderFailure:
                try:
                    return artifacts.obtain(definition)
                except _AT_FAULT as error:
                    return source_failure(error, definition)

            yield obtain

    def _files(self, definition: Definition, known: Artifact) -> Mapping[str, bytes]:
        """The files of an artifact, read again if it was obtained by an earlier call."""
        with self._lock:
            if known.digest not in self._files_by_digest:
                with Web() as web:
                    # Not fetching: what had to be fetched was fetched then.
                    artifact = Artifacts(self._store, False, web, self._boundary).obtain(definition)
                if artifact.digest != known.digest:
                    raise RenderError(f"the source of {definition.ref.name} changed while it was read", "run it again")
                self._files_by_digest[artifact.digest] = artifact.files
            return self._files_by_digest[known.digest]

    def _job(self, input_: RenderInput) -> _Job | RenderFailure:
        artifact = self._obtained[id(input_.definition)][1]
        if isinstance(artifact, RenderFailure):
            return artifact
        try:
            tool = self._tool(input_)
            key = render_key(
                {
                    "source": artifact.digest,
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
            return _Job(key, input_, artifact, tool)
        except _AT_FAULT as error:
            return failure_of(error)

    def _tool(self, input_: RenderInput) -> Tool | None:
        if input_.renderer == "helm":
            return self._tools.helm()
        return self._tools.kustomize() if input_.renderer == "kustomize" else None

    # ---- Renders

    def _objects(self, jobs: Iterable[_Job], scratch: Scratch) -> dict[str, RenderedObjects | RenderFailure]:
        """The objects of each job, from the cache if they are in it."""
        found: dict[str, RenderedObjects | RenderFailure] = {}
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
        self, jobs: Iterable[_Job], found: dict[str, RenderedObjects | RenderFailure], scratch: Scratch
    ) -> set[tuple[str, str]]:
        """What renders differently every time. To find out, one job of each new artifact is rendered twice (B28)."""
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

    def _render(self, job: _Job, scratch: Scratch) -> RenderedObjects | RenderFailure:
        try:
            files = partial(self._files, job.input.definition, job.artifact)
            objects = self._render_with_tool(job, scratch, files)
            check_distinct(objects, job.input.release_namespace)
            return tuple(objects)
        except _AT_FAULT as error:
            return failure_of(error)

    def _render_with_tool(self, job: _Job, scratch: Scratch, files: Callable[[], Mapping[str, bytes]]) -> list[YamlMap]:
        input_, artifact = job.input, job.artifact
        if input_.renderer == "helm":
            assert job.tool is not None
            chart = artifact.archive or scratch.export(artifact, files).folder
            names = (input_.release_name, input_.release_namespace)
            return render_chart(self._programs, job.tool, chart, input_.values, *names)
        if input_.renderer == "kustomize":
            assert job.tool is not None
            objects = render_kustomization(self._programs, job.tool, *scratch.export(artifact, files))
        else:
            objects = read_manifests(files(), artifact.folder)
        return substitute_objects(objects, input_.variables, input_.strict, input_.declared_only, input_.unset)

    def _in_parallel(self, work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        if len(items) < 2:
            return [work(item) for item in items]
        pool = ThreadPoolExecutor(min(self._workers, len(items)))
        try:
            return list(pool.map(work, items))
        except BaseException:
            # Nobody who interrupts waits for a tool.
            self._programs.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
