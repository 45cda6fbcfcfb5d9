"""Errors of rendering, and the failures that users see."""

from __future__ import annotations

import os
import re

from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.rendering import RenderFailure
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import reason
from fleetform.outside.http import UnavailableError
from fleetform.syntax.addresses import without_logins

LONGEST = 1_000

_ERROR = re.compile(r"^(?:Error|error): ", re.MULTILINE)
# What Kubernetes' tools put before a line: severity, time, process and place in their code.
_LOG_PREFIX = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\] ", re.MULTILINE)
_ADVICE = re.compile(r"\n+Use --debug flag to render out invalid YAML\s*\Z")


class RenderError(Exception):
    """Why a render fails."""

    def __init__(self, message: str, hint: str, unavailable: bool = False) -> None:
        super().__init__(message)
        self.failure = RenderFailure(message, hint, unavailable)


def failure_of(error: Exception) -> RenderFailure:
    """The failure of a render that ended in an error."""
    if isinstance(error, RenderError):
        return error.failure
    if isinstance(error, OutsideError):
        return RenderFailure(error.message, error.hint, isinstance(error, UnavailableError))
    if isinstance(error, RecursionError):
        return RenderFailure("what it renders is nested too deep", "flatten it")
    return RenderFailure(str(error) or type(error).__name__, "check the source and the cache folder")


def source_failure(error: Exception, definition: Object[PluginDefinitionSpec]) -> RenderFailure:
    """The failure of a definition whose source could not be obtained."""
    if isinstance(error, OutsideError):
        login = "secretRef" in error.hint
        hint = "definitions have no credentials: use a repository that everybody may read" if login else error.hint
        return RenderFailure(error.message, hint, isinstance(error, UnavailableError))
    why = reason(error) if isinstance(error, OSError) else str(error)
    if isinstance(error, OSError) and error.filename:
        why = f"{os.path.relpath(error.filename)}: {why}"
    return RenderFailure(f"the source of {definition.ref.name} cannot be read: {why}", "check its size and permissions")


def still_fetched(definition: Object[PluginDefinitionSpec]) -> RenderFailure:
    """The failure of a definition whose source has not come yet."""
    message = f"the source of {definition.ref.name} {definition.spec.version} is still being fetched"
    return RenderFailure(message, "check its server and the network if that goes on", unavailable=True)


def error_of_tool(stderr: bytes, folder: str) -> str:
    """The error that a tool printed, without its other output and without our folder, and not too long."""
    text = _LOG_PREFIX.sub("", stderr.decode("utf-8", "replace"))
    text = text.replace(f"{folder}/", "").replace(folder, ".")
    starts = [found.end() for found in _ERROR.finditer(text)]
    # The last one ended the tool; those before it are remarks.
    message = without_logins(_ADVICE.sub("", text[starts[-1] :] if starts else text).strip())
    return message if len(message) <= LONGEST else message[:LONGEST].rstrip() + "…"
