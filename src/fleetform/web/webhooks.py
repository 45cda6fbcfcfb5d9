"""Webhooks of git servers: somebody pushed, so the source is looked at now and not at the next poll.

What is sent is not believed: it only wakes the loop. The shared secret keeps strangers from waking it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fleetform.app.problems import problem

ADDRESS = "/webhooks/source"
# GitHub sends no more than this.
_LARGEST = 25 * 1024 * 1024


class Webhook:
    """An application with an address that git servers call after a push, in front of it: they have no token.

    GitHub, Gitea and Forgejo sign what they send with the secret; GitLab sends the secret itself.
    """

    def __init__(self, inner: ASGIApp, secret: str, look: Callable[[], None]) -> None:
        self._inner, self._secret, self._look = inner, secret.encode(), look

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != ADDRESS or scope["method"] != "POST":
            await self._inner(scope, receive, send)
            return
        try:
            response = await self._called(Request(scope, receive))
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _called(self, request: Request) -> Response:
        signature, size = hmac.new(self._secret, digestmod=hashlib.sha256), 0
        async for part in request.stream():
            signature.update(part)
            size += len(part)
            if size > _LARGEST:
                return _refused(413, "bad-value", "the body is too large", "send no more than 25 MB")
        if not self._is_known(request, signature.hexdigest()):
            hint = "give the git server the secret that --webhook-secret-file holds"
            return _refused(401, "denied", "the signature is not right", hint)
        self._look()
        return Response(status_code=202)

    def _is_known(self, request: Request, signature: str) -> bool:
        headers = request.headers
        signed = headers.get("x-hub-signature-256", "").removeprefix("sha256=") or headers.get("x-gitea-signature", "")
        if signed:
            return hmac.compare_digest(signed.encode(), signature.encode())
        return hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), self._secret)


def _refused(status: int, code: str, detail: str, hint: str) -> Response:
    content = msgspec.json.encode(problem(status, code, detail, hint))
    return Response(content, status, media_type="application/problem+json")
