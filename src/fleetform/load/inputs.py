"""The files of an input: files and folders, `-` for stdin, `git:REF[:DIR]` for a commit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.outside.boundary import EVERYWHERE, HINT, Boundary
from fleetform.outside.files import MAX_FILE, OUTPUT_MARK, read_file, reason, too_large
from fleetform.outside.git import GitError, NoFolderError, files_at, is_in_revision, is_revision
from fleetform.syntax.ignore_rules import IgnoreRule, is_ignored, parse_ignore_rules

ENDINGS = (".yaml", ".yml", ".json")
# All files of an input together: many links can lead to one large file.
MAX_INPUT = 1024 * 1024 * 1024
# A chart's folders hold templates, which are no manifests. Definitions often stand beside it.
_CHART = "Chart.yaml"
_OF_CHART = (_CHART, "values")
# Files in a folder that say what below it is left out, as .gitignore does (S64).
IGNORE_FILE = ".fleetformignore"
_MARKS = (_CHART, OUTPUT_MARK)
IgnoreRules = dict[str, list[IgnoreRule]]


class InputFile(NamedTuple):
    """A file: its name in messages, and its bytes."""

    name: str
    content: bytes


def read_inputs(
    names: Iterable[str],
    boundary: Boundary = EVERYWHERE,
    report: Callable[[int, int], None] | None = None,
    read: Callable[[str], bytes] = read_file,
) -> Iterator[InputFile | Diagnostic]:
    """Every file of the inputs, once each, in a fixed order; what cannot be read comes as a diagnostic.

    report is told how many files of an input are read, and of how many. read gives the bytes of a file.
    """
    seen: set[str] = set()
    left = MAX_INPUT
    for name in names:
        for found in _read_input(name, boundary, report or _nobody, read):
            if isinstance(found, Diagnostic):
                yield found
            elif found.name not in seen:
                seen.add(found.name)
                left -= len(found.content)
                if left < 0:
                    yield _unreadable(found.name, f"with it the input is larger than {MAX_INPUT >> 30} GB", "give less")
                    return
                yield found


def _nobody(_: int, __: int) -> None:
    """Wants to know nothing."""


def _read_input(
    name: str, boundary: Boundary, report: Callable[[int, int], None], read: Callable[[str], bytes]
) -> Iterator[InputFile | Diagnostic]:
    if name == "-":
        yield _read_stdin()
    elif name.startswith("git:"):
        files = list(_read_git(name))
        for number, file in enumerate(files):
            report(number, len(files))
            yield file
    elif os.path.isdir(name):
        paths = list(_walk(os.path.normpath(name), "", frozenset(), {}, boundary))
        for number, found in enumerate(paths):
            report(number, len(paths))
            yield found if isinstance(found, Diagnostic) else _read_file(found, boundary, read)
    elif os.path.isfile(name):
        yield _read_file(name, boundary, read)
    elif os.path.exists(name):
        yield _unreadable(name, "it is neither a file nor a folder", "give a file or a folder, or - for stdin")
    else:
        yield _unreadable(name, "there is no such file or folder", "check the path; for a git revision write git:NAME")


def _read_stdin() -> InputFile | Diagnostic:
    content = sys.stdin.buffer.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        return _unreadable("stdin", too_large(MAX_FILE), "give files or a folder with -f")
    return InputFile("stdin", content)


def git_folder(path: str) -> tuple[str, str] | None:
    """The revision and the folder of a path below `git:REF/`; None for any other path."""
    if not path.startswith("git:"):
        return None
    steps = path.removeprefix("git:").split("/")
    # A branch's name may contain slashes, and begin with the name of a tag.
    ways = [("/".join(steps[:length]), "/".join(steps[length:])) for length in range(1, len(steps))]
    there = (way for way in ways if is_in_revision(*way))
    named = (way for way in ways if is_revision(way[0]))
    return next(there, None) or next(named, None) or (steps[0], "/".join(steps[1:]))


def git_name(ref: str, folder: str) -> str:
    """What a folder of a revision is called, also one outside the working directory: `git:REF/../DIR`."""
    inside = os.path.normpath(folder or ".")
    return f"git:{ref}" if inside == "." else f"git:{ref}/{inside}"


def _read_git(name: str) -> Iterator[InputFile | Diagnostic]:
    ref, _, folder = name.removeprefix("git:").partition(":")
    if not ref:
        yield _unreadable(name, "it names no revision", "write git:HEAD, or git:HEAD:DIR for a folder")
        return
    prefix = git_name(ref, folder)
    try:
        found = sorted(files_at(ref, folder, (*ENDINGS, OUTPUT_MARK, IGNORE_FILE)), key=lambda file: file[0].split("/"))
    except NoFolderError as error:
        yield Diagnostic("empty-input", f"cannot read {name}: {error.message}", error.hint, at=Place(name))
        return
    except GitError as error:
        yield _unreadable(name, error.message, error.hint)
        return
    marks = {name: {path.rpartition("/")[0] for path, _ in found if path.rpartition("/")[2] == name} for name in _MARKS}
    ignored = {
        path.rpartition("/")[0]: parse_ignore_rules(content.decode(errors="replace"))
        for path, content in found
        if path.rpartition("/")[2] == IGNORE_FILE
    }
    for path, content in found:
        steps = path.split("/")
        hidden = any(step.startswith(".") for step in steps)
        folders = ["/".join(steps[:depth]) for depth in range(len(steps))]
        in_chart = any(each in marks[_CHART] for each in folders[:-1])
        in_chart |= folders[-1] in marks[_CHART] and steps[-1].startswith(_OF_CHART)
        if hidden or in_chart or any(each in marks[OUTPUT_MARK] for each in folders):
            continue
        if not is_ignored(path, False, ignored):
            yield InputFile(f"{prefix}/{path}", content)


def _walk(
    folder: str, inside: str, above: frozenset[tuple[int, int]], ignored: IgnoreRules, boundary: Boundary
) -> Iterator[str | Diagnostic]:
    """The files below a folder, by name. A link back to a folder above is not followed.

    inside is the folder's own path below the input, and ignored the rules of folders above it by theirs.
    """
    if not boundary.holds(folder):
        yield _outside(folder)
        return
    try:
        status = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _unreadable(folder, reason(error), "check its permissions")
        return
    identity = (status.st_dev, status.st_ino)
    names = {entry.name for entry in entries}
    # What was rendered is output.
    if identity in above or OUTPUT_MARK in names:
        return
    if IGNORE_FILE in names:
        rules = _read_file(os.path.join(folder, IGNORE_FILE), boundary)
        if isinstance(rules, Diagnostic):
            yield rules
        else:
            ignored = {**ignored, inside: parse_ignore_rules(rules.content.decode(errors="replace"))}
    for entry in entries:
        path, below = os.path.normpath(entry.path), f"{inside}/{entry.name}".lstrip("/")
        is_folder = entry.is_dir()
        if entry.name.startswith(".") or (ignored and is_ignored(below, is_folder, ignored)):
            continue
        if _CHART in names and (is_folder or entry.name.startswith(_OF_CHART)):
            continue
        if is_folder:
            yield from _walk(path, below, above | {identity}, ignored, boundary)
        elif entry.name.endswith(ENDINGS) and (entry.is_file() or entry.is_symlink()):
            yield path


def _read_file(path: str, boundary: Boundary, read: Callable[[str], bytes] = read_file) -> InputFile | Diagnostic:
    if not boundary.holds(path):
        return _outside(path)
    try:
        return InputFile(os.path.normpath(path), read(path))
    except FileNotFoundError as error:
        if not os.path.islink(path):
            return _unreadable(path, reason(error), "check the file and its permissions")
        why = f"it is a symbolic link to {os.readlink(path)}, which does not exist"
        return _unreadable(path, why, f"fix the link, or leave it out by {IGNORE_FILE}")
    except OSError as error:
        return _unreadable(path, reason(error), "check the file and its permissions")


def _outside(path: str) -> Diagnostic:
    return _unreadable(path, "it is outside of the repository", HINT)


def _unreadable(name: str, why: str, hint: str) -> Diagnostic:
    return Diagnostic("cannot-read", f"cannot read {name}: {why}", hint, at=Place(name))
