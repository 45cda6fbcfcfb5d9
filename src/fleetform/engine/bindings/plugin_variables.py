"""The values of one plugin's variables on one cluster, and what they are looked up in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from fleetform.engine.bindings.fields import Field, Fields
from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.bindings import Unresolved
from fleetform.model.state import PluginState

T = TypeVar("T")
Cluster = Object[ClusterSpec]
# The output of a definition's plugin on a cluster, or why there is none: cluster, definition, output.
OutputOf = Callable[[Cluster, str, str], Field | Unresolved]
# What is known of a plugin on a cluster; what was read there for it is part of that.
StateOf = Callable[[Ref, str], PluginState]


class Lookups(NamedTuple):
    """Where bindings look values up in one pass: fields of objects, outputs of plugins, what was read on clusters."""

    fields: Fields
    output_of: OutputOf
    state: StateOf


class PluginVariables:
    """The variables of one plugin on one cluster; values are in the order in which the program evaluates them."""

    __slots__ = ("cluster", "lookups", "organization", "plugin", "values")

    def __init__(self, lookups: Lookups, organization: str, cluster: Cluster, plugin: str, values: list[Any]) -> None:
        self.lookups, self.organization = lookups, organization
        self.cluster, self.plugin, self.values = cluster, plugin, values


# For what is the same on every cluster.
NO_CLUSTER: Cluster = Object(Ref("Cluster", "", ""), Metadata(), ClusterSpec(), Origin("", 0, 0))

# Makes a value out of a plugin's variables: a YAML tree, or Unresolved.
Make = Callable[[PluginVariables], Any]


def constant(value: T) -> Callable[[PluginVariables], T]:
    return lambda variables: value
