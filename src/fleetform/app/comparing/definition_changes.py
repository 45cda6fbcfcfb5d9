"""validate --against: the check that a definition repository runs on every change."""

from __future__ import annotations

from fleetform.app.findings import file_of
from fleetform.app.fleet import Fleet
from fleetform.engine.versions.compatibility import compare_definitions
from fleetform.model.results.diagnostics import Diagnostic


def against(fleet: Fleet, base: Fleet) -> list[Diagnostic]:
    """What the definitions of a fleet owe those of the fleet before.

    What cannot be read on one side is compared with nothing: a repair passes, and hides nothing else.
    """
    both = fleet.snapshot.definitions.keys() & base.snapshot.definitions.keys()
    digests = {key: (base.digests(key).found, fleet.digests(key).found) for key in both}
    rendering_anew = {key for key, (then, now) in digests.items() if None not in (then, now) and then != now}
    found = compare_definitions(base.decisions.revisions, fleet.decisions.revisions, rendering_anew)
    # A definition whose file cannot be read now has not vanished.
    broken = {_tail(file_of(each)) for each in fleet.reading if each.severity == "error"}
    homes: dict[object, set[str]] = {}
    for (ref, _), definition in base.snapshot.definitions.items():
        homes.setdefault(ref, set()).add(_tail(definition.origin.file))
    kept = [each for each in found if each.code != "vanished-definition" or not broken & homes.get(each.object, set())]
    errors = [each for each in base.reading if each.severity == "error"]
    if errors:
        message = f"{base.input.name} has {len(errors):,} error{'s' if len(errors) != 1 else ''}: {errors[0].message}"
        kept.append(Diagnostic("unread-base", message, "what cannot be read there is compared with nothing", "info"))
    return kept


def _tail(file: str) -> str:
    """The end of a file's path, which is the same on both sides."""
    return "/".join(file.split("/")[-2:])
