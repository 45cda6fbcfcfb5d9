"""The object that a request writes, and the snapshot with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, cast

from fleetform.app.reading.documents import read_document
from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.app.reading.snapshots import stamped, version_key
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object, Origin
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import Snapshot
from fleetform.operator.generated import is_generated, persons_part
from fleetform.ports.inputs import Document
from fleetform.ports.state import KnownState

_PARTS = {
    "Organization": "organizations",
    "Cluster": "clusters",
    "PluginPreset": "presets",
    "Plugin": "plugins",
    "PluginDefinition": "definitions",
    "PluginOverride": "overrides",
}


class Written(NamedTuple):
    """An object as it was read, unless it is too broken, and what is wrong with how it is written."""

    object: Object[Any] | None
    diagnostics: tuple[Diagnostic, ...] = ()


def read_object(manifest: JsonMap, state: KnownState) -> Written:
    """The object of a manifest; None without a finding for a generated Plugin in which nobody says anything."""
    tree = persons_part(manifest) if is_generated(manifest) else manifest
    if tree is None:
        return Written(None)
    # Its status is nobody's input, and may be large.
    tree = {key: value for key, value in tree.items() if key != "status"}
    reading = read_document(Document(tree, Origin("", 0, 0)), str(tree["metadata"].get("namespace", "default")))
    found = list(reading.diagnostics)
    object_ = stamped(reading.object, state, found, KeptReadings()) if reading.object is not None else None
    return Written(object_, tuple(found))


def with_object(snapshot: Snapshot, object_: Object[Any]) -> Snapshot:
    """A definition's new version stands beside the one before, which may still run somewhere."""
    part = _PARTS.get(object_.ref.kind, "others")
    key = version_key(cast("Object[PluginDefinitionSpec]", object_)) if part == "definitions" else object_.ref
    there: dict[Any, Any] = getattr(snapshot, part)
    # In order, as reading puts them: what is decided does not depend on it, and what is listed does.
    changed = {**there, key: object_} if key in there else dict(sorted({**there, key: object_}.items()))
    parts: dict[str, Any] = {part: changed}
    return replace(snapshot, **parts)
