"""validate --against: the check that a definition repository runs on every change."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.app.fleet import Fleet
from fleetform.engine.versions.compatibility import compare_definitions
from fleetform.model.objects import At
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import VersionKey


def against(fleet: Fleet, base: Fleet) -> list[Diagnostic]:
    """What the definitions of a fleet owe those of the fleet before.

    What cannot be read on one side is compared with nothing: a repair passes, and hides nothing else.
    """
    found = compare_definitions(base.decisions.revisions, fleet.decisions.revisions, _rendering_anew(fleet, base))
    broken = {_tail(each) for each in _files_with_errors(fleet)}
    told = [each for each in found if each.code != "vanished-definition" or not broken & set(_homes(base, each))]
    return [*told, *_unread(base)]


def _rendering_anew(fleet: Fleet, base: Fleet) -> set[VersionKey]:
    """The versions that both have, and whose folders hold other files."""
    both = fleet.snapshot.definitions.keys() & base.snapshot.definitions.keys()
    found = {key: (base.digests(key).found, fleet.digests(key).found) for key in both}
    return {key for key, (then, now) in found.items() if then is not None and now is not None and then != now}


def _unread(base: Fleet) -> Iterator[Diagnostic]:
    errors = [each for each in base.reading if each.severity == "error"]
    if errors:
        message = f"{base.input.name} has {len(errors):,} error{'s' if len(errors) != 1 else ''}: {errors[0].message}"
        hint = "what cannot be read there is compared with nothing"
        yield Diagnostic("unread-base", message, hint, "info")


def _files_with_errors(fleet: Fleet) -> Iterator[str]:
    for each in fleet.reading:
        if each.severity == "error" and each.at is not None:
            yield each.at.origin.file if isinstance(each.at, At) else each.at.file


def _homes(base: Fleet, vanished: Diagnostic) -> Iterator[str]:
    """The files in which a definition stood."""
    for ref, definition in ((key[0], each) for key, each in base.snapshot.definitions.items()):
        if ref == vanished.object:
            yield _tail(definition.origin.file)


def _tail(file: str) -> str:
    """The end of a file's path, which is the same on both sides."""
    return "/".join(file.split("/")[-2:])
