"""Plugins that people write beside a preset, to say more about the preset's plugin on one cluster (B4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fleetform.model.kinds.preset import PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.syntax.names import generated_name

Instance = Object[PluginSpec]


class Instances:
    """Answers which Plugin stands beside a preset's plugin."""

    def __init__(self, plugins: Mapping[Ref, Instance]) -> None:
        self._plugins = plugins
        self._of_preset: dict[tuple[str, str], dict[str, Instance]] = {}
        self._clusters: dict[tuple[str, str], set[str]] = {}
        for plugin in plugins.values():
            if plugin.spec.preset_ref is not None:
                preset = (plugin.ref.organization, plugin.spec.preset_ref.name)
                self._of_preset.setdefault(preset, {})[name_beside_preset(plugin)] = plugin
                self._clusters.setdefault(preset, set()).add(plugin.spec.cluster_name or "")

    def since(self, plugins: Mapping[Ref, Instance]) -> Instances:
        """The instances of other plugins; these where they are the same."""
        return self if plugins is self._plugins else Instances(plugins)

    def of_preset(self, preset: Ref) -> Mapping[str, Instance]:
        """The Plugins beside a preset, by the name that it gives its plugin there."""
        return self._of_preset.get((preset.organization, preset.name), {})

    def clusters_of(self, preset: Ref) -> Collection[str]:
        """The names of the clusters on which a Plugin stands beside a preset."""
        return self._clusters.get((preset.organization, preset.name), ())


def name_beside_preset(plugin: Instance) -> str:
    """The name of the preset's plugin that a Plugin stands beside: its own, or the one that its cluster gives it."""
    if not plugin.conventions.named_by_cluster or plugin.spec.preset_ref is None:
        return plugin.ref.name
    return generated_name(plugin.spec.preset_ref.name, plugin.spec.cluster_name or "")
