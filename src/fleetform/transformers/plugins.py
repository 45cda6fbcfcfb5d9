"""What all plugins have in common, however they are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetform.engine.transform.records import Response
from fleetform.syntax.printable import printable
from fleetform.transform.runner import Answer, Failure, ask
from fleetform.transform.wire import OptionalField


class TransformPlugin:
    """A plugin that was found. file is its file's name, identity what its answers depend on: a digest, or `name@N`.

    is_external says that it runs in a process of its own, so that several may run at once.
    """

    is_external = False

    def __init__(
        self, name: str, version: str, file: str, identity: str, optional_fields: Sequence[OptionalField] = ()
    ) -> None:
        self.name, self.version, self.file, self.identity = name, version, file, identity
        self.optional_fields = tuple(optional_fields)

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Answer:
        """What it answers for an object with options."""
        raise NotImplementedError

    def close(self) -> None:
        """End what it keeps running."""


class BoundPlugin:
    """A plugin with its options, as a Runner takes it."""

    def __init__(self, plugin: TransformPlugin, extras: Mapping[str, str] | None = None) -> None:
        self.plugin, self._extras = plugin, dict(extras or {})
        self.name, self.file, self.is_external = plugin.name, plugin.file, plugin.is_external

    def run(self, resource: Mapping[str, Any]) -> Answer:
        return self.plugin.answer(resource, self._extras)

    def run_many(self, resources: Sequence[Mapping[str, Any]]) -> list[Response | Failure]:
        """What it answers for each of several objects; a plugin that can take them at once gets them so."""
        at_once = getattr(self.plugin, "answer_many", None)
        if at_once is None:
            return [ask(self, each) for each in resources]
        answers = at_once(resources, self._extras)
        return [each if isinstance(each, Response) else Failure(self.name, printable(str(each))) for each in answers]
