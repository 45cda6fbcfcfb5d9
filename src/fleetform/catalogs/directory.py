"""Definitions from a folder, or from a folder of a git revision if the catalog itself was read from one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.load.inputs import git_folder, git_name, read_inputs
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.outside.errors import OutsideError
from fleetform.syntax.globs import matches_any


def read_directory(
    directory: str, folder: str, include: Sequence[str] | None, boundary: Boundary = EVERYWHERE
) -> SourceListing:
    """The definitions in a directory, which is relative to the folder of the file that names it."""
    revision = git_folder(f"{folder}/") if not os.path.isabs(directory) else None
    inside = os.path.normpath(os.path.join(revision[1] if revision is not None else folder, directory))
    # Inputs name a folder of a git revision git:REF:DIR.
    name = f"git:{revision[0]}:{inside}" if revision is not None else inside
    path = git_name(revision[0], inside) if revision is not None else inside
    found, problems = [], []
    for file in read_inputs([name], boundary):
        if isinstance(file, Diagnostic):
            if getattr(file.at, "file", None) in (path, name):
                raise OutsideError(file.message, file.hint)
            problems.append(file.message)
        elif include is None or matches_any(os.path.relpath(file.name, path), include):
            text = file.content.decode("utf-8-sig", "replace")
            found.append(ListedDefinition(file.name, file.name, text))
    return SourceListing("", found, problems, whole=True)
