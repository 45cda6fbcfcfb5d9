"""HTTP: who asks, which address, errors as problems, entity tags. What is answered is the service's."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fleetform.access.door import Door
from fleetform.app.errors import BadValueError, NoAnswerError
from fleetform.app.problems import problem, problem_of
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.problem import Problem
from fleetform.outside.log import Log
from fleetform.ports.access import SignedIn
from fleetform.ports.store import StoreError
from fleetform.web.endpoints import DOCUMENT, EVENTS, PROBES, READS, REQUESTS, SIGN_IN, Read, Request
from fleetform.web.openapi import openapi_document
from fleetform.web.queries import Query
from fleetform.web.service import Service
from fleetform.web.streams import Streams

_LARGEST_BODY = 64 * 1024
_KEY = re.compile(r"[\x21-\x7e]{1,200}\Z")
_HOST = re.compile(r"[A-Za-z0-9.\[\]:-]{1,300}\Z")
_Endpoint = Callable[[HttpRequest], Awaitable[Response]]


def application(
    service: Service, door: Door, streams: Streams, refused: Callable[[str, str], None], log: Log | None = None
) -> ASGIApp:
    """The API. Whoever has no token learns nothing, not even which addresses there are."""
    guarded = partial(_guarded, log or Log())
    document = msgspec.json.encode(openapi_document())

    async def openapi(_: HttpRequest) -> Response:
        return Response(document, media_type="application/json")

    async def alive(_: HttpRequest) -> Response:
        return Response("ok\n", media_type="text/plain")

    async def ready(_: HttpRequest) -> Response:
        await run_in_threadpool(service.ready)
        return Response("ok\n", media_type="text/plain")

    async def events(request: HttpRequest) -> Response:
        return await streams.open(request, _asker(request))

    routes = [
        *(Route(each.path, guarded(partial(_read, service, each)), methods=["GET"]) for each in READS),
        *(Route(each.path, guarded(partial(_request, service, each)), methods=["POST"]) for each in REQUESTS),
        Route(EVENTS, guarded(events), methods=["GET"]),
        Route(DOCUMENT, openapi, methods=["GET"]),
        *(Route(path, guarded(found), methods=["GET"]) for path, found in zip(PROBES, (alive, ready), strict=True)),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _no_such_address})
    return _Guard(inner, door, refused)


class _Guard:
    """Lets in who has a token, and lets no failure out as anything but a problem."""

    def __init__(self, inner: ASGIApp, door: Door, refused: Callable[[str, str], None]) -> None:
        self._inner, self._door, self._refused = inner, door, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] in PROBES:
            await self._inner(scope, receive, send)
            return
        sign_in = self._door.sign_in
        if sign_in is not None and scope["path"] == SIGN_IN and scope["method"] in ("GET", "HEAD"):
            document = msgspec.json.encode(sign_in.document)
            await Response(document, media_type="application/json")(scope, receive, send)
            return
        token = _token(scope)
        asker = await run_in_threadpool(self._door.identify, token) if token else None
        if not isinstance(asker, SignedIn):
            if asker is not None:
                client = scope.get("client")
                await run_in_threadpool(self._refused, client[0] if client else "unknown", asker.reason)
            refusal = problem(401, "denied", "this needs a token", "send Authorization: Bearer with a token")
            await _response(refusal, {"WWW-Authenticate": self._challenge(scope)})(scope, receive, send)
            return
        scope.setdefault("state", {})["asker"] = asker
        await self._inner(scope, receive, send)

    def _challenge(self, scope: Scope) -> str:
        if self._door.sign_in is None:
            return "Bearer"
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        return f'Bearer resource_metadata="{scope["scheme"]}://{host}{SIGN_IN}"' if _HOST.match(host) else "Bearer"


def _token(scope: Scope) -> str:
    """The token of a request; nothing if it bears none, or several."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
    return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def _asker(request: HttpRequest) -> SignedIn:
    asker = request.state.asker
    assert isinstance(asker, SignedIn)
    return asker


def _guarded(log: Log, answer: _Endpoint) -> _Endpoint:
    """Errors as problems. What nobody expected is told to who runs the server, and not to who asked."""

    async def endpoint(request: HttpRequest) -> Response:
        try:
            return await answer(request)
        except (NoAnswerError, StoreError) as error:
            return _response(problem_of(error))
        except HTTPException:
            raise
        except Exception as error:
            log.write("error", f"api: {request.method} {request.url.path}: {error!r}")
            return _response(problem(500, "internal", "this is a bug in Fleetform", "the server's output says more"))

    return endpoint


async def _read(service: Service, endpoint: Read, request: HttpRequest) -> Response:
    query = _query(endpoint.query, dict(request.query_params), strict=False)
    asker, known = _asker(request), _tags(request.headers.get("if-none-match"))

    def answer() -> Response:
        if known and endpoint.of_view and "after" not in request.query_params and (tag := service.tag(asker)) in known:
            return Response(status_code=304, headers={"ETag": f'"{tag}"'})
        found = endpoint.answer(service, asker, request.path_params, query)
        headers = {"Vary": "Authorization"}
        if found.tag is not None:
            headers |= {"ETag": f'"{found.tag}"', "Cache-Control": "private, no-cache"}
            if found.tag in known:
                return Response(status_code=304, headers=headers)
        if found.after is not None:
            following = urlencode({**request.query_params, "after": found.after})
            headers["Link"] = f'<{request.url.path}?{following}>; rel="next"'
        return _response(found.answer, headers)

    return await run_in_threadpool(answer)


def _tags(header: str | None) -> tuple[str, ...]:
    """The entity tags of a header; `*` as it is."""
    return tuple(each.strip().removeprefix("W/").strip('"') for each in (header or "").split(",") if each.strip())


async def _request(service: Service, endpoint: Request, request: HttpRequest) -> Response:
    key = request.headers.get("idempotency-key", "")
    if key and not _KEY.match(key):
        raise BadValueError("Idempotency-Key is at most 200 printable characters", "take a UUID")
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST_BODY:
            return _response(problem(413, "bad-value", "the body is too large", "a request fits in a kilobyte"))
    try:
        body = msgspec.json.decode(content or b"{}")
    except msgspec.DecodeError as error:
        raise BadValueError(f"the body is not JSON: {error}", "send an object such as {}") from error
    said = _query(endpoint.body, body, strict=True)
    name, seen = request.path_params["name"], _tags(request.headers.get("if-match"))
    asker = _asker(request)
    return _response(await run_in_threadpool(service.request, asker, name, endpoint.verb, said, key, seen))


def _query(type_: type[Query], given: object, strict: bool) -> Any:
    try:
        return msgspec.convert(given, type_, strict=strict)
    except msgspec.ValidationError as error:
        names = ", ".join(type_.__struct_encode_fields__)
        raise BadValueError(str(error), f"there are {names}" if names else "there are no parameters") from error


async def _no_such_address(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = f"{DOCUMENT} has all that there are"
    if error.status_code == 405:
        return _response(problem(405, "refused", f"{request.method} is not for this address", hint), error.headers)
    return _response(problem(error.status_code, "not-found", "there is no such address", hint))


def _response(answer: AnswerRecord, headers: Any = None) -> Response:
    status, media_type = 200, "application/json"
    if isinstance(answer, Problem):
        status, media_type = answer.status, "application/problem+json"
    try:
        content = msgspec.json.encode(answer)
    except ValueError:
        # Half a character, which somebody wrote as an escape.
        content = json.dumps(msgspec.to_builtins(answer)).encode()
    more = {"Retry-After": "5"} if status in (429, 503) else {}
    return Response(content, status, {**(headers or {}), **more}, media_type)
