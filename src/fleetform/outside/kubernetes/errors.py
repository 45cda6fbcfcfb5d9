"""What API servers refuse, told apart by what one does about it.

An error is either about what was asked for (ObjectError) or about the connection (ServerError, an AccessError, a lost
lease). Who works on many objects catches the first kind, tells it of that object and goes on with the others; errors of
the other kind would meet every object, so they pass to who asked for the work."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from msgspec import Struct

from fleetform.outside.errors import OutsideError


class Cause(NamedTuple):
    """A part of a refusal: the field that it is about, and why (for a conflict of applies: who owns the field)."""

    field: str
    message: str


class ApiError(OutsideError):
    """A refusal. status is HTTP's; reason is Kubernetes' word for it."""

    def __init__(self, message: str, status: int = 0, reason: str = "", causes: tuple[Cause, ...] = ()) -> None:
        super().__init__(message, _HINTS.get(status, ""))
        self.status, self.reason, self.causes = status, reason, causes


class ObjectError(ApiError):
    """About one object or kind: what is asked about another may well be granted."""


class ServerError(ApiError):
    """About the connection: nothing that is asked of the server is answered now."""


class MissingError(ObjectError):
    """There is no such object."""


class NoKindError(MissingError):
    """The cluster does not serve the kind; what brings it may not be there yet."""


class ConflictError(ObjectError):
    """Somebody else wrote: another resourceVersion or uid, a name that is taken, fields of another manager."""


class ExpiredError(ObjectError):
    """A resourceVersion or a page that the server no longer has, or not yet: list anew."""


class DeniedError(ObjectError):
    """The account may not do that (403)."""


class InvalidError(ObjectError):
    """The object will not be accepted as it is: trying again does not help."""


class HeldUpError(ObjectError):
    """Not this object now: what the server asks about its kind does not answer. Nothing was written."""

    def __init__(self, message: str, status: int = 0, reason: str = "", causes: tuple[Cause, ...] = ()) -> None:
        super().__init__(message, status, reason, causes)
        self.hint = "look at the webhook that it names: the cluster takes no such object without it"


class NotServedError(HeldUpError):
    """The kind belongs to an aggregated API, and what serves that is down; everything else of the server answers."""

    def __init__(self, message: str, status: int = 0, reason: str = "", causes: tuple[Cause, ...] = ()) -> None:
        super().__init__(f"what serves this kind on the cluster does not answer: {message}", status, reason, causes)
        self.hint = "look at the APIService of its group, and at the service which that names"


class UnauthorizedError(ServerError):
    """The server does not know the account (401)."""


class BusyError(ServerError):
    """Not now: the server is overloaded or starting, or did not answer. after: seconds until it may be asked again."""

    def __init__(
        self, message: str, status: int = 0, reason: str = "", after: float | None = None, *, timed_out: bool = False
    ) -> None:
        super().__init__(message, status, reason)
        self.after, self.timed_out = after, timed_out


class NotLeaderError(OutsideError):
    """This process may no longer write: another may be doing so."""

    def __init__(self) -> None:
        super().__init__("this replica no longer leads, so it writes nothing", "the replica that leads goes on")


_HINTS = {
    0: "check the address, the network and whether the API server runs",
    401: "the token or the client certificate is not valid there; renew it",
    403: "grant it by RBAC, or use another account",
}


class _Cause(Struct):
    field: str = ""
    message: str = ""


class _Details(Struct, rename="camel"):
    causes: list[_Cause] = []
    retry_after_seconds: float | None = None


class Status(Struct):
    """Kubernetes' Status, as far as it tells what happened."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_status = msgspec.json.Decoder(Status)
_WEBHOOK_FAILED = ("failed calling webhook", "conversion webhook for")
# What answers in the place of an aggregated API that is down, to the letter: proxies before a server say it otherwise.
_AGGREGATED_IS_DOWN = re.compile(r"service unavailable|error trying to reach service: .*", re.DOTALL)
_EXPIRED = ("Expired", "ResourceVersionTooLarge")


def error_of(code: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The refusal that an answer is."""
    try:
        status = _status.decode(body)
    except msgspec.MsgspecError:
        # Proxies and servers that are not ready answer in words.
        status = Status(body[:300].decode("utf-8", "replace").strip())
    return error_of_status(status, code, retry_after)


def error_of_status(status: Status, code: int, retry_after: str | None = None) -> ApiError:
    message = status.message or f"HTTP {code}"
    details = status.details or _Details()
    causes = tuple(Cause(each.field, each.message) for each in details.causes)
    if code == 410 or status.reason in _EXPIRED or any(each.message == "Too large resource version" for each in causes):
        return ExpiredError(message, code, status.reason, causes)
    if code == 404:
        return MissingError(message, code, status.reason, causes)
    if code == 409:
        return ConflictError(message, code, status.reason, causes)
    if code == 401:
        return UnauthorizedError(message, code, status.reason, causes)
    if code == 403:
        return DeniedError(message, code, status.reason, causes)
    if code == 500 and ("not declared in schema" in message or "request is too large" in message):
        # The server says 500 for what will never succeed.
        return InvalidError(message, code, status.reason, causes)
    if code == 500 and any(each in message for each in _WEBHOOK_FAILED):
        return HeldUpError(message, code, status.reason, causes)
    if code == 503 and _AGGREGATED_IS_DOWN.fullmatch(message):
        return NotServedError(message, code, status.reason, causes)
    if code in (429, 500, 502, 503, 504):
        after = details.retry_after_seconds
        if retry_after is not None and retry_after.isdigit():
            after = float(retry_after)
        return BusyError(message, code, status.reason, after)
    return InvalidError(message, code, status.reason, causes)
