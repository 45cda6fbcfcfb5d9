"""Bind: names to values, for every plugin on every cluster. What no cluster can make differ is evaluated once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.frames import Cluster, Frame, World
from fleetform.engine.bindings.readers import Make
from fleetform.engine.bindings.templates import Template
from fleetform.model.results.bindings import Bound, Unresolved
from fleetform.model.results.decisions import Item

_UNKNOWN = Template(lambda frame: None)


class Binder:
    """One owner's program in one pass."""

    def __init__(self, program: Program, world: World) -> None:
        self.program, self._world = program, world
        self._organization = program.object.ref.organization
        # Here, and not with the program, which outlives items.
        self._templates: dict[Item, Template | None] = {}
        self._shared: list[Any] = [None] * len(program.steps)
        # A frame of no cluster, for what does not vary.
        self.everywhere = Frame(world, self._organization, None, "", self._shared)
        for index, each in enumerate(program.steps):
            if not each.template.varies:
                self._shared[index] = each.template.make(self.everywhere)

    def template(self, item: Item) -> Template | None:
        """What an item's value mentions; definitions and configs are written by others, and hold text (R3-22)."""
        found = self._templates.get(item, _UNKNOWN)
        if found is _UNKNOWN:
            by_owner = item.layer.name not in ("default", "config")
            found = self._templates[item] = self.program.compile(item.value, item.at) if by_owner else None
        return found

    def frame(self, cluster: Cluster, plugin: str, steps: Sequence[tuple[int, Make]] | None = None) -> Frame:
        """What names stand for on a cluster: all of them, or those that some steps make."""
        values = self._shared.copy()
        frame = Frame(self._world, self._organization, cluster, plugin, values)
        for index, make in self.program.varying if steps is None else steps:
            values[index] = make(frame)
        return frame

    def bound(self, cluster: Cluster, plugin: str) -> Iterator[Bound]:
        """Every binding on a cluster, in the order in which they are written."""
        frame = self.frame(cluster, plugin)
        values = dict(zip((step.name for step in self.program.steps), frame.values, strict=True))
        for step in sorted(self.program.steps, key=lambda each: (each.section, each.path[-1])):
            value = values[step.name]
            missing = value if isinstance(value, Unresolved) else None
            at = self.program.object.at(*step.path)
            yield Bound(step.name, step.section, value, missing, at, step.source.object(frame))
