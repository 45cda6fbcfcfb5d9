"""Definitions: a version means one thing for ever (R2-36)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fleetform.engine.index.index import Index
from fleetform.engine.layers.revisions import revision_of
from fleetform.engine.versions.compatibility import compare_definitions
from fleetform.model.kinds.definition import FROM_REVISION
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.versions import VersionError


def compared_with_known(object_: Object[Any], was: Object[Any] | None, known: Index) -> Iterator[Diagnostic]:
    """What a definition changes for those who use it.

    A change without a bump is an error. What else `validate --against` fails is for the review of a change: when it
    comes here it may be the way back from something worse, so that it warns.
    """
    name = (object_.ref.organization, object_.ref.name)
    versions = dict(known.definitions.versions_of(name))
    try:
        if was is not None:
            before = revision_of(was)
            versions[before.version] = before
        after = revision_of(object_)
    except VersionError:
        # Reported where the definition is checked.
        return
    if after.version in versions and FROM_REVISION in (versions[after.version].object.metadata.annotations or {}):
        # Not all that it said is known.
        del versions[after.version]
    for found in compare_definitions({name: versions}, {name: {after.version: after}}) if versions else ():
        yield found if found.code == "changed-without-bump" else replace(found, severity="warning")
