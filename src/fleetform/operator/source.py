"""What an organization's control plane reads: its objects on the API server, and the versions that definitions had.

An object has one version at a time, and plugins may run, or be pinned to, those before it. So the versions of a
definition that were accepted stay in what is read, as long as the definition itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fleetform.operator.objects import ApiObjects
from fleetform.ports.sources import SourceFiles
from fleetform.syntax.versions import VersionError, parse_version

# As a LifecyclePolicy's revisionHistory is unless it says otherwise.
_HISTORY = 10


class OrganizationSource:
    """accepted are the files that were accepted last."""

    def __init__(self, objects: ApiObjects, organization: str, accepted: Callable[[], Mapping[str, bytes]]) -> None:
        self._objects, self._organization, self._accepted = objects, organization, accepted

    def read(self) -> SourceFiles:
        found = self._objects.files(self._organization)
        earlier = earlier_versions(found.files, self._accepted())
        return found._replace(files=dict(sorted({**found.files, **earlier}.items()))) if earlier else found


def earlier_versions(files: Mapping[str, bytes], accepted: Mapping[str, bytes]) -> dict[str, bytes]:
    """Versions of definitions that were accepted and are no longer there, the newest of each."""
    present = {definition for definition, _ in map(_split, files) if definition}
    by_definition: dict[str, list[str]] = {}
    for name in accepted:
        definition, _ = _split(name)
        if definition in present and name not in files:
            by_definition.setdefault(definition, []).append(name)
    kept = [name for names in by_definition.values() for name in sorted(names, key=_rank)[-(_HISTORY - 1) :]]
    return {name: accepted[name] for name in kept}


def _split(file: str) -> tuple[str, str]:
    definition, at, version = file.rpartition("@")
    return (definition, version) if at else ("", "")


def _rank(file: str) -> tuple[Any, ...]:
    """By version; those that cannot be read first."""
    _, version = _split(file)
    try:
        return True, parse_version(version), file
    except VersionError:
        return False, file
