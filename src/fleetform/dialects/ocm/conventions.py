"""What manifests of Open Cluster Management mean where systems differ."""

from __future__ import annotations

from msgspec.structs import replace

from fleetform.model.conventions import Conventions

CONVENTIONS = Conventions(
    lenient=True,
    passes_undeclared=True,
    unversioned=True,
    selector_optional=True,
    named_by_cluster=True,
    configs_anywhere=True,
    any_config=True,
    sets_are_bound=True,
    own_kinds={
        "Cluster": "ManagedCluster",
        "PluginDefinition": "ClusterManagementAddOn",
        "PluginPreset": "ClusterManagementAddOn",
        "Plugin": "ManagedClusterAddOn",
    },
)
# An add-on is where its placements are, or where somebody installs it.
BY_PLACEMENTS = replace(CONVENTIONS, placed_by_groups=True)
BY_HAND = replace(CONVENTIONS, placed_by_plugins=True)
