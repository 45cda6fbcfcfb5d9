"""What get answers: objects in the native shape, each with what follows from it."""

from __future__ import annotations

from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.listed import Listed, ListedObject
from fleetform.model.answers.listed_objects import (
    ListedCatalog,
    ListedCluster,
    ListedDefinition,
    ListedOverride,
    ListedPlacement,
    ListedPreset,
    ListedRevision,
)
from fleetform.model.answers.listed_plugins import ListedAddon, ListedPlugin, PluginRow
from fleetform.model.answers.listed_rollouts import ListedPolicy, ListedRollout, ListedWindow


class Listing(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="List"):
    """The objects of a kind, sorted."""

    items: list[Listed]
    diagnostics: list[Finding]


# What each kind of listing holds, by its plural.
LISTED: dict[str, tuple[type[Listed], ...]] = {
    "addons": (ListedAddon,),
    "catalogs": (ListedCatalog,),
    "clusters": (ListedCluster,),
    "definitions": (ListedDefinition,),
    "organizations": (ListedObject,),
    "overrides": (ListedOverride,),
    "placements": (ListedPlacement,),
    "plugins": (ListedPlugin, PluginRow),
    "policies": (ListedPolicy, ListedObject),
    "presets": (ListedPreset,),
    "revisions": (ListedRevision,),
    "rollouts": (ListedRollout,),
    "windows": (ListedWindow,),
}
