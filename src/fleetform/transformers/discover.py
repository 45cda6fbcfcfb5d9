"""Plugins in a folder, in the order of their paths (R4-4): one that cannot be used is named, and the rest are found."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from fleetform.transformers.executables import LoadError, Workshop, load_executable
from fleetform.transformers.modules import defines_run, load_module
from fleetform.transformers.plugins import TransformPlugin

_ANY_RUN_BIT = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_LOOKS_EXECUTABLE = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")


class Problem(NamedTuple):
    """A file that is no plugin although it may be meant as one; is_error is false where that is a guess."""

    file: str
    message: str
    hint: str
    is_error: bool = True


class Discovered(NamedTuple):
    """What there is in a folder."""

    plugins: tuple[TransformPlugin, ...]
    problems: tuple[Problem, ...]


def discover(folder: str, workshop: Workshop, streams: bool = True) -> Discovered:
    """The plugins of a folder and those below it: files with a run bit are executables, other .py files modules."""
    plugins: list[TransformPlugin] = []
    problems: list[Problem] = []
    if not os.path.isdir(folder):
        return Discovered((), (Problem(folder, "there is no such folder", "check --plugin-dir"),))
    for path in _files(folder):
        found = _load(path, folder, workshop, streams)
        if isinstance(found, Problem):
            problems.append(found)
        elif found is not None:
            plugins.append(found)
    return Discovered(tuple(plugins), tuple(problems))


def _files(folder: str) -> list[str]:
    found = []
    for root, folders, files in os.walk(folder):
        # What begins with a dot is an editor's or a version control's.
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        found += [os.path.join(root, name) for name in files if not name.startswith(".")]
    return sorted(found, key=lambda path: os.path.relpath(path, folder).split(os.sep))


def _load(path: str, folder: str, workshop: Workshop, streams: bool) -> TransformPlugin | Problem | None:
    file = os.path.relpath(path, folder)
    try:
        real = os.path.realpath(path, strict=True)
        mode = os.stat(real).st_mode
        if not stat.S_ISREG(mode):
            return None
        # S43: nothing outside the folder runs.
        if os.path.commonpath([real, os.path.realpath(folder)]) != os.path.realpath(folder):
            return Problem(file, "it is a link that leads out of the folder", "copy the plugin into the folder")
        if mode & _ANY_RUN_BIT:
            return load_executable(path, workshop, streams)
        if path.endswith(".py") and defines_run(path):
            return load_module(path)
        with open(path, "rb") as opened:
            if opened.read(4).startswith(_LOOKS_EXECUTABLE):
                return Problem(file, "it is not executable, so it takes no part", f"chmod +x {path}", False)
    except LoadError as error:
        return Problem(file, error.message, error.hint)
    except OSError as error:
        return Problem(file, f"it cannot be read: {error.strerror or error}", "check the file and its permissions")
    return None
