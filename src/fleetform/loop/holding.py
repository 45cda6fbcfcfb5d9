"""Holding back: of a source whose files are one object each, one that is wrong keeps no other from being taken.

It stays as it was last accepted, or out if it never was, until it is mended. In a folder or a repository one error
refuses everything, since people change several files together there and mean them as one change.

What was accepted may itself be wrong for a newer version of Fleetform. That keeps no other object from being taken,
either, and what it may reach stays as it is on its clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from fleetform.app.broken import Broken
from fleetform.app.fleet import Fleet
from fleetform.engine.plan.records import Plan
from fleetform.model.objects import At, Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.diagnostics import Diagnostic, Place

Files = Mapping[str, bytes]
# What a finding is known by: its code, and the file, object and field that it is about.
_Known = tuple[str, str, Ref | None, str]


class Taken(NamedTuple):
    """Files in which nothing is wrong, and the fleet that they are."""

    files: Files
    fleet: Fleet


def without_invalid(files: Files, accepted: Files, fleet: Fleet, open_fleet: Callable[[Files], Fleet]) -> Taken | None:
    """The files without the changes that make them invalid; None if none is left to take. fleet is that of all files.

    Where a finding is about a file that is another than the accepted one, that file is held back. Where findings are
    about none, as when something was deleted that others need, it is tried out which changes can be taken. What is
    wrong with the accepted files themselves counts for none of the changes.
    """
    changes = frozenset(name for name in {*files, *accepted} if files.get(name) != accepted.get(name))
    before = frozenset(map(_known_by, open_fleet(accepted).findings.errors)) if accepted else frozenset()
    held: frozenset[str] = frozenset()
    taken = Taken(files, fleet)
    while errors := _brought(taken.fleet, before, changes - held):
        named = _named(errors, changes - held)
        if not named:
            return _Trial(files, accepted, held, before, open_fleet).most(sorted(changes - held))
        held |= named
        if held == changes:
            return None
        mixed = _mixed(files, accepted, held)
        taken = Taken(mixed, open_fleet(mixed))
    return taken


class _Trial:
    """Finds out which changes can be taken; those that are held stay so."""

    def __init__(
        self,
        files: Files,
        accepted: Files,
        held: frozenset[str],
        before: frozenset[_Known],
        open_fleet: Callable[[Files], Fleet],
    ) -> None:
        self._files, self._accepted, self._held, self._before = files, accepted, held, before
        self._open = open_fleet
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
        tried = took | set(names)
        mixed = _mixed(self._files, self._accepted, self._held | (set(changes) - tried))
        fleet = self._open(mixed)
        if not _brought(fleet, self._before, tried):
            self._best = Taken(mixed, fleet)
            return tried
        if len(names) == 1:
            return took
        middle = len(names) // 2
        return self._with(self._with(took, names[:middle], changes), names[middle:], changes)


def held_back(fleet: Fleet, plan: Plan) -> dict[PluginKey, str]:
    """Starts of a plan that something in the accepted files may reach which cannot be read, and what that is. What runs
    was decided with it; a way back was, too."""
    if not fleet.unread:
        return {}
    broken = Broken(fleet, fleet.unread)
    found = {}
    for step in (*plan.starts, *plan.renders):
        wanted = step.action in ("start", "render")
        plugin = fleet.decisions.plugins.get(step.key) if wanted else None
        errors = broken.touching(plugin) if plugin is not None else []
        if errors:
            ref = errors[0].object
            what = f"{ref.kind} {ref.name}" if ref is not None else _file(errors[0].at)
            found[step.key] = f"{what} was accepted and cannot be read any more: {errors[0].message}"
    return found


def _brought(fleet: Fleet, before: frozenset[_Known], changes: Collection[str]) -> list[Diagnostic]:
    """What is wrong with a fleet and was not before some changes, or is about one of these."""
    errors = fleet.findings.errors
    return [each for each in errors if _file(each.at) in changes or _known_by(each) not in before]


def _known_by(error: Diagnostic) -> _Known:
    return error.code, _file(error.at), error.object, error.path


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
