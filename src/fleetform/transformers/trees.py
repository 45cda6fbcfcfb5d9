"""Crane's folders: an export becomes a folder of transform files, and both become a folder to apply.

`transform_tree` writes, beside each other and in the export's layout, `transform-…` (a JSON patch), `.wh.…` (left out),
`new-…` (resources of plugins' own), and where asked for `ignored-…`. `apply_tree` writes what comes of them. The same
input gives the same bytes; a run that is killed leaves no file half written, and the next one completes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from fleetform.engine.transform.apply import as_object
from fleetform.engine.transform.records import Settled, TransformError
from fleetform.outside.files import read_file, reason
from fleetform.syntax.json_patch import CRANE, PatchError, apply_patch, read_patch, write_patch
from fleetform.syntax.names import object_label
from fleetform.syntax.yaml_in import YamlError, read_one
from fleetform.syntax.yaml_out import write_unfolded
from fleetform.transform.runner import Failure, Outcome, Runner
from fleetform.transformers.parallel import run_all
from fleetform.transformers.tree_files import (
    ENDINGS,
    IGNORED,
    NEW,
    TRANSFORM,
    WHITEOUT,
    OutputTree,
    beside,
    files_below,
    resource_file,
    safe,
)

# Crane keeps there what it could not export.
_FAILURES = "failures"


class Exported(NamedTuple):
    """A resource of an export, at its place below the folder, as text and as a tree."""

    place: str
    text: str
    tree: dict[str, Any]


class BrokenFile(NamedTuple):
    """A file of a folder that cannot be used, why, and what to do."""

    place: str
    message: str
    hint: str


class TreeError(Exception):
    """Why nothing was done, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class TransformedResource(NamedTuple):
    """What was settled for a resource; with failures nothing is written for it."""

    place: str
    settled: Settled
    failures: tuple[Failure, ...] = ()


class TransformedTree(NamedTuple):
    """What a run wrote: resources in order, files that cannot be used, and stale ones that were removed."""

    resources: tuple[TransformedResource, ...]
    broken: tuple[BrokenFile, ...] = ()
    removed: tuple[str, ...] = ()


class AppliedTree(NamedTuple):
    """What was written; untransformed are resources without a transform file, which are as they were exported."""

    written: tuple[str, ...]
    whiteouts: tuple[str, ...] = ()
    untransformed: tuple[str, ...] = ()
    broken: tuple[BrokenFile, ...] = ()
    removed: tuple[str, ...] = ()


Progress = Callable[[str], None]


def read_export(folder: str) -> Iterator[Exported | BrokenFile]:
    """The resources of an export, in the order of their paths; one file that is broken does not hide the rest."""
    if not os.path.isdir(folder):
        raise TreeError(f"{folder} is not a folder", "name the folder that the export is in")
    for place in files_below(folder):
        parts = place.split("/")
        if _FAILURES in parts[:-1] or not place.endswith(ENDINGS) or any(part.startswith(".") for part in parts):
            continue
        yield _read(folder, place)


def _read(folder: str, place: str) -> Exported | BrokenFile:
    try:
        text = read_file(os.path.join(folder, place)).decode()
        tree = read_one(text)
    except YamlError as error:
        return BrokenFile(place, f"line {error.line}: {error.message}", error.hint or "correct the file")
    except UnicodeDecodeError:
        return BrokenFile(place, "it is not UTF-8", "write it as UTF-8")
    except OSError as error:
        hint = "check the file, where it links to, and its permissions"
        return BrokenFile(place, f"it cannot be read: {reason(error)}", hint)
    try:
        return Exported(place, text, as_object(tree, "it"))
    except TransformError:
        return BrokenFile(place, "it is no Kubernetes object", "an object has apiVersion, kind and metadata.name")


def transform_tree(
    export: str,
    transform: str,
    runner: Runner,
    ignored: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> TransformedTree:
    """Run plugins over an export, and write what is settled into a folder; ignored is the folder for what is not."""
    _check_apart(export, transform, *([ignored] if ignored else []))
    exported, broken = _sorted_out(export)
    tree = OutputTree(transform, (TRANSFORM, WHITEOUT, NEW))
    lost = OutputTree(ignored, (IGNORED,)) if ignored else None
    new: dict[str, tuple[str, str]] = {}
    found = []
    outcomes = run_all(runner, (each.tree for each in exported), workers)
    for each, outcome in zip(exported, outcomes, strict=True):
        done = _settled_or_failed(each.place, outcome, new)
        found.append(done)
        if not done.failures:
            _write_transform(done, tree, lost, new)
        if progress is not None:
            progress(each.place)
    removed = tree.finish() + (lost.finish() if lost is not None else [])
    return TransformedTree(tuple(found), tuple(broken), tuple(removed))


def _check_apart(export: str, *folders: str) -> None:
    """A folder that is read must hold nothing that is written, nor be held by it: stale files are removed there."""
    source = os.path.realpath(export)
    for folder in folders:
        target = os.path.realpath(folder)
        if os.path.commonpath([source, target]) in (source, target):
            raise TreeError(f"{folder} and {export} are one inside of the other", "name folders beside each other")


def _sorted_out(export: str) -> tuple[list[Exported], list[BrokenFile]]:
    found = list(read_export(export))
    exported = [each for each in found if isinstance(each, Exported)]
    broken = [each for each in found if isinstance(each, BrokenFile)]
    if not exported:
        # Nothing to go by is no reason to remove what an earlier run wrote.
        raise TreeError(f"{export} holds no resource", "name the folder that the export is in")
    return exported, broken


def _settled_or_failed(place: str, outcome: Outcome, new: dict[str, tuple[str, str]]) -> TransformedResource:
    """What was settled, unless a plugin fails or adds something that is no object, or that another resource has."""
    failures = list(outcome.failures)
    for each in outcome.new_resources if not failures else ():
        try:
            as_object(each.tree, "a new resource")
            where = _new_place(place, each.plugin, each.tree)
            known = new.setdefault(where, (place, write_unfolded(each.tree)))
            if known[1] != write_unfolded(each.tree):
                raise TransformError(f"it makes another {object_label(each.tree)} for {known[0]}")
        except TransformError as error:
            failures.append(Failure(each.plugin, error.message))
    return TransformedResource(place, outcome.settled, tuple(failures))


def _new_place(place: str, plugin: str, tree: dict[str, Any]) -> str:
    folder = place.rpartition("/")[0]
    name = f"{NEW}{safe(plugin)}-{resource_file(tree)}"
    return f"{folder}/{name}" if folder else name


def _write_transform(
    done: TransformedResource, tree: OutputTree, lost: OutputTree | None, new: dict[str, tuple[str, str]]
) -> None:
    settled = done.settled
    if settled.whiteouts:
        tree.write(beside(done.place, WHITEOUT), "")
    else:
        patch = write_patch(each.operation for each in settled.kept)
        tree.write(beside(done.place, TRANSFORM), patch.decode())
    for each in settled.new_resources:
        where = _new_place(done.place, each.plugin, each.tree)
        tree.write(where, new[where][1])
    if lost is not None and settled.ignored:
        entries = [{"PluginName": each.plugin, "Operation": each.operation} for each in settled.ignored]
        lost.write(beside(done.place, IGNORED), msgspec.json.encode(entries).decode())


def apply_tree(export: str, transform: str, output: str, progress: Progress | None = None) -> AppliedTree:
    """Write what comes of an export and its transform files; what cannot be applied is named, and the rest written."""
    if not os.path.isdir(transform):
        raise TreeError(f"{transform} is not a folder", "run transform first, and name the folder that it wrote")
    _check_apart(export, output)
    _check_apart(transform, output)
    exported, broken = _sorted_out(export)
    tree = OutputTree(output)
    added = [place for place in files_below(transform) if place.rpartition("/")[2].startswith(NEW)]
    tree.announce([each.place for each in exported] + [_without_prefix(place) for place in added])
    whiteouts, untransformed = [], []
    for each in exported:
        if os.path.exists(os.path.join(transform, beside(each.place, WHITEOUT))):
            whiteouts.append(each.place)
            continue
        text = _applied(each, transform)
        if isinstance(text, BrokenFile):
            broken.append(text)
            continue
        if text is None:
            untransformed.append(each.place)
        tree.write(each.place, each.text if text is None else text)
        if progress is not None:
            progress(each.place)
    for place in added:
        tree.write(_without_prefix(place), read_file(os.path.join(transform, place)).decode())
    removed = tree.finish()
    return AppliedTree(
        tuple(sorted(tree.written)), tuple(whiteouts), tuple(untransformed), tuple(broken), tuple(removed)
    )


def _without_prefix(place: str) -> str:
    folder, slash, name = place.rpartition("/")
    return f"{folder}{slash}{name.removeprefix(NEW)}"


def _applied(each: Exported, transform: str) -> str | BrokenFile | None:
    """A resource as text with its transform file applied; None where it has none."""
    place = beside(each.place, TRANSFORM)
    try:
        operations = read_patch(read_file(os.path.join(transform, place)))
        if not operations:
            return each.text
        return write_unfolded(as_object(apply_patch(each.tree, operations, CRANE), object_label(each.tree)))
    except FileNotFoundError:
        return None
    except PatchError as error:
        which = f"operation {error.number}: " if error.number is not None else ""
        return BrokenFile(place, f"{which}{error.message}", "run transform again, or correct the file")
    except TransformError as error:
        return BrokenFile(place, error.message, "run transform again, or correct the file")
