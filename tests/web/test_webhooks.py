"""Webhooks: a git server that has the secret wakes the loop, and nobody else does."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading

import httpx2
import pytest

from fleetform.web.webhooks import ADDRESS, Webhook

SECRET, BODY = "a secret of both", b'{"ref": "refs/heads/main"}'
SIGNATURE = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()


def sent(headers: dict[str, str], path: str = ADDRESS, body: bytes = BODY) -> tuple[int, bool]:
    """What is answered, and whether the loop was woken."""
    woken = threading.Event()

    async def inner(scope: object, receive: object, send: object) -> None:
        raise AssertionError("this is for somebody else")

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=Webhook(inner, SECRET, woken.set))
        async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
            return await client.post(path, content=body, headers=headers)

    return asyncio.run(ask()).status_code, woken.is_set()


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Hub-Signature-256": f"sha256={SIGNATURE}"},
        {"X-Gitea-Signature": SIGNATURE},
        {"X-Gitlab-Token": SECRET},
    ],
)
def test_who_has_the_secret_wakes_the_loop(headers: dict[str, str]) -> None:
    assert sent(headers) == (202, True)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": f"sha256={SIGNATURE[:-1]}0"},
        {"X-Hub-Signature-256": "sha256=", "X-Gitlab-Token": ""},
        {"X-Gitlab-Token": "another"},
    ],
)
def test_who_has_not_is_refused_and_wakes_nobody(headers: dict[str, str]) -> None:
    assert sent(headers) == (401, False)


def test_a_signature_is_of_this_very_body() -> None:
    assert sent({"X-Hub-Signature-256": f"sha256={SIGNATURE}"}, body=BODY + b" ") == (401, False)


def test_other_addresses_are_not_its_own() -> None:
    with pytest.raises(AssertionError):
        sent({}, path="/api/v1/clusters")
