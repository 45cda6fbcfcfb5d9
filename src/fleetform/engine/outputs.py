"""Outputs: the names of every owner in one pass, and what plugins offer each other on a cluster (R3-4).

Outputs are those of the version that was last healthy; where no state tells, of the one that is wanted (B17).
"""

from __future__ import annotations

from typing import Any

from fleetform.engine.bind import Binder
from fleetform.engine.fields import Field
from fleetform.engine.frames import Frame, World
from fleetform.engine.homes import homes
from fleetform.engine.layers import Owner
from fleetform.engine.prepare import Cluster, Prepared
from fleetform.engine.programs import Program
from fleetform.engine.sources import Source
from fleetform.engine.version import Choice
from fleetform.model.results.bindings import Missing
from fleetform.model.results.decisions import Revision
from fleetform.model.shape import did_you_mean

# An owner and the name of its plugin on a cluster.
Producer = tuple[Owner, str]


class Binders:
    """What binds the names of each owner of one prepared snapshot."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        snapshot = prepared.snapshot
        self._world = World(prepared.fields, self._output, snapshot.observed)
        self._binders: dict[Owner, Binder] = {}
        self._producers: dict[tuple[str, str], dict[Cluster, Producer]] = {}
        self._outputs: dict[tuple[Owner, Revision], dict[str, Source]] = {}
        # Of the plugins on the way to an output that is being read; None while one is being made.
        self._frames: dict[Owner, Frame | None] = {}

    def of(self, owner: Owner) -> Binder | None:
        """What binds an owner's names; nothing where mentions are text (B6)."""
        return self._binder(owner) if owner.program is not None else None

    def _binder(self, owner: Owner) -> Binder:
        found = self._binders.get(owner)
        if found is None:
            # Outputs may mention what is given, also where an owner binds nothing.
            found = self._binders[owner] = Binder(owner.program or Program(owner.object), self._world)
        return found

    def producer(self, cluster: Cluster, definition: str) -> Producer | None:
        """Whose plugin of a definition is on a cluster; of several the oldest."""
        organization = cluster.ref.organization
        found = self._producers.get((organization, definition))
        if found is None:
            found = {}
            for owner in self._prepared.owners.values():
                if owner.definition == definition and owner.object.ref.organization == organization:
                    for home, name, _ in homes(self._prepared, owner):
                        found.setdefault(home, (owner, name))
            self._producers[organization, definition] = found
        return found.get(cluster)

    def _output(self, cluster: Cluster, definition: str, output: str) -> Field | Missing:
        producer = self.producer(cluster, definition)
        if producer is None:
            message = f"there is no plugin of {definition} on the cluster"
            return Missing("dependency", message, f"install {definition} there, or give a default")
        owner, name = producer
        revision = self._revision(owner, cluster, name)
        if revision is None:
            return Missing("dependency", f"{name} has no version", "")
        offered = self._offered(owner, revision)
        if output not in offered:
            message = f"{definition} {revision.version} has no output {output}"
            has = f"it has {', '.join(sorted(offered)[:6])}" if offered else "it has none"
            return Missing("config-missing", message, did_you_mean(output, sorted(offered), has))
        value = self._value(owner, cluster, name, output, offered[output])
        return value if isinstance(value, Missing) else Field(value, owner.object)

    def _value(self, owner: Owner, cluster: Cluster, name: str, output: str, source: Source) -> Any:
        outermost = not self._frames
        try:
            if owner not in self._frames:
                self._frames[owner] = None
                self._frames[owner] = self._binder(owner).frame(cluster, name)
            frame = self._frames[owner]
            if frame is None:
                # Validation names the cycle; here it must only come to an end.
                return Missing("value-type", f"the output {output} of {name} depends on itself", "break the cycle")
            return source.value(frame)
        finally:
            if outermost:
                self._frames.clear()

    def _revision(self, owner: Owner, cluster: Cluster, name: str) -> Revision | None:
        snapshot = self._prepared.snapshot
        key = (cluster.ref.organization, cluster.ref.name, name)
        version = snapshot.healthy.get(key)
        kept = self._prepared.known(owner).get(version) if version is not None else None
        choice = self._prepared.choices[owner]
        return kept or (choice.revision if isinstance(choice, Choice) else None)

    def _offered(self, owner: Owner, revision: Revision) -> dict[str, Source]:
        found = self._outputs.get((owner, revision))
        if found is None:
            found = self._binder(owner).program.outputs(revision.object.spec.outputs or (), revision.object)
            self._outputs[owner, revision] = found
        return found
