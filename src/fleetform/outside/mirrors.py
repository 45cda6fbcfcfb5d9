"""A repository's bare copy on this machine: made once, fetched incrementally, read without a checkout."""

from __future__ import annotations

import base64
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from fleetform.model.kinds.definition import GitRevision
from fleetform.outside.credentials import Credentials
from fleetform.outside.git import GitError, GitTree, TreeEntry, entries_of, read_blobs, run_git
from fleetform.outside.silence import SilentError, SilentServers, check_answers, is_too_slow, ssh_command, with_limits
from fleetform.syntax.addresses import shown, without_logins

# How long a fetch or a push may take in all, and how long nothing may come from the other side meanwhile.
_PATIENCE, _SILENCE = 600.0, 60.0
_SCHEMES = ("https", "http", "ssh", "git", "file")
_LIKE_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!//)")
_OTHER_REPOSITORY = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR"),
)
# What git says when somebody else was first: another tip, or another push at this moment.
_MOVED = re.compile(r"non-fast-forward|fetch first|cannot lock ref|incorrect old value|reference already exists")
# Where trees are built; fetches and pushes leave it alone.
_BUILD = "refs/fleetform/build"
_EVERYTHING = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
# Branches as they were fetched, where those that are read move only when somebody takes them.
_FETCHED = "refs/remotes/origin/"
ASIDE = (f"+refs/heads/*:{_FETCHED}*", "+refs/tags/*:refs/tags/*")


class Commit(NamedTuple):
    """A commit, and when it was made."""

    name: str
    time: str


class Change(NamedTuple):
    """A file as a commit left it."""

    commit: Commit
    path: str
    blob: str


class Mirror:
    """The bare copy of a repository below a folder.

    silence: after so many seconds in which nothing comes from the repository it is given up; what comes slowly is not.
    silent are servers that were given up a moment ago.
    """

    def __init__(self, folder: str, url: str, silence: float = _SILENCE, silent: SilentServers | None = None) -> None:
        self._folder, self._url, self._silence = folder, url, silence
        self._silent = silent or SilentServers()
        self._shown = shown(url)

    def update(self, credentials: Credentials | None, refs: tuple[str, ...] = _EVERYTHING) -> None:
        """Bring the copy up to date: branches and tags as they are now, also moved ones. refs: what goes where."""
        check_address(self._url)
        failing = f"git cannot fetch {self._shown}"
        parts = [os.path.join(self._folder, name) for name in ("HEAD", "objects", "refs")]
        if not all(os.path.exists(each) for each in parts):
            # Never made, or damaged: all of it can be fetched again.
            shutil.rmtree(self._folder, ignore_errors=True)
            os.makedirs(self._folder)
            run_git("init", "--quiet", "--bare", failing=failing, folder=self._folder, environment=_plain())
        # A git that was killed leaves locks behind. Nobody else is at work: whoever updates a copy holds our lock.
        for folder in (self._folder, *(path for path, _, _ in os.walk(os.path.join(self._folder, "refs")))):
            for name in os.listdir(folder):
                if name.endswith(".lock"):
                    os.unlink(os.path.join(folder, name))
        try:
            self._reach(
                *("fetch", "--quiet", "--prune", "--force", "--no-tags", "--update-shallow"),
                *("--no-write-fetch-head", "--end-of-options", self._url, *refs),
                failing=failing,
                credentials=credentials,
            )
        except SilentError:
            raise
        except GitError as error:
            # The first line is the reason; the others are guesses.
            message = without_logins(error.message.replace(self._url, self._shown)).partition("\n")[0]
            raise GitError(message, "check the address, the network and secretRef") from None

    def take_fetched(self) -> None:
        """Branches become what was fetched ASIDE; all of them at once, or none."""
        fetched = self._lines("for-each-ref", "--format=%(objectname) %(refname)", _FETCHED)
        wanted = {name.replace(_FETCHED, "refs/heads/", 1): commit for commit, name in map(str.split, fetched)}
        there = dict(map(str.split, self._lines("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")))
        edits = [f"update {name} {commit}" for name, commit in wanted.items() if there.get(name) != commit]
        edits += [f"delete {name}" for name in there if name not in wanted]
        if edits:
            stdin = "\n".join([*edits, ""]).encode()
            failing = f"the copy of {self._shown} cannot be changed"
            run_git("update-ref", "--stdin", failing=failing, stdin=stdin, folder=self._folder, environment=_plain())

    def default_branch(self) -> str:
        """The branch that a clone would check out, as far as names tell."""
        names = self._lines("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
        for name in ("main", "master"):
            if name in names:
                return name
        if len(names) == 1:
            return names[0]
        raise GitError(f"{self._shown} has no branch main or master", "name one with ref: {branch: …}")

    def commit(self, name: str) -> Commit:
        """The commit that a full name (refs/heads/…, refs/tags/…, a hash) refers to."""
        failing = f"{self._shown} has no {name.removeprefix('refs/heads/').removeprefix('refs/tags/')}"
        try:
            out = self._git("log", "-1", "--format=%H %ct", "--end-of-options", f"{name}^{{commit}}", failing=failing)
        except GitError:
            raise GitError(failing, "check ref") from None
        return _commit(*out.decode().split())

    def tip(self, branch: str) -> str | None:
        """The commit at the end of a branch; None if there is no such branch."""
        found = self._lines("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return found[0] if found else None

    def commit_files(
        self,
        parent: str | None,
        files: Mapping[str, bytes | None],
        message: str,
        identity: Mapping[str, str],
        sign: bool = False,
    ) -> str:
        """A new commit on a parent, in which files have these contents or are gone (None).

        Nobody sees it until it is pushed.
        """
        environment = {**_plain(), **identity}

        def git(*arguments: str, stdin: bytes = b"") -> str:
            failing = f"a commit for {self._shown} cannot be made"
            out = run_git(
                "-c",
                "gc.auto=0",
                *arguments,
                failing=failing,
                stdin=stdin,
                folder=self._folder,
                environment=environment,
            )
            return out.decode().strip()

        # One process writes all files, however many there are; it cannot sign, so the commit itself is made apart.
        git("fast-import", "--quiet", "--force", "--date-format=now", stdin=_import_stream(parent, files))
        tree = git("rev-parse", f"{_BUILD}^{{tree}}")
        above = ["-p", parent] if parent is not None else []
        signed = ["-S"] if sign else []
        return git("commit-tree", tree, *above, *signed, "-F", "-", stdin=message.encode())

    def push(self, commit: str, branch: str, credentials: Credentials | None) -> bool:
        """Puts a commit at the end of a branch, never by force; False if the branch has moved meanwhile."""
        check_address(self._url)
        failing = f"git cannot push to {self._shown}"
        try:
            self._reach(
                *("push", "--end-of-options", self._url, f"{commit}:refs/heads/{branch}"),
                failing=failing,
                credentials=credentials,
            )
        except SilentError:
            raise
        except GitError as error:
            if _MOVED.search(error.message):
                return False
            # The line about the branch says why; those around it only that.
            lines = without_logins(error.message.replace(self._url, self._shown)).split("\n")
            reason = next((line.strip(" !") for line in lines if line.startswith(" ! ")), lines[0])
            message = reason if reason.startswith(failing) else f"{failing}: {reason}"
            raise GitError(message, "check the address, the network, secretRef and the branch's rules") from None
        return True

    def _reach(self, *arguments: str, failing: str, credentials: Credentials | None) -> None:
        """Runs git where it goes to the repository itself."""
        if self._silent.holds(self._url):
            raise SilentError(failing, self._silence)
        with _with_credentials(self._url, credentials, self._silence) as environment:
            bounded = with_limits(self._url, self._folder, environment, self._silence)
            try:
                check_answers(self._url, self._folder, bounded, failing, self._silence)
                run_git(*arguments, failing=failing, folder=self._folder, environment=bounded, timeout=_PATIENCE)
            except GitError as error:
                if not isinstance(error, SilentError) and not is_too_slow(error):
                    raise
                self._silent.note(self._url)
                raise SilentError(failing, self._silence) from None

    def tags(self) -> list[tuple[str, Commit]]:
        """Every tag that leads to a commit, oldest first."""
        fields = ("refname:lstrip=2", "objecttype", "objectname", "committerdate:unix")
        peeled = ("*objecttype", "*objectname", "*committerdate:unix")
        form = "%00".join(f"%({each})" for each in (*fields, *peeled))
        tags = []
        for line in self._lines("for-each-ref", f"--format={form}", "refs/tags"):
            name, kind, own, time, inner_kind, inner, inner_time = line.split("\0")
            if kind == "commit":
                tags.append((name, _commit(own, time)))
            elif inner_kind == "commit":
                tags.append((name, _commit(inner, inner_time)))
        return sorted(tags, key=lambda tag: (tag[1].time, tag[0]))

    def holds(self, commit: str, among: str) -> bool:
        """Whether one commit is another or comes before it."""
        try:
            self._git("merge-base", "--is-ancestor", commit, among, failing="")
        except GitError:
            return False
        return True

    def changes(self, tip: str, since: str | None, folder: str) -> Iterator[Change]:
        """Every file of a folder as each commit of the main line left it, oldest first; deletions do not count."""
        span = f"{since}..{tip}" if since is not None else tip
        out = self._git(
            *("-c", "log.showRoot=true"),
            *("log", "--first-parent", "--diff-merges=first-parent", "--reverse", "--raw", "--no-abbrev", "-z"),
            *("--no-renames", "--diff-filter=AMT", "--format=%H %ct", "--end-of-options", span),
            *(["--", folder] if folder else []),
            failing=f"the history of {self._shown} cannot be read",
        )
        commit, meta = None, ""
        for field in _decoded(out).split("\0"):
            if meta:
                if commit is not None and meta.split()[1].startswith("100"):
                    yield Change(commit, field, meta.split()[3])
                meta = ""
            elif field.lstrip("\n").startswith(":"):
                meta = field
            elif field.strip():
                commit = _commit(*field.split())

    def files(self, commit: Commit, folder: str) -> list[Change]:
        """Every file of a folder at a commit, by path."""
        entries = [each.split("\t", 1) for each in _decoded(self._listed(commit, folder)).split("\0") if each]
        return [Change(commit, path, meta.split()[2]) for meta, path in entries if meta.startswith("100")]

    def tree(self, commit: Commit, folder: str) -> GitTree:
        """The tree of a commit, as far as a folder of it needs."""

        return GitTree(lambda folder: self.entries(commit, folder), self.contents, folder)

    def entries(self, commit: Commit, folder: str) -> list[TreeEntry]:
        """Everything in a folder of a commit, by path."""
        return entries_of(self._listed(commit, folder))

    def _listed(self, commit: Commit, folder: str) -> bytes:
        return self._git(
            *("ls-tree", "-r", "-z", "--full-tree", commit.name, *(["--", folder] if folder else [])),
            failing=f"{self._shown} cannot be read at {commit.name}",
        )

    def contents(self, blobs: list[str]) -> Iterator[bytes]:
        return read_blobs(blobs, self._folder, _plain())

    def _lines(self, *arguments: str) -> list[str]:
        listed = _decoded(self._git(*arguments, failing=f"the copy of {self._shown} cannot be read"))
        return [line for line in listed.split("\n") if line]

    def _git(self, *arguments: str, failing: str) -> bytes:
        # Folders are names, not patterns.
        return run_git(
            "--literal-pathspecs",
            *arguments,
            failing=failing,
            folder=self._folder,
            environment=_plain(),
            timeout=_PATIENCE,
        )


def _import_stream(parent: str | None, files: Mapping[str, bytes | None]) -> bytes:
    """What `git fast-import` reads: a commit whose tree is that of the parent with these files changed."""
    parts = [f"reset {_BUILD}\n".encode()]
    parts += [f"from {parent}\n\n".encode()] if parent is not None else []
    parts += [f"commit {_BUILD}\ncommitter Fleetform <> now\ndata 0\n".encode()]
    for path, content in sorted(files.items()):
        quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        if content is None:
            parts.append(f"D {quoted}\n".encode())
        else:
            parts += [f"M 100644 inline {quoted}\ndata {len(content)}\n".encode(), content, b"\n"]
    return b"".join(parts)


def ref_name(mirror: Mirror, ref: GitRevision | None) -> str:
    """The full name of a revision in a repository; without one it is the default branch."""
    if ref is not None and ref.commit is not None:
        return ref.commit
    if ref is not None and ref.tag is not None:
        return f"refs/tags/{ref.tag}"
    return f"refs/heads/{ref.branch if ref is not None and ref.branch is not None else mirror.default_branch()}"


def _decoded(out: bytes) -> str:
    """What git lists; a name that is no UTF-8 is written out."""
    return out.decode("utf-8", "backslashreplace")


def _commit(name: str, seconds: str) -> Commit:
    try:
        moment = datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        # Anybody can write any time into a commit.
        moment = datetime.max
    return Commit(name, moment.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _plain() -> dict[str, str]:
    """The environment without variables that make git use another repository, as hooks set them."""
    return {name: value for name, value in os.environ.items() if name not in _OTHER_REPOSITORY}


def check_address(url: str) -> None:
    """Refuse what git would take for an option or a program to run."""
    scheme, colons, _ = url.partition("://")
    helper = "::" in url.split("/", 1)[0]
    if url.startswith("-") or helper or (colons and scheme.lower() not in _SCHEMES):
        raise GitError(f"{shown(url)} is not a git address", f"write one of {', '.join(_SCHEMES)}, or a path")


def is_path(url: str) -> bool:
    """Whether an address is a path on this machine."""
    return "://" not in url and not _LIKE_SCP.match(url)


def git_address(url: str, folder: str) -> str:
    """A repository's address; a path is relative to the file that names it."""
    return os.path.abspath(os.path.join(folder, url)) if is_path(url) else url


@contextmanager
def _with_credentials(url: str, credentials: Credentials | None, silence: float) -> Iterator[dict[str, str]]:
    """An environment in which git never prompts, and has the credentials for this one host."""
    environment = {
        **_plain(),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_ALLOW_PROTOCOL": ":".join(_SCHEMES),
        "LC_ALL": "C",
    }
    if credentials is None:
        yield environment
        return
    # In the environment, not in arguments: those can be read by every user of the machine.
    environment.update(_http_header(url, credentials))
    if credentials.private_key is None:
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="fleetform-") as folder:
        command = f"{ssh_command(silence)} -oIdentitiesOnly=yes -i {_private(folder, 'key', credentials.private_key)}"
        if credentials.known_hosts is not None:
            command += f" -oUserKnownHostsFile={_private(folder, 'known_hosts', credentials.known_hosts)}"
        yield {**environment, "GIT_SSH_COMMAND": command}


def _http_header(url: str, credentials: Credentials) -> dict[str, str]:
    parts = urlsplit(url)
    secret = credentials.password or credentials.token
    if parts.scheme not in ("http", "https") or secret is None:
        return {}
    pair = base64.b64encode(f"{credentials.username or 'git'}:{secret}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
    }


def _private(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text if text.endswith("\n") else f"{text}\n")
    return path
