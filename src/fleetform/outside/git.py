"""Git, through its own command: files of any commit, without a checkout."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from subprocess import DEVNULL
from typing import IO, NamedTuple

from fleetform.outside.errors import OutsideError
from fleetform.outside.files import MAX_FILE, too_large

# As many as the systems follow that people work on.
_MOST_LINKS = 40


class GitError(OutsideError):
    """Git's error message, and what to do."""


class NoFolderError(GitError):
    """A revision has no such folder."""


class LargeBlobError(GitError):
    """A file of a commit is too large to be read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: {too_large(MAX_FILE)}", "leave it out of the commit, or name another folder")


class SubmoduleError(GitError):
    """A path is in another repository, of which this one only has the commit's name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is a submodule, which is not fetched", "commit its files to the repository itself")


class TreeEntry(NamedTuple):
    """An entry of a commit's tree, by git's mode a file, a link or a submodule; and the name of its object."""

    path: str
    mode: str
    object: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        return self.mode == "160000"


def files_at(ref: str, folder: str, wanted: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Path (below the folder) and bytes of every regular file at a commit whose name ends as wanted, by path."""
    commit, where = _commit_of(ref), folder_in_repository(folder)
    entries = _entries_at(commit, where, f"{ref} has no {folder}")
    blobs = [(each.path, each.object) for each in entries if each.is_file and each.path.endswith(wanted)]
    if folder and not entries:
        raise no_folder(ref, folder)
    cut = len(where) + 1 if where else 0
    contents = read_blobs([blob for _, blob in blobs])
    for path, _ in blobs:
        with _naming(path):
            yield path[cut:] or path.rsplit("/", 1)[-1], next(contents)


def tree_at(ref: str, where: str) -> GitTree:
    """The tree of a commit in the repository of the working directory, as far as a folder of it needs."""
    commit = _commit_of(ref)
    return GitTree(lambda folder: _entries_at(commit, folder, f"{ref} has no {folder}"), read_blobs, where)


def no_folder(ref: str, folder: str) -> NoFolderError:
    return NoFolderError(f"{ref} has no folder {folder}", "check the folder's name")


def _commit_of(ref: str) -> str:
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    return run_git(*asked, failing=f"there is no git revision {ref}").decode().strip()


def commit_and_author(ref: str) -> tuple[str, str]:
    """The commit that a revision is now, and the address of its author."""
    asked = ("log", "-1", "--no-show-signature", "--format=%H %aE", "--end-of-options", f"{ref}^{{commit}}")
    found = run_git(*asked, failing=f"there is no git revision {ref}").decode("utf-8", "replace")
    commit, _, author = found.strip().partition(" ")
    return commit, author


def _entries_at(commit: str, where: str, failing: str) -> list[TreeEntry]:
    # Folders are names, not patterns.
    asked = ("--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", commit, *(["--", where] if where else []))
    return entries_of(run_git(*asked, failing=failing))


def entries_of(listed: bytes) -> list[TreeEntry]:
    """What `git ls-tree -z` lists."""
    lines = [each.split("\t", 1) for each in listed.decode("utf-8", "surrogateescape").split("\0") if each]
    return [TreeEntry(path, meta.split()[0], meta.split()[2]) for meta, path in lines]


class GitTree:
    """The files of a commit, by paths from the root of its repository; the root is "".

    Only the folder that is asked for is listed, unless links in it may lead to the rest of the commit.
    """

    def __init__(
        self, listed: Callable[[str], list[TreeEntry]], read: Callable[[list[str]], Iterator[bytes]], folder: str
    ) -> None:
        entries = listed(folder)
        if folder and (any(each.is_link for each in entries) or not any(each.path != folder for each in entries)):
            entries = listed("")
        self._read = read
        self._entries = {each.path: each for each in entries}
        links = [each for each in entries if each.is_link]
        texts = read([each.object for each in links])
        self._links = {each.path: os.fsdecode(text) for each, text in zip(links, texts, strict=True)}
        self._names: dict[str, dict[str, None]] = {"": {}}
        for path in self._entries:
            # Up to the first folder that is known: all above it are, too.
            while path:
                folder, _, name = path.rpartition("/")
                known = folder in self._names
                self._names.setdefault(folder, {})[name] = None
                path = "" if known else folder

    def real(self, place: str) -> str | None:
        """The path with all links followed; None if it does not exist, or is not in this repository."""
        todo, found, followed = place.split("/")[::-1], "", 0
        while todo:
            step = todo.pop()
            if step == ".." and not found:
                return None
            above = found
            if step == "..":
                found = found.rpartition("/")[0]
            elif step not in ("", "."):
                found = f"{found}/{step}" if found else step
            target = self.link(found)
            if target is not None:
                followed += 1
                if target.startswith("/") or followed > _MOST_LINKS:
                    return None
                todo += target.split("/")[::-1]
                found = above
            elif self.is_submodule(found) and todo:
                raise SubmoduleError(found)
        return found if found in self._entries or found in self._names else None

    def link(self, place: str) -> str | None:
        """The target of a link as it is written; None if the path is not a link."""
        return self._links.get(place)

    def is_file(self, place: str) -> bool:
        return place in self._entries and self._entries[place].is_file

    def is_submodule(self, place: str) -> bool:
        return place in self._entries and self._entries[place].is_submodule

    def names(self, place: str) -> list[str]:
        """The names in a folder; none if it is not a folder."""
        return sorted(self._names.get(place, ()))

    def read(self, places: Sequence[str]) -> Iterator[bytes]:
        """The bytes of files; a file with many links to it is read once."""
        wanted = {self._entries[place].object: place for place in places}
        contents = self._read(list(wanted))
        found: dict[str, bytes] = {}
        for blob, place in wanted.items():
            with _naming(place):
                found[blob] = next(contents)
        yield from (found[self._entries[place].object] for place in places)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """People know a file by its path, not by the name of its object."""
    try:
        yield
    except LargeBlobError:
        raise LargeBlobError(path) from None


def ignored_below(folder: str) -> set[str]:
    """The files below a folder that git ignores; none if the folder is in no repository."""
    try:
        out = run_git("-C", folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", failing="")
    except GitError:
        return set()
    return {name for name in out.decode("utf-8", "surrogateescape").split("\0") if name}


def is_revision(ref: str) -> bool:
    """Whether the repository of the working directory has a revision."""
    try:
        run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", failing=ref)
    except GitError:
        return False
    return True


def is_in_revision(ref: str, path: str) -> bool:
    """Whether a revision has a file or a folder; its path is relative to the working directory, as for git itself."""
    try:
        run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}:./{path}", failing=ref)
    except GitError:
        return False
    return True


def folder_in_repository(folder: str) -> str:
    """The folder's path from the repository's root; it is relative to the working directory, as for git itself."""
    prefix = run_git("rev-parse", "--show-prefix", failing="this is not a git repository").decode().strip()
    steps = [step for step in f"{prefix}{folder}".split("/") if step not in ("", ".")]
    path: list[str] = []
    for step in steps:
        if step == ".." and path:
            path.pop()
        else:
            path.append(step)
    return "/".join(path)


def read_blobs(
    blobs: list[str], folder: str | None = None, environment: dict[str, str] | None = None
) -> Iterator[bytes]:
    """The bytes of blobs, in their order."""
    if not blobs:
        return
    where = [f"--git-dir={folder}"] if folder is not None else []
    with tempfile.TemporaryFile() as asked:
        asked.write("\n".join(blobs).encode())
        asked.seek(0)
        command = ["git", *where, "cat-file", "--batch"]
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=DEVNULL, env=environment) as git:
            assert git.stdout is not None
            try:
                for blob in blobs:
                    yield _read_blob(git.stdout, blob)
            finally:
                git.kill()


def _read_blob(stream: IO[bytes], blob: str) -> bytes:
    """The next answer of `git cat-file --batch`: its size stands before its bytes."""
    head = stream.readline().split()
    if len(head) < 3:
        raise GitError(f"git cannot read its objects: {blob} is missing", "remove the copy, and fetch again")
    size = int(head[2])
    if size > MAX_FILE:
        raise LargeBlobError(blob)
    content = stream.read(size)
    stream.read(1)
    return content


def run_git(
    *arguments: str,
    failing: str,
    stdin: bytes | None = None,
    folder: str | None = None,
    environment: dict[str, str] | None = None,
    timeout: float | None = None,
) -> bytes:
    """The output of git; GitError if it fails. folder is a bare repository, instead of the working directory's."""
    where = [f"--git-dir={folder}"] if folder is not None else []
    command = ["git", *where, *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, env=environment, timeout=timeout)
    except FileNotFoundError as error:
        raise GitError("git is not installed", "install git, or give a folder") from error
    except ValueError as error:
        # A name with a NUL in it cannot exist.
        raise GitError(failing, "check the name") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"{failing}: it took longer than {timeout:g} s", "try again later") from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise GitError(
            f"{failing}: {reason}" if reason else failing, "run it inside the repository, and check the name"
        )
    return done.stdout
