"""Templates of other tools in a folder: told once for each part of it, and not file by file.

A repository of charts has hundreds of them, and none can be an object of the fleet as it stands.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from fleetform.model.results.diagnostics import Diagnostic, Place


@dataclass(frozen=True, slots=True)
class PassedOverTemplate(Diagnostic):
    """A document that can only be read once it is rendered, and that stops nothing."""

    @property
    def place(self) -> Place:
        assert isinstance(self.at, Place)
        return self.at


def told_by_folder(found: Sequence[Diagnostic], files: Sequence[str], ignore_file: str) -> list[Diagnostic]:
    """Findings in which templates below one folder of the input's top are told as one; files are all that were read."""
    if not any(isinstance(each, PassedOverTemplate) for each in found):
        return list(found)
    parts: dict[str, list[PassedOverTemplate]] = {}
    root = _common_folder(files)
    for each in found:
        if isinstance(each, PassedOverTemplate):
            top, _, below = each.place.file[len(root) :].lstrip("/").partition("/")
            parts.setdefault(top if below else "", []).append(each)
    first = {members[0]: members for members in parts.values()}
    told: list[Diagnostic] = []
    for one in found:
        if not isinstance(one, PassedOverTemplate):
            told.append(one)
        elif one in first:
            members = first[one]
            told.append(one if len(members) == 1 else _as_one(members, root, files, ignore_file))
    return told


def _as_one(members: Sequence[PassedOverTemplate], root: str, files: Iterable[str], ignore_file: str) -> Diagnostic:
    places = [each.place for each in members]
    templates = {each.file for each in places}
    folder = _common_folder(templates)
    inside = folder[len(root) :].strip("/")
    only_templates = inside and all(each in templates for each in files if each.startswith(f"{folder}/"))
    leave_out = f"leave them out: write {inside}/ into" if only_templates else "leave them out by"
    if len(templates) > 1:
        message = f"{len(templates):,} files{f' below {folder}' if folder else ''} look like Helm templates"
    else:
        message = f"{len(members):,} documents look like Helm templates"
    return Diagnostic(
        members[0].code,
        f"{message}, and are skipped",
        f"render them first, or {leave_out} {ignore_file}",
        "warning",
        at=places[0],
        related=tuple(places[1:]),
    )


def _common_folder(files: Iterable[str]) -> str:
    """The deepest folder that all of some files lie in."""
    folders = [posixpath.dirname(each).split("/") for each in files]
    if not folders:
        return ""
    # What the first and the last have in common, all between them have.
    common = takewhile(lambda pair: pair[0] == pair[1], zip(min(folders), max(folders), strict=False))
    return "/".join(step for step, _ in common)
