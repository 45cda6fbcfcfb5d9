"""Holding back: of a source whose files are one object each, one that is wrong keeps no other from being taken.

It stays as it was last accepted, or out if it never was, until it is mended. In a folder or a repository one error
refuses everything, since people change several files together there and mean them as one change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.model.objects import At
from fleetform.model.results.diagnostics import Diagnostic, Place

Files = Mapping[str, bytes]


class Taken(NamedTuple):
    """Files in which nothing is wrong, and the fleet that they are."""

    files: Files
    fleet: Fleet


def without_invalid(files: Files, accepted: Files, fleet: Fleet, open_fleet: Callable[[Files], Fleet]) -> Taken | None:
    """The files without the changes that make them invalid; None if none is left to take. fleet is that of all files.

    Where a finding is about a file that is another than the accepted one, that file is held back. Where findings are
    about none, as when something was deleted that others need, it is tried out which changes can be taken.
    """
    changes = frozenset(name for name in {*files, *accepted} if files.get(name) != accepted.get(name))
    held: frozenset[str] = frozenset()
    taken = Taken(files, fleet)
    while errors := taken.fleet.findings.errors:
        named = _named(errors, changes - held)
        if not named:
            return _Trial(files, accepted, held, open_fleet).most(sorted(changes - held))
        held |= named
        if held == changes:
            return None
        mixed = _mixed(files, accepted, held)
        taken = Taken(mixed, open_fleet(mixed))
    return taken


class _Trial:
    """Finds out which changes can be taken; those that are held stay so."""

    def __init__(
        self, files: Files, accepted: Files, held: frozenset[str], open_fleet: Callable[[Files], Fleet]
    ) -> None:
        self._files, self._accepted, self._held, self._open = files, accepted, held, open_fleet
        self._best: Taken | None = None

    def most(self, changes: Sequence[str]) -> Taken | None:
        """Those that were left out are tried again as long as more can be taken: one may need another after it."""
        took: frozenset[str] = frozenset()
        while True:
            more = self._with(took, [name for name in changes if name not in took], changes)
            if more == took:
                return self._best
            took = more

    def _with(self, took: frozenset[str], names: Sequence[str], changes: Sequence[str]) -> frozenset[str]:
        """As many of some changes as can be taken with those that were, in halves."""
        if not names:
            return took
        mixed = _mixed(self._files, self._accepted, self._held | (set(changes) - took - set(names)))
        fleet = self._open(mixed)
        if not fleet.findings.errors:
            self._best = Taken(mixed, fleet)
            return took | set(names)
        if len(names) == 1:
            return took
        middle = len(names) // 2
        return self._with(self._with(took, names[:middle], changes), names[middle:], changes)


def _named(errors: Sequence[Diagnostic], changes: Collection[str]) -> frozenset[str]:
    """Changes that findings are about; if none, those that they relate to."""
    found = {_file(each.at) for each in errors} & set(changes)
    return frozenset(found or {_file(at) for each in errors for at in each.related} & set(changes))


def _file(at: At | Place | None) -> str:
    if isinstance(at, At):
        return at.origin.file
    return at.file if at is not None else ""


def _mixed(files: Files, accepted: Files, held: Collection[str]) -> Files:
    """The files, but those that are held back as they were accepted."""
    found = {name: each for name, each in files.items() if name not in held}
    return found | {name: accepted[name] for name in held if name in accepted}
