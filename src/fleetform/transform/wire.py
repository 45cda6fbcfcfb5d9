"""The wire format of plugins, version v1: what Crane's plugins read and print, and two fields of our own.

A request is the object with `extras` at its top, on one line; `{}` asks for metadata. A reply's `changesIdentity` says
that a plugin means to change what an object is; metadata's `modes` that it can be kept alive. Plugins that know neither
are as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fleetform.engine.transform.records import Response
from fleetform.syntax.json_patch import PatchError, parse_patch
from fleetform.syntax.printable import printable
from fleetform.transform.views import plain, unwrapped

VERSION = "v1"
# A plugin that has this mode takes any number of requests, a line each, and answers each with a line.
STREAM = "stream"
ASKS_FOR_METADATA = b"{}\n"

_SHOWN = 200


class WireError(ValueError):
    """What is wrong with what a plugin printed."""


class OutOfStepError(WireError):
    """What a plugin printed is no reply, or none to this request: what it prints next cannot be trusted either."""


class OptionalField(Struct, frozen=True, rename="camel"):
    """An option that a plugin takes, by the name it has in extras."""

    flag_name: str
    help: str = ""
    example: str = ""


class PluginMetadata(Struct, frozen=True, rename="camel"):
    """What a plugin tells of itself."""

    name: str = ""
    version: str = ""
    request_version: list[str] | None = None
    response_version: list[str] | None = None
    optional_fields: list[OptionalField] | None = None
    modes: list[str] | None = None

    @property
    def streams(self) -> bool:
        return STREAM in (self.modes or ())


class PluginComplaint(Struct, frozen=True):
    """What a plugin that fails prints on stderr."""

    type: str = ""
    message: str = ""
    error: str = ""

    def __str__(self) -> str:
        return printable(": ".join(part for part in (self.message, self.error) if part))


class _Reply(Struct, rename="camel"):
    is_white_out: bool | None = False
    patches: Any = None
    new_resources: list[dict[str, Any]] | None = None
    changes_identity: bool | None = False
    # Only on a line of a stream, which tells by its number what it answers, and has no exit code for an error.
    request_id: int | None = None
    error: str | None = None


_metadata = msgspec.json.Decoder(PluginMetadata).decode
_reply = msgspec.json.Decoder(_Reply).decode
_complaint = msgspec.json.Decoder(PluginComplaint).decode


def write_request(tree: Mapping[str, Any], extras: Mapping[str, str] | None, number: int | None = None) -> bytes:
    """A request on one line; extras are null where there are none. One of a stream has a number."""
    numbered = {} if number is None else {"requestId": number}
    return msgspec.json.encode({**plain(tree), "extras": dict(extras) if extras else None, **numbered}) + b"\n"


def read_metadata(text: bytes) -> PluginMetadata:
    try:
        found = _metadata(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_json("its metadata", text, error) from error
    for versions, what in ((found.request_version, "requestVersion"), (found.response_version, "responseVersion")):
        if VERSION not in (versions or ()):
            raise WireError(f"its metadata has no {VERSION} in {what}")
    return found


def read_reply(text: bytes, number: int | None = None) -> Response:
    """A reply as JSON text; of a stream, to the request of a number."""
    try:
        found = _reply(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_json("its reply", text, error) from error
    if found.request_id != number and number is not None:
        raise OutOfStepError(f"it answers request {found.request_id} where {number} is next")
    if found.error is not None:
        raise WireError(printable(found.error))
    return _response(found)


def parse_reply(tree: Mapping[str, Any]) -> Response:
    """A reply as a tree."""
    try:
        return _response(msgspec.convert(unwrapped(dict(plain(tree))), _Reply))
    except msgspec.ValidationError as error:
        raise WireError(f"its reply cannot be read: {error}") from error


def _response(reply: _Reply) -> Response:
    try:
        operations = parse_patch(reply.patches) if reply.patches is not None else ()
    except PatchError as error:
        where = f"patches[{error.number}]" if error.number is not None else "patches"
        raise WireError(f"{where} in its reply: {printable(error.message)}") from error
    return Response(
        operations, bool(reply.is_white_out), tuple(reply.new_resources or ()), bool(reply.changes_identity)
    )


def _not_json(what: str, text: bytes, error: Exception) -> WireError:
    shown = printable(text.decode("utf-8", "replace").strip(), _SHOWN)
    if not shown:
        return OutOfStepError(f"{what} is empty")
    return OutOfStepError(f"{what} cannot be read: {error}; it printed {shown!r} (logs belong on stderr)")


def complaint(stderr: bytes) -> str:
    """What a plugin that failed says went wrong."""
    text = stderr.decode("utf-8", "replace").strip()
    try:
        found = str(_complaint(text))
    except msgspec.DecodeError:
        found = ""
    return found or printable(text)
