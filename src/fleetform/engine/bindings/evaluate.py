"""Evaluate: an owner's variables on every cluster. What is the same on all clusters is evaluated once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.plugin_variables import NO_CLUSTER, Cluster, Lookups, Make, PluginVariables
from fleetform.engine.bindings.templates import Template
from fleetform.model.results.bindings import Bound, OnCluster, Unresolved
from fleetform.model.results.decisions import Item

_UNKNOWN = Template(lambda variables: None)


class Binder:
    """One owner's program in one pass."""

    def __init__(self, program: Program, lookups: Lookups) -> None:
        self.program, self._lookups = program, lookups
        self._organization = program.object.ref.organization
        # Kept here, and not with the program, which outlives items.
        self._templates: dict[Item, Template | None] = {}
        self._shared: list[Any] = [None] * len(program.steps)
        self.everywhere = PluginVariables(lookups, self._organization, NO_CLUSTER, "", self._shared)
        for index, each in enumerate(program.steps):
            if not each.template.varies:
                self._shared[index] = each.template.make(self.everywhere)

    def template(self, item: Item) -> Template | None:
        """What fills in an item's value; definitions and configs are written by others, and hold text (R3-22)."""
        found = self._templates.get(item, _UNKNOWN)
        if found is _UNKNOWN:
            by_owner = item.layer.name not in ("default", "config")
            found = self._templates[item] = self.program.compile_value(item.value, item.at) if by_owner else None
        return found

    def variables(
        self, cluster: Cluster, plugin: str, steps: Sequence[tuple[int, Make]] | None = None
    ) -> PluginVariables:
        """The variables of a plugin on a cluster: all of them, or those that some steps make."""
        # A copy of what all clusters share, in which only the slots that vary are evaluated: this runs once per plugin.
        values = self._shared.copy()
        variables = PluginVariables(self._lookups, self._organization, cluster, plugin, values)
        for index, make in self.program.varying if steps is None else steps:
            values[index] = make(variables)
        return variables

    def as_written(self, variables: PluginVariables, names: Collection[str]) -> PluginVariables:
        """The variables of a plugin, with some of them by their names instead of their values."""
        values: list[Any] = [
            OnCluster(((step.name,),)) if step.name in names else value
            for step, value in zip(self.program.steps, variables.values, strict=True)
        ]
        return PluginVariables(self._lookups, self._organization, variables.cluster, variables.plugin, values)

    def bound(self, cluster: Cluster, plugin: str) -> Iterator[Bound]:
        """Every binding on a cluster, in the order in which they are written."""
        variables = self.variables(cluster, plugin)
        values = dict(zip((step.name for step in self.program.steps), variables.values, strict=True))
        for step in sorted(self.program.steps, key=lambda each: (each.section, each.path[-1])):
            value = values[step.name]
            unresolved = value if isinstance(value, Unresolved) else None
            at = self.program.object.at(*step.path)
            source, field = step.source.object(variables), step.source.field(variables)
            yield Bound(step.name, step.section, value, unresolved, at, source, field)
