"""Plugin states: what is stored of each plugin by its key, and which of it is another than in the pass before."""

from __future__ import annotations

from collections.abc import Mapping

from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState, PluginStates


def flat_states(
    now: PluginStates, before: PluginStates, flat_before: Mapping[PluginKey, PluginState]
) -> tuple[Mapping[PluginKey, PluginState], set[PluginKey]]:
    """What is stored of each plugin, by its key, and which of it is another than before."""
    found: dict[PluginKey, PluginState] = dict(flat_before)
    changed: set[PluginKey] = set()
    gone = [ref for ref in before if ref not in now]
    for ref, on_cluster in (*now.items(), *((each, {}) for each in gone)):
        known = before.get(ref, {})
        if known is on_cluster:
            continue
        for name in (*on_cluster, *(each for each in known if each not in on_cluster)):
            key, state = (ref.organization, ref.name, name), on_cluster.get(name)
            if state is not known.get(name):
                changed.add(key)
                if state is not None:
                    found[key] = state
                else:
                    del found[key]
    return found, changed
