"""Git, through its own command: files of any commit, without a checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator


class GitError(Exception):
    """What git said, and what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def files_at(ref: str, folder: str, wanted: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Path (below the folder) and bytes of every regular file at a commit whose name ends as wanted, by path."""
    commit = _run(
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{ref}^{{commit}}",
        failing=f"there is no git revision {ref}",
    )
    tree = commit.decode().strip()
    where = _folder_in_repository(folder)
    listed = _run(
        "ls-tree", "-r", "-z", "--full-tree", tree, *(["--", where] if where else []), failing=f"{ref} has no {folder}"
    )
    entries = [entry.split("\t", 1) for entry in listed.decode("utf-8", "surrogateescape").split("\0") if entry]
    blobs = [(path, meta.split()[2]) for meta, path in entries if meta.startswith("100") and path.endswith(wanted)]
    if folder and not entries:
        raise GitError(f"{ref} has no folder {folder}", "check the folder's name")
    cut = len(where) + 1 if where else 0
    contents = _contents([blob for _, blob in blobs])
    for (path, _), content in zip(blobs, contents, strict=True):
        yield path[cut:] or path.rsplit("/", 1)[-1], content


def _folder_in_repository(folder: str) -> str:
    """The folder's path from the repository's root; the one we stand in counts, as it does for git itself."""
    prefix = _run("rev-parse", "--show-prefix", failing="this is not a git repository").decode().strip()
    steps = [step for step in f"{prefix}{folder}".split("/") if step not in ("", ".")]
    path: list[str] = []
    for step in steps:
        if step == ".." and path:
            path.pop()
        else:
            path.append(step)
    return "/".join(path)


def _contents(blobs: list[str]) -> Iterator[bytes]:
    if not blobs:
        return
    output = _run("cat-file", "--batch", failing="git cannot read its objects", stdin="\n".join(blobs).encode())
    position = 0
    for _ in blobs:
        end = output.index(b"\n", position)
        size = int(output[position:end].split()[2])
        yield output[end + 1 : end + 1 + size]
        position = end + 1 + size + 1


def _run(*arguments: str, failing: str, stdin: bytes | None = None) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], input=stdin, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise GitError("git is not installed", "install git, or give a folder") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise GitError(f"{failing}: {said}" if said else failing, "run it inside the repository, and check the name")
    return done.stdout
