"""Plugins that the operator makes for a preset's clusters: how they are known, and which part of them is a person's.

A generated Plugin is Fleetform's. Beside it a person owns `optionValues` and `configs`, by server-side apply (B4): what
stands there is read as a Plugin beside the preset.
"""

from __future__ import annotations

from fleetform.model.answers.base import JsonMap
from fleetform.syntax.trees import as_map

# On each generated Plugin, with the name of its preset. Only the operator sets it or takes it away.
PRESET_LABEL = "fleetform.dev/preset"
# What a person may say in a generated Plugin.
PERSONS_FIELDS = ("optionValues", "configs")
# What tells which plugin that is about.
_NAMING = ("presetRef", "clusterName")


def is_generated(manifest: JsonMap) -> bool:
    return made_by(manifest) is not None


def made_by(manifest: JsonMap) -> object:
    """What a Plugin says of the preset that makes it; None if no preset does."""
    labels = as_map(as_map(manifest.get("metadata")).get("labels"))
    return labels.get(PRESET_LABEL) if manifest.get("kind") == "Plugin" else None


def persons_part(manifest: JsonMap) -> JsonMap | None:
    """A generated Plugin as a person would write it beside the preset; None if nobody says anything in it."""
    spec = as_map(manifest.get("spec"))
    if not any(spec.get(field) for field in PERSONS_FIELDS):
        return None
    kept = {field: spec[field] for field in (*_NAMING, *PERSONS_FIELDS) if field in spec}
    return {**manifest, "spec": kept}


def fleetforms_part(manifest: JsonMap) -> JsonMap:
    """What of a generated Plugin's spec is Fleetform's alone."""
    return {field: value for field, value in as_map(manifest.get("spec")).items() if field not in PERSONS_FIELDS}
