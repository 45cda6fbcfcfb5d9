"""Claims: one release and one plugin's name on a cluster have one owner (B23)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleetform.engine.index.clusters import Cluster
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Claim, ClusterDecisions, Gate, PluginDecision


def settle(cluster: Cluster, candidates: Iterable[PluginDecision]) -> ClusterDecisions:
    """What a cluster gets of what its owners want there. Candidates come by age of their owners, oldest first.

    Claims never reach beyond a cluster, so that a change on one leaves all others as they were settled.
    """
    releases: dict[tuple[str, str], PluginDecision] = {}
    kept: dict[str, PluginDecision] = {}
    claims: list[Claim] = []
    for plugin in candidates:
        release = (plugin.target.release_namespace, plugin.target.release_name)
        if release in releases:
            claims.append(_claim(f"release {'/'.join(release)}", releases[release].target.owner, plugin))
        elif plugin.name in kept:
            claims.append(_claim(f"the name {plugin.name}", kept[plugin.name].target.owner, plugin))
        else:
            releases[release] = kept[plugin.name] = plugin
    if claims:
        claims.sort(key=lambda claim: (claim.candidate.ref, claim.claimed))
    return ClusterDecisions(cluster, dict(sorted(kept.items())), tuple(claims))


def _claim(claimed: str, keeps: Object[Any], plugin: PluginDecision) -> Claim:
    other = plugin.target.owner
    first = "is older" if keeps.created is not None and keeps.created != other.created else "comes first by name"
    message = f"{claimed} on {plugin.cluster.ref.name} belongs to {keeps.ref.kind} {keeps.ref.name}, which {first}"
    do = "give one of them another releaseName, or let their selectors part"
    return Claim(claimed, keeps, plugin, Gate("conflict", message, do, ref=keeps.ref, at=keeps.at()))
