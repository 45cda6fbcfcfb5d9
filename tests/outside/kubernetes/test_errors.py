"""Which refusals are about an object and which about the connection."""

from __future__ import annotations

import msgspec
import pytest

from fleetform.outside.kubernetes.errors import (
    ApiError,
    BusyError,
    ConflictError,
    DeniedError,
    ExpiredError,
    HeldUpError,
    InvalidError,
    MissingError,
    NotServedError,
    ObjectError,
    ServerError,
    UnauthorizedError,
    error_of,
)

WEBHOOK = 'Internal error occurred: failed calling webhook "x.dev": failed to call webhook: connection refused'
CONVERSION = "conversion webhook for x.dev/v1, Kind=X failed: Post: connection refused"


@pytest.mark.rule("B25")
@pytest.mark.parametrize(
    ("code", "message", "type_", "about"),
    [
        (400, "bad", InvalidError, ObjectError),
        (401, "Unauthorized", UnauthorizedError, ServerError),
        (403, "may not", DeniedError, ObjectError),
        (404, "not found", MissingError, ObjectError),
        (409, "taken", ConflictError, ObjectError),
        (410, "too old", ExpiredError, ObjectError),
        (422, "invalid", InvalidError, ObjectError),
        (429, "slow down", BusyError, ServerError),
        (500, "etcdserver: leader changed", BusyError, ServerError),
        (500, ".spec.x: field not declared in schema", InvalidError, ObjectError),
        (500, "etcdserver: request is too large", InvalidError, ObjectError),
        (500, WEBHOOK, HeldUpError, ObjectError),
        (500, CONVERSION, HeldUpError, ObjectError),
        (502, "bad gateway", BusyError, ServerError),
        (503, "starting", BusyError, ServerError),
        (503, "service unavailable", NotServedError, ObjectError),
        (503, "error trying to reach service: dial tcp 10.0.0.1:443:\nrefused", NotServedError, ObjectError),
        (503, "503 Service Unavailable", BusyError, ServerError),
        (503, "the service unavailable", BusyError, ServerError),
        (504, "service unavailable", BusyError, ServerError),
    ],
)
def test_an_error_is_about_an_object_or_about_the_connection(
    code: int, message: str, type_: type[ApiError], about: type[ApiError]
) -> None:
    found = error_of(code, msgspec.json.encode({"kind": "Status", "code": code, "message": message}))
    assert (type(found), isinstance(found, about), found.status) == (type_, True, code)
    assert not (isinstance(found, ObjectError) and isinstance(found, ServerError))
