"""Frames: what the names of one plugin on one cluster stand for, and what they are read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fleetform.engine.bindings.fields import Fields
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref

Cluster = Object[ClusterSpec]
# What another plugin on a cluster offers under a name: a Field, or why there is none.
OutputOf = Callable[[Cluster, str, str], Any]


# What was read on a cluster for a plugin, by the binding's name.
Observed = Callable[[Ref, str], Mapping[str, Any]]


class World(NamedTuple):
    """What bindings are read from in one pass: objects, what other plugins offer, what was read on clusters."""

    fields: Fields
    output_of: OutputOf
    observed: Observed


class Frame:
    """The names of one plugin on one cluster. Values stand in the order in which the program makes them."""

    __slots__ = ("cluster", "organization", "plugin", "values", "world")

    def __init__(self, world: World, organization: str, cluster: Any, plugin: str, values: list[Any]) -> None:
        self.world, self.organization = world, organization
        self.cluster, self.plugin, self.values = cluster, plugin, values
