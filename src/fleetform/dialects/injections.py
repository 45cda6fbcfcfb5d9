"""What systems add to the values of every plugin by themselves, by the system's name.

Their own manifests have it, and so do native ones that were converted from them, and say so.
"""

from __future__ import annotations

from fleetform.model.conventions import InjectedValues

# On a native preset or Plugin: the system whose values charts and expressions go on reading.
INJECTS = "fleetform.dev/injects"

INJECTIONS = {
    "greenhouse": InjectedValues(
        at=("global", "greenhouse"),
        organization="organizationName",
        cluster="clusterName",
        labels="metadata",
        label_prefix="metadata.greenhouse.sap/",
        owner="ownedBy",
        owner_label="greenhouse.sap/owned-by",
    )
}
