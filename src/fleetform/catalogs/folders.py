"""The files of folders that definitions render, on this machine or at a revision of git, and the digest of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fleetform.app.reading.source_folders import joined
from fleetform.load.sources import git_folder
from fleetform.model.objects import Object
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import LocalTree
from fleetform.outside.git import SubmoduleError, folder_in_repository, ignored_below, no_folder, tree_at

MAX_FILES = 20_000
MAX_BYTES = 200 * 1024 * 1024
MAX_DEPTH = 100

# Hidden as the editor's files and git's are, and still part of what a chart says.
_COUNTING = frozenset({".helmignore"})
_FROM_CATALOG = "catalog:"


class Folder(NamedTuple):
    """A folder of this machine, or of a revision of the repository that we stand in."""

    path: str
    revision: str | None = None

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
    return Folder(os.path.normpath(os.path.join(os.path.dirname(file), path)), revision)


class Tree(Protocol):
    """Files, folders, links and submodules by their places, on this machine or in a commit."""

    def real(self, place: str) -> str | None: ...
    def link(self, place: str) -> str | None: ...
    def is_file(self, place: str) -> bool: ...
    def is_submodule(self, place: str) -> bool: ...
    def names(self, place: str) -> Sequence[str]: ...
    def read(self, places: Sequence[str]) -> Iterator[bytes]: ...


class Link(NamedTuple):
    """A link that leads to nothing in its folder: what it says, why that is no use, and the place if there is one."""

    text: str
    why: str
    place: str | None = None


class LinkError(OutsideError):
    """A link leads to nothing that is rendered."""

    def __init__(self, name: str, link: Link) -> None:
        super().__init__(f"{name} is a link to {link.text}, {link.why}", "put what it should lead to in its place")


class Contents(NamedTuple):
    """What a folder holds, by paths in it: files, those among them that links lead to, and links that lead elsewhere.

    place is where the folder really is, linked are links to folders of it, and submodules hold nothing here.
    """

    place: str
    files: dict[str, bytes]
    links: dict[str, Link]
    linked: tuple[str, ...]
    submodules: tuple[str, ...]


def read_folder(folder: Folder) -> dict[str, bytes]:
    """The files below a folder by their paths in it, and in the order of these; none where there is no such folder."""
    read, start = reader(folder)
    found = read(start)
    if found is None:
        return {}
    if found.submodules:
        raise SubmoduleError(f"{folder}/{found.submodules[0]}")
    for name, link in found.links.items():
        raise LinkError(f"{folder}/{name}", link)
    return found.files


def reader(folder: Folder) -> tuple[Callable[[str], Contents | None], str]:
    """What reads the folders around a folder by their places, and its own place."""
    if folder.revision is None:
        return lambda place: read_tree(_local_tree(place), place), os.path.abspath(folder.path)
    start = folder_in_repository(folder.path)

    def read(place: str) -> Contents | None:
        found = read_tree(tree_at(folder.revision or "", place), place)
        if found is None and place == start:
            raise no_folder(folder.revision or "", folder.path)
        return found

    return read, start


def _local_tree(place: str) -> LocalTree:
    """What git ignores was made here, and is in no revision."""
    real = os.path.realpath(place)
    return LocalTree({os.path.join(real, name) for name in ignored_below(real)})


def read_tree(tree: Tree, place: str) -> Contents | None:
    """What the folder at a place holds; the same, and so of the same digest, be it on this machine or committed."""
    real = tree.real(place)
    if real is None or tree.is_file(real):
        return None
    if tree.is_submodule(real):
        raise SubmoduleError(real)
    walk = _Walk(tree, real)
    walk.enter(real, "", (real,))
    files: dict[str, bytes] = {}
    size = 0
    for name, content in zip(walk.files, tree.read(list(walk.files.values())), strict=True):
        size += len(content)
        if size > MAX_BYTES:
            raise _too_large(real)
        files[name] = content
    return Contents(real, dict(sorted(files.items())), walk.links, tuple(walk.linked), tuple(walk.submodules))


class _Walk:
    """Goes through a folder, and through links as if what they lead to were in their place."""

    def __init__(self, tree: Tree, root: str) -> None:
        self._tree, self._root = tree, root
        self._met = 0
        self.files: dict[str, str] = {}
        self.links: dict[str, Link] = {}
        self.linked: list[str] = []
        self.submodules: list[str] = []

    def enter(self, folder: str, name: str, above: tuple[str, ...]) -> None:
        for step in self._tree.names(folder):
            if is_counted(step):
                self._meet(os.path.join(folder, step), os.path.join(name, step), above)

    def _meet(self, place: str, name: str, above: tuple[str, ...]) -> None:
        self._met += 1
        if self._met > MAX_FILES:
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
            self.enter(place, name, (*above, place))

    def _follow(self, link: str, name: str, text: str, above: tuple[str, ...]) -> None:
        real = self._tree.real(link)
        if real is None or ".git" in real[len(self._root) :].split("/"):
            # What git keeps for itself is in no revision.
            self.links[name] = Link(text, "which is not there")
        elif not is_below(real, self._root):
            self.links[name] = Link(text, "which is not part of what is rendered", real)
        elif real in above:
            self.links[name] = Link(text, "which holds the link itself")
        else:
            if not self._tree.is_file(real):
                self.linked.append(name)
            self._meet(real, name, above)


def is_below(place: str, folder: str) -> bool:
    """Whether a place is a folder, or in it; the root of a repository is no step."""
    return not folder or place == folder or place.startswith(folder.rstrip("/") + "/")


def _too_large(folder: str) -> OutsideError:
    amount = f"{MAX_FILES:,} files or {MAX_BYTES // 1024 // 1024} MB"
    return OutsideError(f"{folder or 'the repository'} holds more than {amount}", "name a smaller folder")


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
