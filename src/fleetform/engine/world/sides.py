"""Sides: a fleet in which one owner's objects are those of another time, for clusters that join meanwhile (B21).

What an owner's plugins were last made of, and what a rollout brings them, is stored as hashes (AdmittedObjects).
Objects that are others by now are kept by identity and hash, as long as anybody may ask for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fleetform.engine.world.contents import ContentHashes
from fleetform.engine.world.stored import Contents
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import AnyObject, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.versions import VersionError, parse_version

# Objects as they were, by identity and hash.
KeptObjects = Mapping[tuple[str, str], AnyObject]
NOTHING_KEPT: KeptObjects = {}
_FIELDS = {
    "Organization": "organizations",
    "PluginPreset": "presets",
    "Plugin": "plugins",
    "PluginOverride": "overrides",
    "PluginDefinition": "definitions",
}


def snapshot_of_side(hashes: ContentHashes, now: Contents, then: Contents, kept: KeptObjects) -> Snapshot | None:
    """The snapshot with an owner's objects as they were; None if one of them is not known any more.

    What reaches a cluster alone is in neither: it stays as it is now, and so do clusters.
    """
    changed: dict[str, Any] = {}

    def of_field(field: str) -> dict[Any, AnyObject]:
        found: dict[Any, AnyObject] = changed.setdefault(field, dict(getattr(hashes.snapshot, field)))
        return found

    for identity in {*now, *then}:
        wanted, current = then.get(identity), hashes.object(identity)
        if current is not None and hashes.of(current) == wanted:
            continue
        if wanted is None:
            if current is not None:
                field, key = _place(current)
                of_field(field).pop(key, None)
            continue
        known = kept.get((identity, wanted))
        if known is None:
            retired = hashes.retired(identity)
            if retired is not None and hashes.of(retired) == wanted:
                # It is no longer offered, and known to whoever runs it.
                continue
            return None
        field, key = _place(known)
        of_field(field)[key] = known
    return replace(hashes.snapshot, **changed)


def _place(object_: AnyObject) -> tuple[str, Any]:
    """Where an object stands in a snapshot."""
    ref, spec = object_.ref, object_.spec
    if object_.foreign_version is not None:
        return "others", Ref(f"{ref.kind}.{object_.foreign_version.partition('/')[0]}", ref.organization, ref.name)
    if isinstance(spec, PluginDefinitionSpec):
        try:
            return "definitions", (ref, str(parse_version(spec.version)))
        except VersionError:
            return "definitions", (ref, spec.version)
    return _FIELDS.get(ref.kind, "others"), ref
