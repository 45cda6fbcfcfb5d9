"""Executables, as Crane has them: one process for each request, or one that is kept alive if it says that it can be."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from itertools import count, islice
from threading import Lock
from typing import Any, Self

from fleetform.engine.transform.records import Response
from fleetform.outside.errors import OutsideError
from fleetform.outside.processes import Limits, Programs
from fleetform.outside.streams import EndedError, Stream
from fleetform.transform.runner import PluginError
from fleetform.transform.wire import (
    ASKS_FOR_METADATA,
    STREAM,
    OutOfStepError,
    PluginMetadata,
    WireError,
    complaint,
    read_metadata,
    read_reply,
    write_request,
)
from fleetform.transformers.plugins import TransformPlugin

# For one object, however large.
PLUGIN_LIMITS = Limits(seconds=10.0, memory=1_000_000_000, output=16_000_000)


class Workshop:
    """What executables run with: bounds, a scratch folder, and how many of each may be kept alive."""

    def __init__(self, limits: Limits = PLUGIN_LIMITS, workers: int | None = None) -> None:
        self.limits = limits
        self.programs = Programs(limits)
        self.workers = workers or os.cpu_count() or 1
        self._scratch = tempfile.TemporaryDirectory(prefix="fleetform-", ignore_cleanup_errors=True)
        self._plugins: list[TransformPlugin] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def folder(self) -> str:
        """A folder for one plugin, which lasts as long as this."""
        return tempfile.mkdtemp(dir=self._scratch.name)

    def keep(self, plugin: TransformPlugin) -> None:
        """Close a plugin with this."""
        self._plugins.append(plugin)

    def close(self) -> None:
        """End everything that runs."""
        self.programs.stop()
        for plugin in self._plugins:
            plugin.close()
        self._scratch.cleanup()


class LoadError(Exception):
    """Why a plugin cannot be used, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def load_executable(path: str, workshop: Workshop, streams: bool = True) -> TransformPlugin:
    """An executable, asked for its metadata; one that can be kept alive is, unless streams is false."""
    file, folder = os.path.basename(path), workshop.folder()
    try:
        done = workshop.programs.run([path], ASKS_FOR_METADATA, scratch=folder)
        if done.code:
            said = complaint(done.stderr)
            raise LoadError(f"it ended with {done.code}" + (f": {said}" if said else ""), _RUN_BY_HAND.format(path))
        if done.stderr:
            hint = f"print nothing on stderr when asked for metadata: {_RUN_BY_HAND.format(path)}"
            raise LoadError(f"it complains when asked for metadata: {complaint(done.stderr)}", hint)
        metadata = read_metadata(done.stdout)
    except OutsideError as error:
        raise LoadError(error.message, error.hint) from error
    except WireError as error:
        raise LoadError(str(error), _RUN_BY_HAND.format(path)) from error
    kind = StreamPlugin if streams and metadata.streams else ExecutablePlugin
    plugin = kind(path, file, metadata, workshop, folder)
    workshop.keep(plugin)
    return plugin


_RUN_BY_HAND = "try it by hand: echo '{{}}' | {}"


class ExecutablePlugin(TransformPlugin):
    """A process for each request."""

    is_external = True

    def __init__(self, path: str, file: str, metadata: PluginMetadata, workshop: Workshop, folder: str) -> None:
        name = metadata.name or file
        super().__init__(name, metadata.version, file, digest_of(path), metadata.optional_fields or ())
        self._path, self._workshop, self._folder = path, workshop, folder

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Response:
        try:
            done = self._workshop.programs.run([self._path], write_request(resource, extras), scratch=self._folder)
        except OutsideError as error:
            raise PluginError(error.message) from error
        if done.code:
            raise PluginError(complaint(done.stderr) or f"it ended with {done.code}")
        return read_reply(done.stdout)


class StreamPlugin(ExecutablePlugin):
    """Processes that are kept alive, at most one for each worker; requests go to whichever is idle, many at once."""

    def __init__(self, path: str, file: str, metadata: PluginMetadata, workshop: Workshop, folder: str) -> None:
        super().__init__(path, file, metadata, workshop, folder)
        self._idle: list[Stream] = []
        self._lock = Lock()
        # No number comes twice: an answer that is late can be told from the one that is due.
        self._numbers = count()

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Response:
        (found,) = self.answer_many([resource], extras)
        if isinstance(found, PluginError):
            raise found
        return found

    def answer_many(
        self, resources: Sequence[Mapping[str, Any]], extras: Mapping[str, str]
    ) -> list[Response | PluginError]:
        """What it answers for each of several objects; after one on which a process fails the next one goes on."""
        found: list[Response | PluginError] = []
        while len(found) < len(resources):
            found += self._answer_until_failure(resources[len(found) :], extras)
        return found

    def _answer_until_failure(
        self, resources: Sequence[Mapping[str, Any]], extras: Mapping[str, str]
    ) -> list[Response | PluginError]:
        found: list[Response | PluginError] = []
        with self._lock:
            numbers = list(islice(self._numbers, len(resources)))
        lines = [write_request(each, extras, number) for number, each in zip(numbers, resources, strict=True)]
        try:
            stream = self._take()
        except OutsideError as error:
            return [PluginError(error.message)]
        try:
            for number, line in zip(numbers, stream.ask(lines), strict=True):
                found.append(_reply_of(line, number))
        except BaseException as error:
            # Whatever it says next would be taken for the answer to another request.
            stream.close()
            if isinstance(error, EndedError):
                return [*found, PluginError(complaint(error.stderr) or error.message)][: len(resources)]
            if isinstance(error, (OutsideError, OutOfStepError)):
                return [*found, PluginError(getattr(error, "message", str(error)))][: len(resources)]
            raise
        with self._lock:
            self._idle.append(stream)
        return found

    def _take(self) -> Stream:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Stream(self._workshop.programs, [self._path, STREAM], self._folder, self._workshop.limits)

    def close(self) -> None:
        with self._lock:
            for stream in self._idle:
                stream.close()
            self._idle.clear()


def _reply_of(line: bytes, number: int) -> Response | PluginError:
    try:
        return read_reply(line, number)
    except OutOfStepError:
        raise
    except WireError as error:
        return PluginError(str(error))


def digest_of(path: str) -> str:
    """The digest of a plugin's bytes, as `transforms[].digest` pins it."""
    with open(path, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
