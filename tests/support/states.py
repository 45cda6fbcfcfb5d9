"""What is known of plugins, by organization, cluster and name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, Deployed, PluginState


def states(
    running: Mapping[PluginKey, str] | None = None,
    observed: Mapping[PluginKey, Mapping[str, Any]] | None = None,
    healthy: Mapping[PluginKey, str] | None = None,
) -> dict[Ref, dict[str, PluginState]]:
    """The states of plugins: the versions that run, what was read on their clusters, the versions last healthy."""
    found: dict[Ref, dict[str, PluginState]] = {}

    def put(key: PluginKey, **known: Any) -> None:
        here = found.setdefault(Ref("Cluster", key[0], key[1]), {})
        here[key[2]] = structs.replace(here.get(key[2], UNKNOWN), **known)

    for key, version in (running or {}).items():
        put(key, admitted=Deployed(version))
    for key, values in (observed or {}).items():
        put(key, observed=values)
    for key, version in (healthy or {}).items():
        put(key, last_healthy=Deployed(version))
    return found
