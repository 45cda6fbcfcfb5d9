"""The tools that render: where they are, and their versions."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import msgspec

from fleetform.outside.processes import ProcessError, Programs
from fleetform.renderers.cache import RenderCache
from fleetform.renderers.failures import RenderError, error_of_tool

HELM, KUSTOMIZE = "FLEETFORM_HELM", "FLEETFORM_KUSTOMIZE"

_GET_HELM = f"install Helm 3 or 4, or set {HELM} to it"
_GET_KUSTOMIZE = f"install kustomize or kubectl, or set {KUSTOMIZE} to one of them"
_VERSION = re.compile(r"v?\d+\.\d+[\w.+-]*")


class Tool(NamedTuple):
    """A tool: its command, and its version."""

    name: str
    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Tools:
    """Finds each tool once, and asks it once for its version."""

    def __init__(self, programs: Programs, cache: RenderCache) -> None:
        self._programs, self._cache = programs, cache
        self._found: dict[str, Tool | RenderError] = {}
        self._lock = Lock()

    def helm(self) -> Tool:
        return self._once("helm", self._find_helm)

    def kustomize(self) -> Tool:
        return self._once("kustomize", self._find_kustomize)

    def _once(self, name: str, find: Callable[[], Tool]) -> Tool:
        with self._lock:
            if name not in self._found:
                try:
                    self._found[name] = find()
                except RenderError as error:
                    self._found[name] = error
            found = self._found[name]
        if isinstance(found, RenderError):
            raise found
        return found

    def _find_helm(self) -> Tool:
        program = _chosen(HELM, _GET_HELM) or shutil.which("helm")
        if program is None:
            raise RenderError("helm is not on the PATH", _GET_HELM, unavailable=True)
        version = self._version(program, ("version", "--template", "{{.Version}}"), _first_word, _GET_HELM)
        return Tool("helm", (program,), version)

    def _find_kustomize(self) -> Tool:
        program = _chosen(KUSTOMIZE, _GET_KUSTOMIZE) or shutil.which("kustomize") or shutil.which("kubectl")
        if program is None:
            raise RenderError("neither kustomize nor kubectl is on the PATH", _GET_KUSTOMIZE, unavailable=True)
        if os.path.basename(program).startswith("kubectl"):

            def inner_version(stdout: bytes) -> str:
                # Of the kustomize inside kubectl, which is what renders.
                try:
                    return str(msgspec.json.decode(stdout)["kustomizeVersion"])
                except (msgspec.DecodeError, KeyError, TypeError):
                    return ""

            asked = ("version", "--client", "--output", "json")
            version = self._version(program, asked, inner_version, _GET_KUSTOMIZE)
            return Tool("kubectl kustomize", (program, "kustomize"), version)
        version = self._version(program, ("version",), _first_word, _GET_KUSTOMIZE)
        return Tool("kustomize", (program, "build"), version)

    def _version(self, program: str, arguments: tuple[str, ...], read: Callable[[bytes], str], hint: str) -> str:
        """A program's version, from the cache if the program did not change since it was last asked."""
        identity = _identity(program)
        known = self._cache.version(identity) if identity is not None else None
        if known is not None:
            return known
        try:
            answer = self._programs.run((program, *arguments))
        except ProcessError as error:
            raise RenderError(
                f"{program} does not report its version: {error.message}", hint, unavailable=True
            ) from error
        version = _VERSION.search(read(answer.stdout)) if answer.code == 0 else None
        if version is None:
            reason = error_of_tool(answer.stderr, "/") if answer.code else ""
            message = f"{program} does not report its version" + (f": {reason}" if reason else "")
            raise RenderError(message, hint, unavailable=True)
        if identity is not None:
            self._cache.keep_version(identity, version[0])
        return version[0]


def _chosen(variable: str, hint: str) -> str | None:
    """The program that the environment names."""
    name = os.environ.get(variable)
    if not name:
        return None
    program = shutil.which(name)
    if program is None:
        raise RenderError(f"{variable} is {name}, which is not a program", hint, unavailable=True)
    return program


def _identity(program: str) -> str | None:
    """Identifies a program until it changes; None for a script, since it may call any program."""
    try:
        status = os.stat(program)
        with open(program, "rb") as file:
            if file.read(2) == b"#!":
                return None
    except OSError:
        return None
    return f"{os.path.realpath(program)}\0{status.st_size}\0{status.st_mtime_ns}"


def _first_word(stdout: bytes) -> str:
    words = stdout.decode("utf-8", "replace").split()
    return words[0] if words else ""
