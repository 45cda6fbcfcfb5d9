"""What is there: objects of an API server as a cache knows them, without what only the server needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from threading import Event, Lock, Thread
from typing import Any

import msgspec
from msgspec import Struct

from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Ref
from fleetform.operator.status.wanted import is_of
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import NoKindError
from fleetform.outside.kubernetes.reflector import ObjectKey, Reflector
from fleetform.outside.kubernetes.resources import Resource

# One that is listing is not interrupted, and does not keep the process.
_PATIENCE = 2.0
_NOTHING = msgspec.Raw(b"null")


class SeenMetadata(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """An object's metadata but for managedFields, which are the larger part of most objects."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[dict[str, Any]] | None = None


class Seen(Struct, rename="camel", gc=False):
    """An object as it is there. spec and status are JSON texts: a tree of each would be several times as large."""

    metadata: SeenMetadata
    spec: msgspec.Raw = _NOTHING
    status: msgspec.Raw = _NOTHING

    def __post_init__(self) -> None:
        # What was decoded refers to the whole page that it stood in.
        self.spec, self.status = self.spec.copy(), self.status.copy()


class Cache:
    """Objects of several kinds, each followed in a thread of its own; one for all who write.

    failed is told which kind cannot be followed for a while, and why.
    """

    def __init__(
        self,
        client: Client,
        kinds: Iterable[tuple[str, str]],
        failed: Callable[[str, OutsideError], None] = lambda kind, error: None,
    ) -> None:
        self._client, self._failed = client, failed
        self._listeners: dict[int, tuple[str, Callable[[Iterable[Ref]], None]]] = {}
        self._numbers = count()
        self._stop = Event()
        self._threads: list[Thread] = []
        self._reflectors: dict[str, Reflector[Seen]] = {}
        self._resources: dict[str, Resource] = {}
        # Of other systems that are not there; our own kinds are part of the installation.
        self._absent: dict[str, str] = {}
        self._finding = Lock()
        for api_version, kind in kinds:
            try:
                self._add(kind, client.resource(api_version, kind))
            except NoKindError:
                if api_version == API_VERSION:
                    raise
                self._absent[kind] = api_version

    def _add(self, kind: str, resource: Resource) -> Reflector[Seen]:
        made: Reflector[Seen] = Reflector(
            self._client,
            resource,
            lambda each: ObjectKey(each.metadata.namespace, each.metadata.name),
            lambda each: each.metadata.resource_version,
            type_=Seen,
            changed=lambda keys: self._tell(kind, keys),
            failed=lambda error: self._failed(kind, error),
        )
        # New mappings: others may be going through them.
        self._resources = {**self._resources, kind: resource}
        self._reflectors = {**self._reflectors, kind: made}
        return made

    @property
    def kinds(self) -> Iterable[str]:
        return self._reflectors

    def resource(self, kind: str) -> Resource:
        return self._resources[kind]

    def start(self) -> None:
        for kind, reflector in self._reflectors.items():
            self._threads.append(reflector.start(self._stop, f"follows {kind}"))

    def follow(self, kind: str) -> None:
        """Follow a kind that was not there when all began, if its system was installed meanwhile."""
        with self._finding:
            if kind not in self._absent:
                return
            try:
                reflector = self._add(kind, self._client.resource(self._absent[kind], kind))
            except NoKindError:
                return
            except OutsideError as error:
                self._failed(kind, error)
                return
            del self._absent[kind]
            self._threads.append(reflector.start(self._stop, f"follows {kind}"))

    def stop(self) -> None:
        self._stop.set()
        for reflector in self._reflectors.values():
            reflector.end()
        for thread in self._threads:
            thread.join(_PATIENCE)

    @property
    def is_alive(self) -> bool:
        """Whether everything that is followed still is."""
        return all(each.is_alive() for each in self._threads)

    def restarts(self) -> Mapping[str, int]:
        """How often watches could not go on, by kind."""
        return {self._resources[kind].plural: each.restarts for kind, each in self._reflectors.items()}

    def wait(self, seconds: float) -> bool:
        """Whether everything was listed."""
        return all(each.listed.wait(seconds) for each in self._reflectors.values())

    def is_listed(self, kind: str) -> bool:
        """Whether what is there of a kind is known; a kind that is not followed has nothing to wait for."""
        reflector = self._reflectors.get(kind)
        return reflector is None or reflector.listed.is_set()

    def listen(self, organization: str, changed: Callable[[Iterable[Ref]], None]) -> Callable[[], None]:
        """changed is told which objects of an organization ("": of all) are others than before, and at first all that
        there are. What comes back ends that."""
        number = next(self._numbers)
        self._listeners[number] = (organization, changed)
        for kind, reflector in self._reflectors.items():
            refs = (Ref(kind, *key) for key in reflector.objects())
            changed([each for each in refs if is_of(organization, each)])
        return lambda: self._listeners.pop(number, None) and None

    def get(self, ref: Ref) -> Seen | None:
        reflector = self._reflectors.get(ref.kind)
        return reflector.get(ObjectKey(ref.organization, ref.name)) if reflector is not None else None

    def all(self, kind: str) -> Mapping[ObjectKey, Seen]:
        reflector = self._reflectors.get(kind)
        return reflector.objects() if reflector is not None else {}

    def wrote(self, ref: Ref, version: str) -> None:
        self._reflectors[ref.kind].wrote(ObjectKey(ref.organization, ref.name), version)

    def is_behind(self, ref: Ref) -> bool:
        return self._reflectors[ref.kind].is_behind(ObjectKey(ref.organization, ref.name))

    def _tell(self, kind: str, keys: frozenset[ObjectKey]) -> None:
        refs = [Ref(kind, *key) for key in keys]
        for organization, changed in list(self._listeners.values()):
            found = [each for each in refs if is_of(organization, each)]
            if found:
                changed(found)
