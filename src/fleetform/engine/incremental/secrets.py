"""Plugins that take a value from a Secret that changed: they are decided as before, and made of something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.engine.decisions import Decisions
from fleetform.engine.incremental.changes import Changes
from fleetform.engine.index.clusters import Cluster
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret

# By organization and name.
_Names = set[tuple[str, str]]


def holders_of_changed_secrets(changes: Changes, previous: Decisions) -> Iterator[tuple[Cluster, Object[Any]]]:
    """The owners on clusters whose plugins refer to a Secret that came, went or holds something else."""
    refs = [each.ref for each in changes.objects("others") if each.ref.kind == "Secret"]
    changed = {(each.organization, each.name) for each in refs}
    if not changed:
        return
    organizations = {organization for organization, _ in changed}
    known: dict[OptionDecision, bool] = {}
    for plugin in previous.plugins.values():
        if plugin.organization in organizations:
            sides = (plugin, plugin.upgrade) if plugin.upgrade is not None else (plugin,)
            if any(_holds(each, changed, known) for each in sides):
                yield plugin.cluster, plugin.target.owner


def _holds(plugin: PluginDecision, changed: _Names, known: dict[OptionDecision, bool]) -> bool:
    """Most options are shared by many plugins: each is looked at once."""
    for option in plugin.options.values():
        found = known.get(option)
        if found is None:
            found = known[option] = option.value is not ABSENT and _names(option.value, plugin.organization, changed)
        if found:
            return True
    return False


def _names(value: Any, organization: str, changed: _Names) -> bool:
    if isinstance(value, Secret):
        return value.ref is not None and (organization, value.ref.name) in changed
    if isinstance(value, dict):
        return any(_names(each, organization, changed) for each in value.values())
    return isinstance(value, list) and any(_names(each, organization, changed) for each in value)
