"""The list of kinds: the one place that says which there are."""

from __future__ import annotations

from typing import NamedTuple

from fleetform.model.kinds.base import Record
from fleetform.model.kinds.definition import CatalogSpec, PluginDefinitionRevisionSpec, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.lifecycle import (
    ApprovalSpec,
    LifecyclePolicySpec,
    PluginStateSpec,
    RolloutPolicySpec,
    RolloutSpec,
    UpdateWindowSpec,
)
from fleetform.model.kinds.placement import PlacementSpec
from fleetform.model.kinds.preset import PluginOverrideSpec, PluginPresetSpec, PluginSpec
from fleetform.model.kinds.status import (
    CatalogStatus,
    ClusterStatus,
    DefinitionStatus,
    OverrideStatus,
    PlacementStatus,
    PluginPresetStatus,
    PluginStatus,
    RevisionStatus,
    RolloutStatus,
    Status,
)

API_VERSION = "fleetform.dev/v1alpha1"
PLATFORM_NAMESPACE = "fleetform-system"
# Whose an object is that says nothing of it (S7).
DEFAULT_ORGANIZATION = "default"


class Kind(NamedTuple):
    """A kind, the records of its spec and its status, and the word for several of it."""

    name: str
    spec: type[Record]
    plural: str
    status: type[Status] = Status
    spec_required: bool = True
    written_by_fleetform: bool = False


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("Approval", ApprovalSpec, "approvals"),
        Kind("Catalog", CatalogSpec, "catalogs", CatalogStatus),
        Kind("Cluster", ClusterSpec, "clusters", ClusterStatus, spec_required=False),
        Kind("LifecyclePolicy", LifecyclePolicySpec, "policies", spec_required=False),
        Kind("Organization", OrganizationSpec, "organizations", spec_required=False),
        Kind("Placement", PlacementSpec, "placements", PlacementStatus, spec_required=False),
        Kind("Plugin", PluginSpec, "plugins", PluginStatus),
        Kind("PluginDefinition", PluginDefinitionSpec, "definitions", DefinitionStatus),
        Kind(
            "PluginDefinitionRevision",
            PluginDefinitionRevisionSpec,
            "revisions",
            RevisionStatus,
            written_by_fleetform=True,
        ),
        Kind("PluginOverride", PluginOverrideSpec, "overrides", OverrideStatus),
        Kind("PluginPreset", PluginPresetSpec, "presets", PluginPresetStatus),
        Kind("PluginState", PluginStateSpec, "states", written_by_fleetform=True),
        Kind("Rollout", RolloutSpec, "rollouts", RolloutStatus, written_by_fleetform=True),
        Kind("RolloutPolicy", RolloutPolicySpec, "policies"),
        Kind("UpdateWindow", UpdateWindowSpec, "windows"),
    )
}
