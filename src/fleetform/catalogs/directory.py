"""Definitions from a folder, or from a folder of a git revision where the catalog itself was read from one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fleetform.catalogs.globs import matches_any
from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.load.sources import git_folder, read_sources
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.outside.errors import OutsideError


def read_directory(directory: str, folder: str, include: Sequence[str] | None) -> SourceListing:
    """What a folder holds; it is relative to the folder of the file that names it."""
    path = os.path.normpath(os.path.join(folder, directory))
    found, problems = [], []
    for file in read_sources([_as_input(path)]):
        if isinstance(file, Diagnostic):
            if getattr(file.at, "file", None) in (path, _as_input(path)):
                raise OutsideError(file.message, file.hint)
            problems.append(file.message)
        elif include is None or matches_any(os.path.relpath(file.name, path), include):
            text = file.content.decode("utf-8-sig", "replace")
            found.append(ListedDefinition(file.name, file.name, text))
    return SourceListing("", found, problems, whole=True)


def _as_input(path: str) -> str:
    """The path as an input names it: below a git revision it is git:REF:DIR."""
    revision = git_folder(path)
    return f"git:{revision[0]}:{revision[1]}" if revision is not None else path
