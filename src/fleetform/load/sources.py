"""Sources of a fleet's files for those who read them again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from fleetform.load.inputs import read_inputs
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import KnownFiles
from fleetform.outside.git import GitError, commit_and_author
from fleetform.outside.mirrors import ASIDE, Mirror
from fleetform.ports.sources import SourceFiles

_GIT = "git:"
# A branch that moves while it is read is read again.
_TRIES = 5


class FileSource:
    """Files and folders of this machine, and commits of the repository of the working directory.

    Where all of it is commits, it is read again only when one of them is another; files only where they look different.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._refs = [name.removeprefix(_GIT).partition(":")[0] for name in names if name.startswith(_GIT)]
        self._last: SourceFiles | None = None
        self._known = KnownFiles()

    def read(self) -> SourceFiles:
        only_commits = len(self._refs) == len(self._names)
        for _ in range(_TRIES):
            revision, author = self._revision()
            last = self._last
            if only_commits and last is not None and revision and last.revision == revision and not last.problems:
                return last
            self._last = found = self._read(revision, author)
            if not self._refs or self._revision()[0] == revision:
                break
        return found

    def _revision(self) -> tuple[str, str | None]:
        """The commits that are read now, and who made the last of them; "" if there are none."""
        try:
            commits = [commit_and_author(ref) for ref in self._refs]
        except GitError:
            # Reading says what is wrong.
            return "", None
        return " ".join(commit for commit, _ in commits), commits[-1][1] if commits else None

    def _read(self, revision: str, author: str | None) -> SourceFiles:
        files: dict[str, bytes] = {}
        problems: list[Diagnostic] = []
        for found in read_inputs(self._names, read=self._known.read):
            if isinstance(found, Diagnostic):
                problems.append(found)
            else:
                files[found.name] = found.content
        self._known.finish()
        return SourceFiles(files, problems, revision, author)


class RepositorySource:
    """Commits of a repository elsewhere, of which a copy is here. What is read moves when it is read, and only then.

    fetch may be called by another thread, and never raises: a failure is a problem of what is read until the next one.
    """

    def __init__(self, mirror: Mirror, names: Sequence[str]) -> None:
        self._mirror, self._files = mirror, FileSource(names)
        self._name = names[0] if names else _GIT
        self._problem: OutsideError | None = None

    def fetch(self) -> None:
        try:
            self._mirror.update(None, ASIDE)
        except OutsideError as error:
            self._problem = error
        else:
            self._problem = None

    def read(self) -> SourceFiles:
        problem = self._problem
        if problem is None:
            try:
                self._mirror.take_fetched()
            except OutsideError as error:
                problem = error
        if problem is not None:
            return SourceFiles({}, [Diagnostic("cannot-read", problem.message, problem.hint)])
        return self._files.read()


def folder_finder(names: Sequence[str]) -> Callable[[str], str]:
    """Gives the folder that paths in a file are relative to; those of a commit as if it were checked out here."""
    prefixes = [f"{name.partition(':')[0]}:{name.split(':')[1]}/" for name in names if name.startswith(_GIT)]

    def folder_of(file: str) -> str:
        for prefix in prefixes:
            if file.startswith(prefix):
                return os.path.dirname(file.removeprefix(prefix))
        return os.path.dirname(file)

    return folder_of
