"""Requests to one API server. Several threads may ask at once.

urllib3 and no client of Kubernetes' own: those run what kubeconfigs tell them to, keep no bookmarks and give up at the
first 429; and a write takes half the processor time that it takes with the HTTP client that the rest uses.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import urllib3
from msgspec import Struct
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as Silence

from fleetform.outside.kubernetes.access import Access
from fleetform.outside.kubernetes.connections import failure_text, tls_of, token_in
from fleetform.outside.kubernetes.decoders import decoder, list_decoder
from fleetform.outside.kubernetes.errors import (
    BusyError,
    MissingError,
    NoKindError,
    NotLeaderError,
    Status,
    error_of,
    error_of_status,
)
from fleetform.outside.kubernetes.resources import Resource, discovered, discovery_path, groups

Manifest = dict[str, Any]

_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# Answers with an object's metadata alone.
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_TRIES = 10
_LONGEST_PAUSE = 30.0
_PAGE = 500
_SILENCE = 70.0


class Page(NamedTuple):
    """A part of a list. token asks for the next part; "" at the end."""

    items: list[Any]
    version: str
    token: str


class WatchEvent(NamedTuple):
    """What happened to an object: ADDED, MODIFIED or DELETED; BOOKMARK only tells how far the watch is."""

    type: str
    version: str
    object: Any


class _ObjectMeta(Struct, rename="camel", frozen=True):
    resource_version: str = ""


class _WatchedObject(Struct):
    metadata: _ObjectMeta = _ObjectMeta()


class _Event(Struct):
    type: str
    object: msgspec.Raw


_json = msgspec.json.Decoder()
_event = msgspec.json.Decoder(_Event)
_watched = msgspec.json.Decoder(_WatchedObject)
_status = msgspec.json.Decoder(Status)


class Client:
    """may_write is asked before each request that writes; timeout is the longest silence of one request.

    answered is told how each request was answered: its method and the status, 0 where no answer came. manager is the
    name under which the server keeps which fields are ours.
    """

    def __init__(
        self,
        access: Access,
        manager: str = "fleetform",
        *,
        may_write: Callable[[], bool] = lambda: True,
        timeout: float = 15.0,
        tries: int = _TRIES,
        sleep: Callable[[float], None] = time.sleep,
        connections: int = 4,
        answered: Callable[[str, int], None] = lambda method, status: None,
    ) -> None:
        self.access, self.manager = access, manager
        self._may_write, self._tries, self._sleep, self._answered = may_write, tries, sleep, answered
        self._timeout = urllib3.Timeout(connect=min(timeout, 5.0), read=timeout)
        self._pool = urllib3.PoolManager(
            num_pools=1,
            maxsize=connections,
            block=True,
            retries=False,
            ssl_context=tls_of(access),
            server_hostname=access.server_name or None,
            assert_hostname=access.server_name or None,
        )
        self._kinds: dict[str, Mapping[str, Resource]] = {}
        self._finding = Lock()
        self.requests = 0

    def close(self) -> None:
        self._pool.clear()

    # ---- Kinds

    def resource(self, api_version: str, kind: str) -> Resource:
        """How the server serves a kind; NoKindError if it does not. Kinds that are missing are asked for again."""
        known = self._kinds.get(api_version, {})
        if kind not in known:
            with self._finding:
                known = self._kinds[api_version] = self._discovered(api_version)
        try:
            return known[kind]
        except KeyError:
            raise NoKindError(f"the cluster has no kind {kind} of {api_version}", 404, "NotFound") from None

    def _discovered(self, api_version: str) -> Mapping[str, Resource]:
        try:
            return discovered(api_version, self.raw("GET", discovery_path(api_version)))
        except MissingError:
            return {}

    def served(self) -> Mapping[str, Sequence[str]]:
        """The groups that the server has now, each with its versions, the one that it prefers first; the core group is
        none of them."""
        return groups(self.raw("GET", "/apis"))

    def kinds(self, api_version: str) -> Mapping[str, Resource]:
        """The kinds of a group and version as they are served now."""
        return self._discovered(api_version)

    def resource_of(self, manifest: Manifest) -> Resource:
        return self.resource(manifest["apiVersion"], manifest["kind"])

    # ---- Reading

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        try:
            return self._decoded("GET", resource.path(namespace, name))
        except MissingError:
            return None

    def page(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = _PAGE,
        token: str = "",
        version: str = "",
        type_: Any = Any,
        metadata_only: bool = False,
    ) -> Page:
        """A part of the list of a kind. version "0" may be old; ExpiredError: begin again."""
        query = {
            "labelSelector": labels,
            "fieldSelector": fields,
            "limit": str(limit) if limit else "",
            "continue": token,
            "resourceVersion": "" if token else version,
        }
        accept = _METADATA if metadata_only else "application/json"
        body = self.raw("GET", _with(resource.path(namespace), query), accept=accept)
        found = list_decoder(type_).decode(body)
        return Page(found.items or [], found.metadata.resource_version, found.metadata.continue_)

    def items(self, resource: Resource, namespace: str = "", **query: Any) -> Iterator[Any]:
        """Every object of a kind, page by page."""
        token = ""
        while True:
            page = self.page(resource, namespace, token=token, **query)
            yield from page.items
            token = page.token
            if not token:
                return

    def watch(
        self,
        resource: Resource,
        version: str,
        namespace: str = "",
        *,
        labels: str = "",
        seconds: int = 300,
        type_: Any = Any,
        silence: float = _SILENCE,
        opened: Callable[[Callable[[], None]], None] = lambda end: None,
    ) -> Generator[WatchEvent]:
        """What happens after a version, until the server ends it. BusyError if it is silent for longer than bookmarks
        come apart: nobody knows then whether anything is at the other end. opened is given what ends it at once, from
        any thread."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "labelSelector": labels,
            "timeoutSeconds": str(seconds),
        }
        decode = decoder(type_).decode
        timeout = urllib3.Timeout(connect=5.0, read=silence)
        response = self._send("GET", _with(resource.path(namespace), query), None, {}, timeout, stream=True)
        opened(response.shutdown)
        try:
            for line in _lines(response):
                event = _event.decode(line)
                if event.type == "ERROR":
                    status = _status.decode(event.object)
                    raise error_of_status(status, status.code)
                version = _watched.decode(event.object).metadata.resource_version
                yield WatchEvent(event.type, version, decode(event.object) if event.type != "BOOKMARK" else None)
        except (HTTPError, OSError) as error:
            message = f"the watch of {resource.plural} broke: {failure_text(error)}"
            raise BusyError(message, timed_out=isinstance(error, Silence)) from error
        finally:
            # A stream that was not read to its end cannot be used for another request.
            response.close()
            response.release_conn()

    # ---- Writing

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        resource, namespace, _ = self._address(manifest)
        query = {"fieldManager": self.manager, "dryRun": "All" if dry_run else ""}
        return self._decoded("POST", _with(resource.path(namespace), query), manifest)

    def replace(self, manifest: Manifest, *, subresource: str = "") -> Manifest:
        """Puts the object in the place of the one with its resourceVersion; ConflictError if that is another by now."""
        resource, namespace, name = self._address(manifest)
        query = {"fieldManager": self.manager}
        return self._decoded("PUT", _with(resource.path(namespace, name, subresource), query), manifest)

    def apply(
        self,
        manifest: Manifest,
        *,
        force: bool = False,
        dry_run: bool = False,
        subresource: str = "",
        validation: str = "Strict",
    ) -> Manifest:
        """Server-side apply: the fields of the manifest are ours, and those that we no longer name leave."""
        resource, namespace, name = self._address(manifest)
        query = {
            "fieldManager": self.manager,
            "force": "true" if force else "",
            "dryRun": "All" if dry_run else "",
            "fieldValidation": validation,
        }
        path = _with(resource.path(namespace, name, subresource), query)
        return self._decoded("PATCH", path, manifest, "application/apply-patch+yaml")

    def merge(self, resource: Resource, namespace: str, name: str, patch: Manifest, subresource: str = "") -> Manifest:
        """A merge patch; with metadata.resourceVersion in it, only on that version."""
        path = _with(resource.path(namespace, name, subresource), {"fieldManager": self.manager})
        return self._decoded("PATCH", path, patch, "application/merge-patch+json")

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
    ) -> bool:
        """Whether there was something to delete. ConflictError if it is not the object with that uid or version."""
        preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        options: Manifest = {"propagationPolicy": propagation}
        if preconditions:
            options["preconditions"] = preconditions
        try:
            self.raw("DELETE", resource.path(namespace, name), msgspec.json.encode(options))
        except MissingError:
            return False
        return True

    # ---- Sending

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content: str = "application/json",
        accept: str = "application/json",
        seconds: float | None = None,
    ) -> bytes:
        """The body of an answer. What is overloaded is asked again; what failed in between only if that is safe.

        seconds is the longest silence, if it is not the client's own.
        """
        timeout = self._timeout if seconds is None else urllib3.Timeout(connect=min(seconds, 5.0), read=seconds)
        headers = {"Accept": accept, **({"Content-Type": content} if body is not None else {})}
        for tries in range(1, self._tries + 1):
            try:
                return bytes(self._send(method, path, body, headers, timeout).data)
            except BusyError as error:
                # Without a status the answer was lost: the write may have taken place, and only the caller knows
                # whether it may be done twice. 429 and 503 with a pause say that nothing was done.
                told = error.after is not None or error.status in (429, 503)
                # Who was silent for so long is silent for as long again.
                again = method == "GET" and tries < 3 and not error.timed_out
                if tries == self._tries or not (told or again):
                    raise
                pause = error.after if error.after is not None else 0.2 * 2 ** min(tries, 7)
                self._sleep(min(pause, _LONGEST_PAUSE) * random.uniform(1.0, 1.2))
        raise AssertionError("unreachable")

    def _decoded(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Manifest:
        encoded = msgspec.json.encode(body) if body is not None else None
        found: Manifest = _json.decode(self.raw(method, path, encoded, content))
        return found

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: urllib3.Timeout,
        *,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        if method != "GET" and not self._may_write():
            raise NotLeaderError
        self.requests += 1
        try:
            response = self._pool.request(
                method,
                self.access.server + path,
                body=body,
                headers=self._with_identity(headers),
                timeout=timeout,
                preload_content=not stream,
                redirect=False,
            )
        except (HTTPError, OSError) as error:
            self._answered(method, 0)
            message = f"{self.access.server} does not answer: {failure_text(error)}"
            raise BusyError(message, timed_out=isinstance(error, Silence)) from error
        self._answered(method, response.status)
        if response.status >= 300:
            with_body = response.data
            response.release_conn()
            raise error_of(response.status, with_body, response.headers.get("Retry-After"))
        return response

    def _with_identity(self, headers: Mapping[str, str]) -> urllib3.HTTPHeaderDict:
        access = self.access
        found = urllib3.HTTPHeaderDict(headers)
        token = token_in(access.token_file) if access.token_file else access.token
        if token:
            found["Authorization"] = f"Bearer {token}"
        if access.user:
            found["Impersonate-User"] = access.user
        for each in access.groups:
            found.add("Impersonate-Group", each)
        return found

    def _address(self, manifest: Manifest) -> tuple[Resource, str, str]:
        metadata = manifest["metadata"]
        return self.resource_of(manifest), metadata.get("namespace", ""), metadata.get("name", "")


def _with(path: str, query: Mapping[str, str]) -> str:
    given = urlencode({key: value for key, value in query.items() if value})
    return f"{path}?{given}" if given else path


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Lines as they come: asking for parts of a size would keep the last ones back until it is filled."""
    rest = b""
    while part := response.read1():
        *whole, rest = (rest + part).split(b"\n")
        yield from whole
