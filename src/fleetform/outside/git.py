"""Git, through its own command: files of any commit, without a checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from fleetform.outside.errors import OutsideError


class GitError(OutsideError):
    """What git said, and what to do."""


class NoFolderError(GitError):
    """A revision has no such folder."""


def files_at(ref: str, folder: str, wanted: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Path (below the folder) and bytes of every regular file at a commit whose name ends as wanted, by path."""
    commit = run_git(
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{ref}^{{commit}}",
        failing=f"there is no git revision {ref}",
    )
    tree = commit.decode().strip()
    where = _folder_in_repository(folder)
    listed = run_git(
        "ls-tree", "-r", "-z", "--full-tree", tree, *(["--", where] if where else []), failing=f"{ref} has no {folder}"
    )
    entries = [entry.split("\t", 1) for entry in listed.decode("utf-8", "surrogateescape").split("\0") if entry]
    blobs = [(path, meta.split()[2]) for meta, path in entries if meta.startswith("100") and path.endswith(wanted)]
    if folder and not entries:
        raise NoFolderError(f"{ref} has no folder {folder}", "check the folder's name")
    cut = len(where) + 1 if where else 0
    contents = read_blobs([blob for _, blob in blobs])
    for (path, _), content in zip(blobs, contents, strict=True):
        yield path[cut:] or path.rsplit("/", 1)[-1], content


def ignored_below(folder: str) -> set[str]:
    """The files below a folder that git is told to ignore; none where it is in no repository."""
    try:
        out = run_git("-C", folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", failing="")
    except GitError:
        return set()
    return {name for name in out.decode("utf-8", "surrogateescape").split("\0") if name}


def is_revision(ref: str) -> bool:
    """Whether the repository that we stand in has a revision."""
    try:
        run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", failing=ref)
    except GitError:
        return False
    return True


def _folder_in_repository(folder: str) -> str:
    """The folder's path from the repository's root; the one we stand in counts, as it does for git itself."""
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
    stdin = "\n".join(blobs).encode()
    failing = "git cannot read its objects"
    output = run_git("cat-file", "--batch", failing=failing, stdin=stdin, folder=folder, environment=environment)
    position = 0
    for _ in blobs:
        end = output.index(b"\n", position)
        head = output[position:end].split()
        if len(head) < 3:
            raise GitError(f"{failing}: {head[0].decode()} is missing", "remove the copy, and fetch anew")
        size = int(head[2])
        yield output[end + 1 : end + 1 + size]
        position = end + 1 + size + 1


def run_git(
    *arguments: str,
    failing: str,
    stdin: bytes | None = None,
    folder: str | None = None,
    environment: dict[str, str] | None = None,
    timeout: float | None = None,
) -> bytes:
    """What git prints; where it fails, what it says. folder is a bare repository; else it is the one we stand in."""
    where = [f"--git-dir={folder}"] if folder is not None else []
    command = ["git", *where, *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, env=environment, timeout=timeout)
    except FileNotFoundError as error:
        raise GitError("git is not installed", "install git, or give a folder") from error
    except ValueError as error:
        # A name with a NUL in it is none that git could know.
        raise GitError(failing, "check the name") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"{failing}: it took longer than {timeout:g} s", "try again later") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise GitError(f"{failing}: {said}" if said else failing, "run it inside the repository, and check the name")
    return done.stdout
