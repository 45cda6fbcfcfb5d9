"""A control plane that runs, asked over its API. Nobody there, or nobody who answers: it is unavailable (S52)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx2
import msgspec

from fleetform.app.errors import NoAnswerError
from fleetform.model.answers.access import AuditItem, AuditLog
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listing import LISTED, Listing
from fleetform.model.answers.notifications import Notification, NotificationList
from fleetform.model.answers.planning import RolloutAnswer, RolloutList
from fleetform.model.answers.problem import Problem
from fleetform.outside.http import trusted_certificates

_TIMEOUT = httpx2.Timeout(120.0, connect=5.0)
_EXIT_CODES = {401: 3, 403: 3, 404: 1, 410: 4, 429: 4, 500: 4, 502: 4, 503: 4, 504: 4}
_PAGE = 1000
Parameters = Mapping[str, str | int | None]
T = TypeVar("T")


class ServerError(NoAnswerError):
    """A server has no answer; code and exit code are those that the command line has without one."""

    def __init__(self, message: str, hint: str, code: str, exit_code: int) -> None:
        super().__init__(message, hint)
        self.code, self.exit_code = code, exit_code


class _Kind(msgspec.Struct):
    """What an answer is."""

    kind: str


class _Page(msgspec.Struct):
    """A page of a listing; what its items are is found out one by one."""

    items: list[msgspec.Raw]
    diagnostics: list[Finding]


class ControlPlane:
    """Answers of a server, as the records that they are."""

    def __init__(self, url: str, find_token: Callable[[str], str | None]) -> None:
        self._url = url.rstrip("/")
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(f"{url} is not an address of a server", "write http://127.0.0.1:8080", "bad-value", 2)
        self._find_token = find_token

    def answer(self, path: str, type_: type[T], parameters: Parameters) -> T:
        return self._decoded(self._sent("GET", f"/api/v1/{path}", params=_given(parameters)), type_)

    def listing(self, plural: str, parameters: Parameters) -> Listing:
        """All pages of a list."""
        items: list[Listed] = []
        diagnostics: list[Finding] = []
        for response in self._responses(f"/api/v1/{plural}", {**_given(parameters), "limit": _PAGE}):
            page = self._decoded(response, _Page)
            items += [_listed(plural, each) for each in page.items]
            diagnostics = page.diagnostics
        return Listing(items=items, diagnostics=diagnostics)

    def rollout(self, name: str, parameters: Parameters) -> RolloutAnswer:
        return self.answer(f"rollouts/{quote(name, safe='')}", RolloutAnswer, parameters)

    def request(self, name: str, verb: str, body: Mapping[str, object]) -> RolloutAnswer | RolloutList:
        """Asks something of a rollout: carried out once, however often it arrives."""
        path = f"/api/v1/rollouts/{quote(name, safe='')}/{verb}"
        response = self._sent("POST", path, json=dict(body), headers={"Idempotency-Key": str(uuid.uuid4())})
        is_list = self._decoded(response, _Kind).kind == "RolloutList"
        return self._decoded(response, RolloutList) if is_list else self._decoded(response, RolloutAnswer)

    def audit_log(self, after: int) -> AuditLog:
        """All entries behind one that this user may read."""
        items: list[AuditItem] = []
        whole = True
        for response in self._responses("/api/v1/audit", {"after": after, "limit": _PAGE}):
            page = self._decoded(response, AuditLog)
            items += page.items
            whole = whole and page.whole
        return AuditLog(whole=whole, items=items)

    def notifications(self, parameters: Parameters, limit: int) -> NotificationList:
        """The latest so many; 0 means all."""
        items: list[Notification] = []
        page = min(limit, _PAGE) if limit else _PAGE
        for response in self._responses("/api/v1/notifications", {**_given(parameters), "limit": page}):
            items += self._decoded(response, NotificationList).items
            if limit and len(items) >= limit:
                break
        return NotificationList(items=items[: limit or None])

    def sign_in_document(self) -> dict[str, Any]:
        """How people sign in there; nothing if they cannot."""
        try:
            response = self._sent("GET", "/.well-known/oauth-protected-resource")
        except ServerError as error:
            if error.exit_code in (_EXIT_CODES[401], _EXIT_CODES[404]):
                return {}
            raise
        return self._decoded(response, dict[str, Any])

    def _responses(self, path: str, parameters: dict[str, str | int]) -> Iterator[httpx2.Response]:
        """All pages."""
        response = self._sent("GET", path, params=parameters)
        yield response
        while (following := response.links.get("next", {}).get("url")) is not None and following.startswith(path):
            response = self._sent("GET", following)
            yield response

    def _sent(self, method: str, path: str, **more: Any) -> httpx2.Response:
        # Found for every request: a token that was issued ends, and is renewed.
        token = self._find_token(self._url)
        response = self._response(token, method, path, **more)
        if response.status_code == 401:
            # A server that was restarted has made another one, maybe after it was looked for.
            found = self._find_token(self._url)
            if found is not None and found != token:
                response = self._response(found, method, path, **more)
        if response.is_success:
            return response
        raise self._error(response)

    def _response(self, token: str | None, method: str, path: str, **more: Any) -> httpx2.Response:
        who = {"Authorization": f"Bearer {token}"} if token is not None else {}
        try:
            # No proxy of the environment and no redirect: a token goes to the server that it is for, and only there.
            with httpx2.Client(headers=who, timeout=_TIMEOUT, **self._safety()) as client:
                return client.request(method, self._url + path, **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            hint = "is `fleetform serve --listen` running there?"
            raise ServerError(f"nobody answers at {self._url}", hint, "unavailable", 4) from error
        except httpx2.HTTPError as error:
            message = f"{self._url} broke off: {type(error).__name__}"
            raise ServerError(message, "ask again", "unavailable", 4) from error

    def _safety(self) -> dict[str, Any]:
        known = {"verify": trusted_certificates()} if self._url.startswith("https:") else {}
        return {"trust_env": False, **known}

    def _error(self, response: httpx2.Response) -> ServerError:
        status = response.status_code
        exit_code = _EXIT_CODES.get(status, 2)
        try:
            found = msgspec.json.decode(response.content, type=Problem)
        except msgspec.DecodeError:
            hint = "is it a control plane of this release?"
            return ServerError(f"{self._url} answers {status}, and not as Fleetform does", hint, "unavailable", 4)
        if status == 401:
            hint = "ask as the user who runs it, or set FLEETFORM_TOKEN"
            if "resource_metadata" in response.headers.get("www-authenticate", ""):
                hint = f"fleetform login --server {self._url}"
            return ServerError(f"{self._url} does not know you", hint, found.code, exit_code)
        choices = "".join(f"\n  {each}" for each in found.choices or ())
        return ServerError(found.detail + (f":{choices}" if choices else ""), found.hint, found.code, exit_code)

    def _decoded(self, response: httpx2.Response, type_: type[T]) -> T:
        try:
            return msgspec.json.decode(response.content, type=type_)
        except msgspec.DecodeError as error:
            message = f"{self._url} answers differently than this release expects: {error}"
            raise ServerError(message, "use the release that the server has", "unavailable", 4) from error


def _given(parameters: Parameters) -> dict[str, str | int]:
    return {name: value for name, value in parameters.items() if value is not None and value != ""}


def _listed(plural: str, item: msgspec.Raw) -> Listed:
    """An item as the record that it is: the first of its kind that it fits."""
    *more, last = LISTED[plural]
    for type_ in more:
        try:
            return msgspec.json.decode(item, type=type_)
        except msgspec.ValidationError:
            continue
    return msgspec.json.decode(item, type=last)
