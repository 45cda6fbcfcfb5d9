"""Who made files of a git repository what they are: the author of the last commit that touched each, or took something
out of it (S47)."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterator
from subprocess import DEVNULL
from typing import IO, NamedTuple

from fleetform.outside.git import GitError, run_git

# Whoever touched a file further back is not looked for: nobody waits for that.
_MOST_COMMITS = 100_000
_COMMIT = b"\x01"
_CHUNK = 1 << 16


def root_of(folder: str) -> str | None:
    """The root of the work tree that a folder is in; None if it is in none."""
    try:
        found = run_git("-C", folder, "rev-parse", "--show-toplevel", failing=folder)
    except GitError:
        return None
    return os.path.realpath(os.fsdecode(found.removesuffix(b"\n"))) if found.strip() else None


def committed_authors(root: str, revision: str, wanted: set[str], below: str = "") -> dict[str, str]:
    """The addresses of those who last touched files, up to a revision; a file that is not found is left out.

    Files are paths from the root of the repository, and below is a folder that all of them are in. History is read no
    further than it has to be. Where a shallow clone ends nobody knows who made what: such files are left out.
    """
    asked = ["log", f"--max-count={_MOST_COMMITS}", "--no-show-signature", "--no-renames", "-c", "-z", "--name-only"]
    where = ["--", below] if below else ["--"]
    command = ["git", "-C", root, "-c", "log.follow=false", "--literal-pathspecs", *asked]
    command += ["--format=%x01%H %aE", "--end-of-options", revision, *where]
    ends = _ends_of_history(root)
    found: dict[str, str] = {}
    left = {os.fsencode(each): each for each in wanted}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=DEVNULL, stdin=DEVNULL) as git:
        assert git.stdout is not None
        author = b""
        for field in _fields(git.stdout):
            if field.startswith(_COMMIT):
                commit, _, author = field[1:].partition(b" ")
                author = b"" if commit in ends else author
            elif field in left:
                name = left.pop(field)
                if author:
                    found[name] = author.decode("utf-8", "replace")
            if not left:
                break
        git.kill()
    return found


class AuthorMemory:
    """Authors of files, remembered from one revision to the next: only what was committed since is read."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}

    def authors(self, root: str, revision: str, wanted: set[str], below: str = "") -> dict[str, str]:
        """As committed_authors."""
        try:
            commit = run_git("-C", root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", failing=revision)
        except GitError:
            return {}
        now = commit.decode().strip()
        before, known = self._known.get((root, revision), (now, {}))
        if before != now:
            # After a rewrite of history nothing of what was known need be true.
            known = {**known, **self._since(root, before, now, wanted, below)} if _leads(root, before, now) else {}
        new = wanted - known.keys()
        if new:
            # An empty author: it was looked for, and nobody knows.
            known = {**known, **dict.fromkeys(new, ""), **committed_authors(root, now, new, below)}
        self._known[root, revision] = now, known
        return {each: known[each] for each in wanted if known[each]}

    @staticmethod
    def _since(root: str, before: str, now: str, wanted: set[str], below: str) -> dict[str, str]:
        return committed_authors(root, f"{before}..{now}", wanted, below)


def _leads(root: str, before: str, now: str) -> bool:
    try:
        run_git("-C", root, "merge-base", "--is-ancestor", before, now, failing=before)
    except GitError:
        return False
    return True


class Replaced(NamedTuple):
    """A file as it was before a commit and after it, by the names of blobs; no blob after it: the commit deleted it."""

    author: str
    path: str
    before: tuple[str, ...]
    after: str | None


def replaced_files(root: str, revision: str, texts: Collection[str], below: str = "") -> Iterator[Replaced]:
    """The files in which commits up to a revision changed how often some texts stand there, the newest first.

    A merge counts where it differs from all that it merges. author is empty where a shallow clone ends.
    """
    pattern = "|".join(re.sub(r"[^A-Za-z0-9_-]", r"\\\g<0>", each) for each in sorted(texts))
    asked = ["log", f"--max-count={_MOST_COMMITS}", "--no-show-signature", "--no-renames", "-c", "-z", "--raw"]
    asked += ["--no-abbrev", "--diff-filter=MDT", "--pickaxe-regex", f"-S{pattern}", "--format=%x01%H %aE"]
    command = ["git", "-C", root, "-c", "log.follow=false", "--literal-pathspecs", *asked]
    command += ["--end-of-options", revision, "--", *([below] if below else [])]
    ends = _ends_of_history(root)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=DEVNULL, stdin=DEVNULL) as git:
        assert git.stdout is not None
        author = ""
        blobs: list[str] = []
        try:
            for field in _fields(git.stdout):
                if field.startswith(_COMMIT):
                    commit, _, address = field[1:].partition(b" ")
                    author = "" if commit in ends else address.decode("utf-8", "replace")
                elif field.startswith(b":") and not blobs:
                    # A colon for each parent, then as many modes and blobs and one more of each, then what was done.
                    parents = len(field) - len(field.lstrip(b":"))
                    blobs = field.decode("ascii").split()[parents + 1 : 2 * parents + 2]
                else:
                    *before, after = blobs
                    blobs = []
                    yield Replaced(author, os.fsdecode(field), tuple(before), after if after.strip("0") else None)
        finally:
            git.kill()


def blob(root: str, name: str) -> bytes | None:
    """The bytes of a blob, by its name or as `REVISION:PATH`; None if there is none."""
    try:
        return run_git("-C", root, "cat-file", "blob", name, failing=name)
    except GitError:
        return None


def uncommitted(root: str, below: str = "") -> set[str]:
    """The files of a work tree that differ from its last commit, new ones included and ignored ones not."""
    asked = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    command = ("-C", root, "--no-optional-locks", "--literal-pathspecs", *asked, "--", *([below] if below else []))
    try:
        listed = run_git(*command, failing=root)
    except GitError:
        return set()
    return {os.fsdecode(each[3:]) for each in listed.split(b"\0") if each}


def tracked(root: str, below: str = "") -> set[str]:
    """The files that git keeps track of."""
    asked = ("-C", root, "--literal-pathspecs", "ls-files", "-z", "--full-name", "--", *([below] if below else []))
    try:
        return {os.fsdecode(each) for each in run_git(*asked, failing=root).split(b"\0") if each}
    except GitError:
        return set()


def editor_of(root: str) -> str:
    """The address that a commit would bear if it were made now; empty if nobody has told git."""
    # Else git makes up an address of the names of user and machine; and what a person is called does not matter.
    settings = ("-c", "user.useConfigOnly=true", "-c", "user.name=editor")
    try:
        found = run_git("-C", root, *settings, "var", "GIT_AUTHOR_IDENT", failing=root)
    except GitError:
        return ""
    return found.decode("utf-8", "replace").rpartition(">")[0].rpartition("<")[2]


def _ends_of_history(root: str) -> set[bytes]:
    """The commits at which a shallow clone ends: they seem to have made all that there is."""
    try:
        path = os.fsdecode(run_git("-C", root, "rev-parse", "--git-path", "shallow", failing=root).rstrip(b"\n"))
        with open(os.path.join(root, path), "rb") as file:
            return set(file.read().split())
    except (GitError, OSError):
        return set()


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """What stands between NULs; git sets names apart from a commit by a line's end."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\0")
        for each in whole:
            field = each.removeprefix(b"\n")
            if field:
                yield field
    if rest.strip():
        yield rest.removeprefix(b"\n")
