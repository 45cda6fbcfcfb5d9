"""The files in folders that definitions render, on this machine or at a git revision, and their digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from fleetform.app.reading.source_folders import joined
from fleetform.load.inputs import git_folder
from fleetform.model.objects import Object
from fleetform.outside.boundary import EVERYWHERE, Boundary, BoundaryError
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import LocalTree
from fleetform.outside.git import SubmoduleError, folder_in_repository, ignored_below, no_folder, tree_at

MAX_FILES = 20_000
MAX_BYTES = 200 * 1024 * 1024
MAX_DEPTH = 100

# Hidden, as files of editors and of git are, and still part of a chart.
_NOT_HIDDEN = frozenset({".helmignore"})
_FROM_CATALOG = "catalog:"


class Folder(NamedTuple):
    """A folder on this machine, or at a revision of the git repository of the working directory."""

    path: str
    revision: str | None = None

    def __str__(self) -> str:
        return self.path if self.revision is None else f"git:{self.revision}/{self.path}"


def is_from_catalog(definition: Object[object]) -> bool:
    """Whether a definition came from a catalog: the folders that its paths name did not come with it."""
    return definition.origin.file.startswith(_FROM_CATALOG)


def located(definition: Object[object], path: str) -> Folder:
    """The folder that a path of a definition names, which is relative to the definition's file."""
    place = git_folder(definition.origin.file)
    if place is None:
        return Folder(joined(definition, path))
    revision, file = place
    return Folder(os.path.normpath(os.path.join(os.path.dirname(file), path)), revision)


class FileTree(Protocol):
    """Files, folders, links and submodules by their places, on this machine or in a commit."""

    def real(self, place: str) -> str | None: ...
    def link(self, place: str) -> str | None: ...
    def is_file(self, place: str) -> bool: ...
    def is_submodule(self, place: str) -> bool: ...
    def names(self, place: str) -> Sequence[str]: ...
    def read(self, places: Sequence[str]) -> Iterator[bytes]: ...


class UnusableLink(NamedTuple):
    """A link that leads to nothing in its folder: its target as written, the reason, the real place if any."""

    target: str
    why: str
    place: str | None = None


class LinkError(OutsideError):
    """A link leads to nothing that is rendered."""

    def __init__(self, name: str, link: UnusableLink) -> None:
        super().__init__(
            f"{name} is a link to {link.target}, {link.why}", "replace the link with the file or folder itself"
        )


class FolderContents(NamedTuple):
    """What is in a folder, by paths in it: files (also through links), and links that cannot be followed.

    place is where the folder really is, linked are links to folders inside it, and submodules are not fetched.
    """

    place: str
    files: dict[str, bytes]
    links: dict[str, UnusableLink]
    linked: tuple[str, ...]
    submodules: tuple[str, ...]


def read_folder(folder: Folder, boundary: Boundary = EVERYWHERE) -> dict[str, bytes]:
    """The files below a folder, by path and in the order of paths; none if there is no such folder."""
    read, start = folder_reader(folder, boundary)
    found = read(start)
    if found is None:
        return {}
    if found.submodules:
        raise SubmoduleError(f"{folder}/{found.submodules[0]}")
    for name, link in found.links.items():
        raise LinkError(f"{folder}/{name}", link)
    return found.files


def folder_reader(
    folder: Folder, boundary: Boundary = EVERYWHERE
) -> tuple[Callable[[str], FolderContents | None], str]:
    """A function that reads the folders around a folder by their places, and the place of the folder itself."""
    if folder.revision is None:

        def read_local(place: str) -> FolderContents | None:
            # Files that git ignores were made on this machine, and are in no revision.
            real = os.path.realpath(place)
            if not boundary.holds(real):
                raise BoundaryError(os.path.relpath(place), boundary)
            return read_tree(LocalTree({os.path.join(real, name) for name in ignored_below(real)}), place)

        return read_local, os.path.abspath(folder.path)
    start = folder_in_repository(folder.path)

    def read(place: str) -> FolderContents | None:
        found = read_tree(tree_at(folder.revision or "", place), place)
        if found is None and place == start:
            raise no_folder(folder.revision or "", folder.path)
        return found

    return read, start


def read_tree(tree: FileTree, place: str) -> FolderContents | None:
    """What is in the folder at a place: the same, and so with the same digest, on this machine and in a commit."""
    real = tree.real(place)
    if real is None or tree.is_file(real):
        return None
    if tree.is_submodule(real):
        raise SubmoduleError(real)
    walk = _Walk(tree, real)
    walk.add_folder(real, "", (real,))
    files: dict[str, bytes] = {}
    size = 0
    for name, content in zip(walk.files, tree.read(list(walk.files.values())), strict=True):
        size += len(content)
        if size > MAX_BYTES:
            raise _too_large(real)
        files[name] = content
    return FolderContents(real, dict(sorted(files.items())), walk.links, tuple(walk.linked), tuple(walk.submodules))


class _Walk:
    """Walks a folder, and follows links as if their targets were in their place."""

    def __init__(self, tree: FileTree, root: str) -> None:
        self._tree, self._root = tree, root
        self._count = 0
        self.files: dict[str, str] = {}
        self.links: dict[str, UnusableLink] = {}
        self.linked: list[str] = []
        self.submodules: list[str] = []

    def add_folder(self, folder: str, name: str, above: tuple[str, ...]) -> None:
        for step in self._tree.names(folder):
            if is_counted(step):
                self._add(os.path.join(folder, step), os.path.join(name, step), above)

    def _add(self, place: str, name: str, above: tuple[str, ...]) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            raise _too_large(self._root)
        text = self._tree.link(place)
        if text is not None:
            self._follow(place, name, text, above)
        elif self._tree.is_submodule(place):
            self.submodules.append(name)
        elif self._tree.is_file(place):
            self.files[name] = place
        elif is_counted(f"{name}/x"):
            if len(above) > MAX_DEPTH:
                raise OutsideError(f"{place} is more than {MAX_DEPTH} folders deep", "name a folder further down")
            self.add_folder(place, name, (*above, place))

    def _follow(self, link: str, name: str, text: str, above: tuple[str, ...]) -> None:
        real = self._tree.real(link)
        if real is None or ".git" in real[len(self._root) :].split("/"):
            # The files of git itself are in no revision.
            self.links[name] = UnusableLink(text, "which does not exist")
        elif not is_below(real, self._root):
            self.links[name] = UnusableLink(text, "which is not part of what is rendered", real)
        elif real in above:
            self.links[name] = UnusableLink(text, "which contains the link itself")
        else:
            if not self._tree.is_file(real):
                self.linked.append(name)
            self._add(real, name, above)


def is_below(place: str, folder: str) -> bool:
    """Whether a place is a folder, or in it; everything is in the root of a repository, which is ""."""
    return not folder or place == folder or place.startswith(folder.rstrip("/") + "/")


def _too_large(folder: str) -> OutsideError:
    amount = f"{MAX_FILES:,} files or {MAX_BYTES // 1024 // 1024} MB"
    return OutsideError(f"{folder or 'the repository'} has more than {amount}", "name a smaller folder")


def is_counted(name: str) -> bool:
    """Whether a file is part of what is rendered; hidden ones belong to editors or to git."""
    *folders, last = name.split("/")
    return not any(step.startswith(".") for step in folders) and (not last.startswith(".") or last in _NOT_HIDDEN)


def digest_of_files(files: Mapping[str, bytes]) -> str | None:
    """One digest over names and bytes; None if there are no files."""
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}" if files else None
