"""One try to tell somebody, and what its answer means."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from fleetform.notify import slack, webhook
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Answer
from fleetform.outside.posts import Posts
from fleetform.ports.notify import Endpoint, Letter, Outcome

_SLACK_API = "https://slack.com/api/chat.postMessage"
_JSON = {"Content-Type": "application/json; charset=utf-8"}
# Slack takes a message a second from one hook.
_PACE = 1.0


class HttpNotifier:
    """Sends by HTTP; each endpoint is served by one thread at a time."""

    def __init__(
        self,
        posts: Posts,
        slack_api: str = _SLACK_API,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._posts, self._slack_api, self._sleep, self._clock = posts, slack_api, sleep, clock
        self._sent_at: dict[str, float] = {}

    def send(self, endpoint: Endpoint, letter: Letter, now: datetime) -> Outcome:
        try:
            if endpoint.kind == "webhook":
                body = webhook.body_of(letter)
                headers = webhook.headers_of(endpoint, letter, body, now)
                return _outcome(self._posts.post(endpoint.url, headers, body, _host(endpoint.url)))
            return self._to_slack(endpoint, letter)
        except OutsideError as error:
            return Outcome(f"{error.message}; {error.hint}" if error.hint else error.message)

    def _to_slack(self, endpoint: Endpoint, letter: Letter) -> Outcome:
        since = self._clock() - self._sent_at.get(endpoint.id, -_PACE)
        if since < _PACE:
            self._sleep(_PACE - since)
        url, token = endpoint.secret("url"), endpoint.secret("token")
        headers: Mapping[str, str] = _JSON
        if not url:
            url, headers = self._slack_api, {**_JSON, "Authorization": f"Bearer {token.strip()}"}
        message = slack.message_of(letter.notification, "" if endpoint.secret("url") else endpoint.channel)
        try:
            answer = self._posts.post(url, headers, msgspec.json.encode(message), "Slack")
        finally:
            self._sent_at[endpoint.id] = self._clock()
        return _outcome(answer) if endpoint.secret("url") else _slack_outcome(answer)


def _host(url: str) -> str:
    """What is shown of a webhook's address: its path may be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the webhook"
    return f"{parts.scheme}://{parts.hostname or ''}"


def _outcome(answer: Answer) -> Outcome:
    status = answer.status
    if 200 <= status < 300:
        return Outcome()
    if status == HTTPStatus.GONE:
        return Outcome("it answers 410: nobody wants notifications there any more", gone=True)
    if 300 <= status < 400:
        return Outcome(f"it answers {status}: redirects are not followed; write the address that it leads to")
    return Outcome(f"it answers {status}", wait=_wait(answer))


def _slack_outcome(answer: Answer) -> Outcome:
    """Slack's API answers 200 to what it refuses, and says so in the body."""
    found = _outcome(answer)
    if not found.arrived:
        return found
    try:
        body = msgspec.json.decode(answer.content, type=dict[str, object])
    except msgspec.DecodeError:
        return Outcome("Slack answers something else than JSON")
    if body.get("ok") is True:
        return Outcome()
    return Outcome(f"Slack refuses it: {str(body.get('error', 'it does not say why'))[:100]}", wait=_wait(answer))


def _wait(answer: Answer) -> timedelta | None:
    asked = answer.headers.get("retry-after", "")
    return timedelta(seconds=min(int(asked), 86_400)) if asked.isascii() and asked.isdigit() else None
