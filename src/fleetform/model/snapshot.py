"""A complete input of one pass: every object by kind, and the time. Nothing else reaches the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.preset import PluginOverrideSpec, PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.state import UNKNOWN, PluginState, PluginStates

# A definition and one of its versions.
VersionKey = tuple[Ref, str]


class Unreadable(NamedTuple):
    """What the input holds and nobody could read: objects, and texts that may hold any object."""

    refs: frozenset[Ref] = frozenset()
    texts: bool = False

    def holds(self, kind: str, name: str, *organizations: str) -> bool:
        """Whether an object of one of some organizations is there, or one of its kind whose name nobody knows."""
        homes = [(kind, each) for each in organizations]
        return any(ref[:2] in homes and ref.name in ("", name) for ref in self.refs)

    def may_hold(self, kind: str, name: str, *organizations: str) -> bool:
        """Whether an object that seems to be missing may be there."""
        return self.texts or self.holds(kind, name, *organizations)


_ALL_READ = Unreadable()


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Objects by reference; definitions also by version, as several stand side by side.

    What earlier passes left behind, as far as it is known: states holds what is known of each plugin; rejected the
    versions that failed, by their owner; announced and ends the times at which a version came and goes; recorded the
    digest of the bytes it came with; retired the definitions that are no longer offered and may still run; selected the
    clusters that placements had chosen, by name. found holds the digests of a version's bytes now. unreadable is what
    else there is, so that nobody calls it missing (S64).
    """

    at: datetime
    organizations: Mapping[Ref, Object[OrganizationSpec]] = field(default_factory=dict)
    clusters: Mapping[Ref, Object[ClusterSpec]] = field(default_factory=dict)
    definitions: Mapping[tuple[Ref, str], Object[PluginDefinitionSpec]] = field(default_factory=dict)
    presets: Mapping[Ref, Object[PluginPresetSpec]] = field(default_factory=dict)
    plugins: Mapping[Ref, Object[PluginSpec]] = field(default_factory=dict)
    overrides: Mapping[Ref, Object[PluginOverrideSpec]] = field(default_factory=dict)
    others: Mapping[Ref, Object[Any]] = field(default_factory=dict)
    states: PluginStates = field(default_factory=dict)
    rejected: Mapping[Ref, frozenset[str]] = field(default_factory=dict)
    announced: Mapping[VersionKey, datetime] = field(default_factory=dict)
    ends: Mapping[VersionKey, datetime] = field(default_factory=dict)
    retired: Mapping[VersionKey, Object[PluginDefinitionSpec]] = field(default_factory=dict)
    selected: Mapping[Ref, frozenset[str]] = field(default_factory=dict)
    recorded: Mapping[VersionKey, str] = field(default_factory=dict)
    found: Mapping[VersionKey, str] = field(default_factory=dict)
    unreadable: Unreadable = _ALL_READ

    def state(self, cluster: Ref, plugin: str) -> PluginState:
        """What is known of a plugin on a cluster."""
        on_cluster = self.states.get(cluster)
        return on_cluster.get(plugin, UNKNOWN) if on_cluster is not None else UNKNOWN

    @property
    def objects(self) -> list[Object[Any]]:
        """All of them, foreign ones included."""
        return [each for part in self.parts for each in part.values()]

    @property
    def parts(self) -> tuple[Mapping[Any, Object[Any]], ...]:
        """The maps that hold all objects. A pass takes over those of the one before of which nothing is another."""
        return (
            self.organizations,
            self.clusters,
            self.definitions,
            self.presets,
            self.plugins,
            self.overrides,
            self.others,
        )
