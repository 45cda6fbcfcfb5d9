"""HTTP: who asks, which address, errors as problems, entity tags. What is answered is the service's."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sys
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

from fleetform.app.errors import NoAnswerError
from fleetform.app.problems import problem, problem_of
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.problem import Problem
from fleetform.ports.store import StoreError
from fleetform.web.endpoints import DOCUMENT, PROBES, READS, REQUESTS, Read, Request
from fleetform.web.openapi import openapi_document
from fleetform.web.queries import Query
from fleetform.web.service import BadQueryError, Service

_LARGEST_BODY = 64 * 1024
_KEY = re.compile(r"[\x21-\x7e]{1,200}\Z")
_Endpoint = Callable[[HttpRequest], Awaitable[Response]]


def application(service: Service, token: str) -> ASGIApp:
    """The API. Whoever has no token learns nothing, not even which addresses there are."""
    document = msgspec.json.encode(openapi_document())

    async def openapi(_: HttpRequest) -> Response:
        return Response(document, media_type="application/json")

    async def alive(_: HttpRequest) -> Response:
        return Response("ok\n", media_type="text/plain")

    async def ready(_: HttpRequest) -> Response:
        await run_in_threadpool(service.tag)
        return Response("ok\n", media_type="text/plain")

    routes = [
        *(Route(each.path, _guarded(partial(_read, service, each)), methods=["GET"]) for each in READS),
        *(Route(each.path, _guarded(partial(_request, service, each)), methods=["POST"]) for each in REQUESTS),
        Route(DOCUMENT, openapi, methods=["GET"]),
        *(Route(path, _guarded(found), methods=["GET"]) for path, found in zip(PROBES, (alive, ready), strict=True)),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _no_such_address})
    return _Guard(inner, token)


class _Guard:
    """Lets in who has the token, and lets no failure out as anything but a problem."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._token = inner, _digest(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] not in PROBES and not self._knows(scope):
            hint = "send Authorization: Bearer with the token that `serve` made for its user"
            refusal = problem(401, "denied", "this needs a token", hint)
            await _response(refusal, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        await self._inner(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        # Digests are of one length, and compared in constant time: nothing is learned from how long it takes.
        return scheme.lower() == b"bearer" and hmac.compare_digest(_digest(token.strip()), self._token)


def _digest(token: str | bytes) -> bytes:
    return hashlib.sha256(token.encode() if isinstance(token, str) else token).digest()


def _guarded(answer: _Endpoint) -> _Endpoint:
    """Errors as problems. What nobody expected is told to who runs the server, and not to who asked."""

    async def endpoint(request: HttpRequest) -> Response:
        try:
            return await answer(request)
        except (NoAnswerError, StoreError) as error:
            return _response(problem_of(error))
        except HTTPException:
            raise
        except Exception as error:
            print(f"api: {request.method} {request.url.path}: {error!r}", file=sys.stderr)
            return _response(problem(500, "internal", "this is a bug in Fleetform", "the server's output says more"))

    return endpoint


async def _read(service: Service, endpoint: Read, request: HttpRequest) -> Response:
    query = _query(endpoint.query, dict(request.query_params), strict=False)

    def answer() -> Response:
        found = endpoint.answer(service, request.path_params, query)
        headers = {"ETag": f'"{found.tag}"', "Cache-Control": "private, no-cache"} if found.tag is not None else {}
        if found.after is not None:
            following = urlencode({**request.query_params, "after": found.after})
            headers["Link"] = f'<{request.url.path}?{following}>; rel="next"'
        return _response(found.answer, headers)

    known = request.headers.get("if-none-match")
    if known is not None and "after" not in request.query_params and endpoint.of_view:
        tag = f'"{await run_in_threadpool(service.tag)}"'
        if tag in [each.strip().removeprefix("W/") for each in known.split(",")]:
            return Response(status_code=304, headers={"ETag": tag})
    return await run_in_threadpool(answer)


async def _request(service: Service, endpoint: Request, request: HttpRequest) -> Response:
    key = request.headers.get("idempotency-key", "")
    if key and not _KEY.match(key):
        raise BadQueryError("Idempotency-Key is at most 200 printable characters", "take a UUID")
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST_BODY:
            return _response(problem(413, "bad-value", "the body is too large", "a request fits in a kilobyte"))
    try:
        body = msgspec.json.decode(content or b"{}")
    except msgspec.DecodeError as error:
        raise BadQueryError(f"the body is not JSON: {error}", "send an object such as {}") from error
    said = _query(endpoint.body, body, strict=True)
    name = request.path_params["name"]
    return _response(await run_in_threadpool(service.request, name, endpoint.verb, said, key))


def _query(type_: type[Query], given: object, strict: bool) -> Any:
    try:
        return msgspec.convert(given, type_, strict=strict)
    except msgspec.ValidationError as error:
        names = ", ".join(type_.__struct_encode_fields__)
        raise BadQueryError(str(error), f"there are {names}" if names else "there are no parameters") from error


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
    more = {"Retry-After": "5"} if status == 503 else {}
    return Response(content, status, {**(headers or {}), **more}, media_type)
