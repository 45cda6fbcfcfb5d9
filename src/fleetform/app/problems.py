"""Errors as problems: what the HTTP API says where the command line has prose and an exit code."""

from __future__ import annotations

from http import HTTPStatus

from msgspec import structs

from fleetform.app.errors import AmbiguousError, NoAnswerError
from fleetform.model.answers.problem import Problem
from fleetform.ports.store import StoreError, UnavailableError


def problem(status: int, code: str, detail: str, hint: str = "") -> Problem:
    return Problem(
        type=f"urn:fleetform:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=detail,
        hint=hint,
    )


def problem_of(error: NoAnswerError | StoreError) -> Problem:
    if isinstance(error, StoreError):
        if isinstance(error, UnavailableError):
            return problem(503, "unavailable", error.message, error.hint)
        return problem(500, "cannot-read", error.message, error.hint)
    found = problem(error.status, error.code, error.message, error.hint)
    return structs.replace(found, choices=list(error.choices)) if isinstance(error, AmbiguousError) else found
