"""The authors of an input's files, and of removals from them, where they are in git: looked up when asked (S47)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property

from fleetform.load.inputs import git_name
from fleetform.load.removers import ObjectsIn, RemoverSearch
from fleetform.model.objects import Ref
from fleetform.outside.authorship import AuthorMemory, editor_of, root_of, tracked, uncommitted
from fleetform.outside.git import GitError, folder_in_repository


class GitAuthors(Mapping[str, str]):
    """The addresses of those who made files what they are, by the files' names in messages.

    A file that is in no repository is not in it; one of which git does not know the author is, with an empty address.
    files are all that will be asked for. objects_in says which objects a file holds. memory has what was found before.
    """

    def __init__(
        self,
        sources: Iterable[str],
        files: Callable[[], Iterable[str]],
        objects_in: ObjectsIn,
        memory: AuthorMemory | None = None,
    ) -> None:
        self._sources, self._files, self._objects_in = list(sources), files, objects_in
        self._memory = memory or AuthorMemory()
        self._removers: dict[frozenset[Ref], dict[Ref, str]] = {}

    def removers(self, objects: Collection[Ref], /) -> Mapping[Ref, str]:
        """The authors of the commits that removed objects, newest first; what is not committed is by who works here."""
        asked = frozenset(objects)
        found = self._removers.get(asked)
        if found is None:
            search = RemoverSearch(asked, self._objects_in)
            for source in self._sources:
                if source.startswith("git:"):
                    revision, where = _revision_and_folder(source)
                    if where is not None:
                        search.in_history(root_of(".") or ".", revision, where)
                elif source != "-":
                    search.in_work_tree(source)
            found = self._removers[asked] = search.found
        return found

    def __getitem__(self, file: str) -> str:
        return self._found[file]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @cached_property
    def _found(self) -> dict[str, str]:
        files = set(self._files())
        found: dict[str, str] = {}
        for source in self._sources:
            if source.startswith("git:"):
                found.update(_of_revision(source, files, self._memory))
            elif source != "-":
                found.update(_of_work_tree(source, files - found.keys(), self._memory))
        return found


def _revision_and_folder(source: str) -> tuple[str, str | None]:
    """A revision, and the folder from the root of its repository; None: there is no repository."""
    revision, _, folder = source.removeprefix("git:").partition(":")
    try:
        return revision, folder_in_repository(folder)
    except GitError:
        return revision, None


def _of_revision(source: str, files: set[str], memory: AuthorMemory) -> dict[str, str]:
    revision, where = _revision_and_folder(source)
    if where is None:
        return {}
    prefix = git_name(revision, source.removeprefix("git:").partition(":")[2])
    root = root_of(".") or "."
    start = f"{prefix}/"
    names = {os.path.normpath(f"{where}/{each.removeprefix(start)}"): each for each in files if each.startswith(start)}
    paths = {path.lstrip("/"): name for path, name in names.items()}
    known = memory.authors(root, revision, set(paths), where) if paths else {}
    return {name: known.get(path, "") for path, name in paths.items()}


def _of_work_tree(source: str, files: set[str], memory: AuthorMemory) -> dict[str, str]:
    """Of the repository that a file or folder is in; links are followed, as they are when files are read."""
    root = root_of(source if os.path.isdir(source) else os.path.dirname(source) or ".")
    if root is None:
        return {}
    inside = f"{root}/"
    folders: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    for file in files:
        if not file.startswith("git:"):
            real = _real(file, folders)
            if real.startswith(inside):
                paths.setdefault(real.removeprefix(inside), []).append(file)
    below = _common_folder(paths)
    changed = uncommitted(root, below) & paths.keys()
    known = memory.authors(root, "HEAD", paths.keys() - changed, below)
    editor = editor_of(root) if changed else ""
    # What git ignores is a plain folder.
    ours = changed | tracked(root, below)
    found = {**known, **dict.fromkeys(changed, editor)}
    return {name: found.get(path, "") for path, names in paths.items() if path in ours for name in names}


def _real(file: str, folders: dict[str, str]) -> str:
    folder, name = os.path.split(file)
    real = folders.get(folder)
    if real is None:
        real = folders[folder] = os.path.realpath(folder or ".")
    path = os.path.join(real, name)
    return os.path.realpath(path) if os.path.islink(path) else path


def _common_folder(paths: Iterable[str]) -> str:
    folders = [os.path.dirname(each) for each in paths]
    return os.path.commonpath(folders) if folders and all(folders) else ""
