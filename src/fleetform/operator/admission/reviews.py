"""What an API server asks and is answered: AdmissionReview of admission.k8s.io/v1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

# As the API server cuts them.
LONGEST_WARNING = 256
LONGEST_WARNINGS = 4096
_MORE = "there is more to say: `fleetform validate` shows all of it"

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class UserInfo(Struct, frozen=True):
    """Who asks; the impersonated one, if somebody is impersonated."""

    username: str = ""
    groups: tuple[str, ...] = ()


class GroupKind(Struct, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class Request(Struct, frozen=True, rename="camel"):
    """One write, before it is stored. object is absent where it deletes, old_object where it creates."""

    uid: str
    kind: GroupKind
    operation: Operation
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = UserInfo()
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool = False


class _Review(Struct, frozen=True, rename="camel"):
    request: Request


class Answer(NamedTuple):
    """allowed, or why not. code is 422 for what is wrong in itself and 403 for what somebody may not do.

    of_others says that a refusal depends on other objects than the one that is written: a newer fleet may allow it.
    """

    allowed: bool = True
    message: str = ""
    code: int = 422
    warnings: Sequence[str] = ()
    of_others: bool = False


_decode = msgspec.json.Decoder(_Review).decode
_REASONS = {403: "Forbidden", 422: "Invalid", 500: "InternalError", 503: "ServiceUnavailable"}


def read_review(body: bytes) -> Request:
    """The request of a review. msgspec.MsgspecError if it is none."""
    return _decode(body).request


def write_review(uid: str, answer: Answer) -> bytes:
    response: dict[str, Any] = {"uid": uid, "allowed": answer.allowed}
    if not answer.allowed:
        reason = _REASONS[answer.code]
        response["status"] = {"code": answer.code, "reason": reason, "message": answer.message}
    if answer.warnings:
        response["warnings"] = list(bounded(answer.warnings))
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


def bounded(warnings: Iterable[str]) -> list[str]:
    """Warnings as far as API servers pass them on; the last one tells that there are more."""
    found: list[str] = []
    left = LONGEST_WARNINGS - len(_MORE)
    for each in warnings:
        # One line each: kubectl prints them as they are.
        line = " ".join(each.split())
        cut = line if len(line) <= LONGEST_WARNING else line[: LONGEST_WARNING - 1].rstrip() + "…"
        left -= len(cut)
        if left < 0:
            return [*found, _MORE]
        found.append(cut)
    return found
