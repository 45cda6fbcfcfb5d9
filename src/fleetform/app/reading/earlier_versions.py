"""Versions that definitions had, out of their revisions: each once, and only beside the definition itself.

An API server holds one version of a definition. The others are known by PluginDefinitionRevisions, of which one is of
the version that the definition has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleetform.app.reading.snapshots import version_key
from fleetform.model.kinds.definition import FROM_REVISION, PluginDefinitionSpec
from fleetform.model.objects import Object


def without_superfluous(objects: Sequence[Object[Any]]) -> list[Object[Any]]:
    """The objects without definitions out of revisions that nothing, or something better, stands for."""
    made = {id(each) for each in objects if _is_from_revision(each)}
    if not made:
        return list(objects)
    written = [each for each in objects if isinstance(each.spec, PluginDefinitionSpec) and id(each) not in made]
    names, known = {each.ref for each in written}, {version_key(each) for each in written}
    kept = []
    for each in objects:
        if id(each) in made:
            key = version_key(each)
            if each.ref not in names or key in known:
                continue
            known.add(key)
        kept.append(each)
    return kept


def _is_from_revision(object_: Object[Any]) -> bool:
    is_definition = isinstance(object_.spec, PluginDefinitionSpec)
    return is_definition and FROM_REVISION in (object_.metadata.annotations or {})
