"""Shared by all dialects: the envelope of an object, records out of trees, and misfits as diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from fleetform.model.kinds.base import Metadata, Record
from fleetform.model.objects import At, Object, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import Misfit, read_record
from fleetform.syntax.trees import YamlMap, YamlValue, as_map

R = TypeVar("R", bound=Record)


class Reading(NamedTuple):
    """The result of reading one document: an object, unless it is too broken, and findings.

    also has further objects that the same document makes. What spec an object has is known by its kind only.
    is_manifest is False for documents of other tools, which are skipped (S10).
    """

    object: Object[Any] | None
    diagnostics: tuple[Diagnostic, ...] = ()
    also: tuple[Object[Any], ...] = ()
    is_manifest: bool = True


class Envelope(NamedTuple):
    """A document's metadata, read; and what is wrong with it."""

    metadata: Metadata | None
    diagnostics: list[Diagnostic]


def read_metadata(tree: YamlMap, origin: Origin, ref: Ref) -> Envelope:
    written = tree.get("metadata")
    read = read_record(written if written is not None else {}, Metadata, "metadata")
    if isinstance(read, Metadata):
        return Envelope(read, [])
    return Envelope(None, list(misfit_diagnostics(read, origin, ref, ("metadata",))))


def lacks_name(tree: YamlMap) -> bool:
    """Whether no name is written; one that is no text, such as an unquoted y, is a finding of its own."""
    return as_map(tree.get("metadata")).get("name") in (None, "")


def misfit_diagnostics(
    misfits: Iterable[Misfit], origin: Origin, ref: Ref, below: Path, severity: Severity = "error"
) -> Iterable[Diagnostic]:
    for misfit in misfits:
        path = origin.base + below + misfit.path
        yield Diagnostic(misfit.code, misfit.message, misfit.hint, severity, ref, At(origin, path))


def read_tolerantly(
    tree: YamlValue, record: type[R], name: str = "spec"
) -> tuple[R | None, list[Misfit], list[Misfit]]:
    """The record, what makes it impossible, and the unknown fields, which are left out.

    Inside a selector an unknown field makes the record impossible: the rest of it might select every cluster.
    """
    read = read_record(tree, record, name)
    if isinstance(read, record):
        return read, [], []
    assert isinstance(read, list)
    unknown = [misfit for misfit in read if misfit.code == "unknown-field" and not _is_in_selector(misfit)]
    others = [misfit for misfit in read if misfit.code != "unknown-field" or _is_in_selector(misfit)]
    if others:
        return None, others, unknown
    again = read_record(_without(tree, [misfit.path for misfit in unknown]), record, name)
    return (again, [], unknown) if isinstance(again, record) else (None, again, unknown)  # type: ignore[return-value]


def _is_in_selector(misfit: Misfit) -> bool:
    return any(str(step).lower().endswith("selector") for step in misfit.path[:-1])


def _without(tree: YamlValue, paths: list[Path]) -> YamlValue:
    """A tree without what stands at some paths."""
    below: dict[str | int, list[Path]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    if isinstance(tree, dict):
        left = {key: value for key, value in tree.items() if () not in below.get(key, ())}
        return {key: _without(value, below.get(key, [])) for key, value in left.items()}
    if isinstance(tree, list):
        return [_without(value, below.get(index, [])) for index, value in enumerate(tree)]
    return tree
