"""The files of folders that definitions render, on this machine or at a revision of git, and the digest of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fleetform.app.folders import joined
from fleetform.load.sources import git_folder
from fleetform.model.objects import Object
from fleetform.outside.errors import OutsideError
from fleetform.outside.git import files_at, ignored_below

MAX_FILES = 20_000
MAX_BYTES = 200 * 1024 * 1024

# Hidden as the editor's files and git's are, and still part of what a chart says.
_COUNTING = frozenset({".helmignore"})
_FROM_CATALOG = "catalog:"


class Folder(NamedTuple):
    """A folder of this machine, or of a revision of the repository that we stand in."""

    path: str
    revision: str | None = None

    def beside(self, path: str) -> Folder:
        """The folder that a relative path leads to from here."""
        return self._replace(path=os.path.normpath(os.path.join(self.path, path)))

    def __str__(self) -> str:
        return self.path if self.revision is None else f"git:{self.revision}/{self.path}"


def is_from_catalog(definition: Object[Any]) -> bool:
    """Whether a definition was fetched: what its paths lead to did not come with it."""
    return definition.origin.file.startswith(_FROM_CATALOG)


def located(definition: Object[Any], path: str) -> Folder:
    """Where a path leads that a definition names, which is relative to its file."""
    place = git_folder(definition.origin.file)
    if place is None:
        return Folder(joined(definition, path))
    revision, file = place
    return Folder(os.path.dirname(file), revision).beside(path)


def read_folder(folder: Folder) -> dict[str, bytes]:
    """The files below a folder by their paths in it, and in the order of these; none where there is no such folder."""
    found: dict[str, bytes] = {}
    size = 0
    for name, content in _files(folder):
        if is_counted(name):
            found[name] = content
            size += len(content)
        if len(found) > MAX_FILES or size > MAX_BYTES:
            amount = f"{MAX_FILES:,} files or {MAX_BYTES // 1024 // 1024} MB"
            raise OutsideError(f"{folder} holds more than {amount}", "name a smaller folder")
    return dict(sorted(found.items()))


def is_counted(name: str) -> bool:
    """Whether a file is part of what is rendered: those that are hidden are the editor's, or git's."""
    *folders, last = name.split("/")
    return not any(step.startswith(".") for step in folders) and (not last.startswith(".") or last in _COUNTING)


def digest_of_files(files: Mapping[str, bytes]) -> str | None:
    """One digest over names and bytes; None where there are none."""
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}" if files else None


def _files(folder: Folder) -> Iterator[tuple[str, bytes]]:
    """All files of a folder; the same ones, and so the same digest, be it on this machine or committed."""
    if folder.revision is not None:
        yield from files_at(folder.revision, folder.path, ("",))
        return
    ignored = ignored_below(folder.path)
    for root, folders, names in os.walk(folder.path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(root, name)
            inside = os.path.relpath(path, folder.path).replace(os.sep, "/")
            # What git ignores was made here, and is in no revision.
            if os.path.isfile(path) and not os.path.islink(path) and inside not in ignored:
                with open(path, "rb") as file:
                    yield inside, file.read()
