"""How a verb says that it has no answer; front doors turn these into exit codes and prose."""

from __future__ import annotations


class NoAnswerError(Exception):
    """Why a question has no answer, and what to do: exit 2, unless a subclass says otherwise.

    code is what answers call it, status what HTTP calls it.
    """

    exit_code = 2
    code = "refused"
    status = 409

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class NotFoundError(NoAnswerError):
    """What was asked for is not there: exit 1."""

    exit_code = 1
    code = "not-found"
    status = 404


class BadValueError(NoAnswerError):
    """What somebody gave cannot be read: exit 2."""

    code = "bad-value"
    status = 400


class AmbiguousError(NoAnswerError):
    """The question fits several things: exit 2, listing them."""

    code = "ambiguous"
    status = 400

    def __init__(self, message: str, choices: list[str], hint: str = "") -> None:
        super().__init__(message, hint)
        self.choices = choices


class StateError(NoAnswerError):
    """A state cannot be read: exit 2."""

    code = "cannot-read"
    status = 500


class StateChangedError(StateError):
    """Somebody else wrote the state meanwhile: exit 4, trying again may help."""

    exit_code = 4
    status = 503


class DeniedError(NoAnswerError):
    """Somebody may not do this, or it must not be done now: exit 3."""

    exit_code = 3
    code = "denied"
    status = 403


class NotRenderedError(NoAnswerError):
    """A plugin has no objects to ask about: exit 3, or 4 if only a tool or a source is missing here."""

    code = "render-failed"

    def __init__(self, message: str, hint: str, unavailable: bool = False) -> None:
        super().__init__(message, hint)
        self.unavailable, self.exit_code = unavailable, 4 if unavailable else 3
