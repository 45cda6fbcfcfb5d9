"""What an organization's control plane reads: its objects on the API server, and the versions that definitions had.

An object has one version at a time, and plugins may run, or be pinned to, those before it. So the versions of a
definition that were accepted stay in what is read, as long as the definition itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fleetform.operator.objects import ApiObjects
from fleetform.operator.versioned import Versioned, versioned
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
    present = {each.definition for each in map(versioned, files) if each is not None}
    by_definition: dict[str, list[Versioned]] = {}
    for name in accepted:
        each = versioned(name)
        if each is not None and each.definition in present and name not in files:
            by_definition.setdefault(each.definition, []).append(each)
    kept = [str(each) for known in by_definition.values() for each in sorted(known, key=_rank)[-(_HISTORY - 1) :]]
    return {name: accepted[name] for name in kept}


def _rank(file: Versioned) -> tuple[Any, ...]:
    """By version; those that cannot be read first."""
    try:
        return True, parse_version(file.version), file
    except VersionError:
        return False, file
