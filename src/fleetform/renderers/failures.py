"""How a render says no."""

from __future__ import annotations

import re

from fleetform.model.results.rendering import RenderFailure
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import UnavailableError
from fleetform.syntax.addresses import without_logins

LONGEST = 1_000

_ERROR = re.compile(r"^(?:Error|error): ", re.MULTILINE)
_ADVICE = re.compile(r"\n+Use --debug flag to render out invalid YAML\s*\Z")


class RenderError(Exception):
    """Nothing comes of this render."""

    def __init__(self, message: str, hint: str, unavailable: bool = False) -> None:
        super().__init__(message)
        self.failure = RenderFailure(message, hint, unavailable)


def failure_of(error: Exception) -> RenderFailure:
    """What any error means for the render that met it."""
    if isinstance(error, RenderError):
        return error.failure
    if isinstance(error, OutsideError):
        return RenderFailure(error.message, error.hint, isinstance(error, UnavailableError))
    if isinstance(error, RecursionError):
        return RenderFailure("what it renders is nested too deep", "flatten it")
    return RenderFailure(str(error) or type(error).__name__, "check the source and the cache folder")


def words_of(stderr: bytes, folder: str) -> str:
    """What a tool says went wrong, without what it says of itself and of our folder, and not too long."""
    text = stderr.decode("utf-8", "replace").replace(f"{folder}/", "").replace(folder, ".")
    starts = [found.end() for found in _ERROR.finditer(text)]
    # The last one is what it ended with; before it are remarks.
    said = without_logins(_ADVICE.sub("", text[starts[-1] :] if starts else text).strip())
    return said if len(said) <= LONGEST else said[:LONGEST].rstrip() + "…"
