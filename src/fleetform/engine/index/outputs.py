"""Outputs: what binds the variables of each owner, and what plugins offer each other on a cluster (R3-4).

Outputs are those of the version that was last healthy; where no state tells, of the plugin's target (B17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.evaluate import Binder
from fleetform.engine.bindings.fields import Field
from fleetform.engine.bindings.plugin_variables import Lookups, PluginVariables
from fleetform.engine.bindings.value_sources import OUTPUT, ValueSource
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import Owner
from fleetform.engine.versions.choose import Choice
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.results.bindings import FieldOnCluster, Unresolved
from fleetform.model.results.decisions import Revision
from fleetform.model.shape import did_you_mean

# So many plugins may build on each other's outputs: people can follow fewer, and Python's stack some more.
LONGEST_CHAIN = 60
# The revision that an owner's plugin on a cluster gets.
TargetOf = Callable[[Owner, Cluster], Revision | None]
# An owner and the name of its plugin on a cluster.
Producer = tuple[Owner, str]


class Binders:
    """What binds the variables of each owner of one snapshot."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lookups = Lookups(index.fields, self._output, index.snapshot.state)
        self._binders: dict[Owner, Binder] = {}
        self._outputs: dict[tuple[Owner, Revision], dict[str, ValueSource]] = {}
        # Of outputs on the way to one that is being read; None while one is being made.
        self._frames: dict[tuple[Owner, str], PluginVariables | None] = {}
        self._depth = 0
        self._of_cluster: dict[tuple[Owner, Cluster], set[str]] = {}
        self._without: dict[tuple[str, str], str] = {}
        self._may_read: dict[Owner, bool] = {}
        self._target_of: TargetOf | None = None
        self._targets: dict[tuple[Owner, Cluster], Revision | None] = {}

    def of(self, owner: Owner) -> Binder | None:
        """What binds an owner's variables; None where `$(…)` is text (B6)."""
        return self._binder(owner) if owner.program is not None else None

    def _binder(self, owner: Owner) -> Binder:
        found = self._binders.get(owner)
        if found is None:
            # Outputs may refer to built-in variables, also where an owner binds nothing.
            found = self._binders[owner] = Binder(owner.program or Program(owner.object), self._lookups)
        return found

    def producers(self, cluster: Cluster, definition: str) -> list[Producer]:
        """Whose plugins of a definition are on a cluster; of two that claim one release, the older one's."""
        found: dict[tuple[str, str], Producer] = {}
        for selected in self._index.owners_on(cluster):
            owner = selected.owner
            if owner.definition == definition:
                choice = self._index.definitions.choice(owner)
                release = owner.release(choice.revision if isinstance(choice, Choice) else None)
                found.setdefault(release, (owner, selected.plugin_on(cluster)))
        return list(found.values())

    def _output(self, cluster: Cluster, definition: str, output: str) -> Field | Unresolved:
        producers = self.producers(cluster, definition)
        if not producers:
            message = f"there is no plugin of {definition} on the cluster"
            return Unresolved("dependency", message, self._to_do_without(cluster.ref.organization, definition))
        if len(producers) > 1:
            owners = ", ".join(sorted(owner.object.ref.name for owner, _ in producers))
            message = f"there are several plugins of {definition} on the cluster, of {owners}"
            return Unresolved("value-type", message, "let one of them install another definition there")
        owner, name = producers[0]
        revision = self._revision(owner, cluster, name)
        if revision is None:
            return Unresolved("dependency", f"{name} has no version", "")
        offered = self._offered(owner, revision)
        if output not in offered:
            message = f"{definition} {revision.version} has no output {output}"
            has = f"it has {', '.join(sorted(offered)[:6])}" if offered else "it has none"
            return Unresolved("config-missing", message, did_you_mean(output, sorted(offered), has))
        return self._read(owner, cluster, name, output, offered[output])

    def _to_do_without(self, organization: str, definition: str) -> str:
        """What to do about a definition that is not on a cluster, or that nobody knows at all."""
        found = self._without.get((organization, definition))
        if found is not None:
            return found
        homes_of = (organization, PLATFORM_NAMESPACE)
        known = sorted({name for home, name in self._index.definitions.revisions if home in homes_of})
        otherwise = f"install {definition} there, or give a default"
        found = otherwise if definition in known else did_you_mean(definition, known, otherwise)
        self._without[organization, definition] = found
        return found

    def _read(self, owner: Owner, cluster: Cluster, name: str, output: str, source: ValueSource) -> Field | Unresolved:
        asked, outermost = (owner, output), not self._frames
        try:
            self._depth += 1
            if self._depth > LONGEST_CHAIN:
                message = f"it is made of outputs of outputs, over more than {LONGEST_CHAIN} plugins"
                return Unresolved("value-type", message, "bind to those at the beginning of the chain")
            if asked not in self._frames:
                self._frames[asked] = None
                self._frames[asked] = self._binder(owner).variables(cluster, name, source.steps)
            frame = self._frames[asked]
            if frame is None:
                # Validation names the cycle; here it must only come to an end.
                return Unresolved("value-type", f"the output {output} of {name} depends on itself", reported=True)
            value = source.value(frame)
            if isinstance(value, Unresolved):
                what = f"the output {output} of {owner.definition}: {value.message}"
                return value if value.reported else structs.replace(value, message=what)
            return Field(value, owner.object)
        finally:
            self._depth -= 1
            if outermost:
                self._frames.clear()

    def may_read_cluster(self, owner: Owner) -> bool:
        """Whether any name of an owner may be made of what is read on clusters; most fleets have none that is."""
        found = self._may_read.get(owner)
        if found is None:
            made_of = self._made_of(owner)
            found = self._may_read[owner] = made_of is None
            # Definitions may refer to each other in a circle: only together is it known that none of them does.
            self._may_read.update(dict.fromkeys(made_of or (), False))
        return found

    def _made_of(self, owner: Owner) -> set[Owner] | None:
        """All owners whose outputs may be part of what an owner's names are made of; None if any of them may read
        clusters."""
        found, waiting = {owner}, [owner]
        while waiting:
            each = waiting.pop()
            program = self._binder(each).program
            producers = self._of_definitions(each, program.producers)
            if program.reads_cluster or self._may_read.get(each) or any(map(self._offers_fields, producers)):
                return None
            new = {producer for producer in producers if self._may_read.get(producer) is not False} - found
            found |= new
            waiting += new
        return found

    def _of_definitions(self, owner: Owner, definitions: Sequence[str]) -> list[Owner]:
        organization = owner.object.ref.organization
        owners = self._index.owners.values() if definitions else ()
        return [
            each for each in owners if each.definition in definitions and each.object.ref.organization == organization
        ]

    def of_cluster(self, owner: Owner, cluster: Cluster, plugin: str) -> set[str]:
        """The names that stand for something read on the cluster itself, or are made of one that does."""
        found = self._of_cluster.get((owner, cluster))
        if found is None:
            found = self._of_cluster[owner, cluster] = set()
            if self.may_read_cluster(owner):
                binder = self._binder(owner)
                frame = binder.variables(cluster, plugin)
                for step in binder.program.steps:
                    output = step.source.output(frame)
                    if (
                        not found.isdisjoint(step.template.names)
                        or step.source.on_cluster(frame)
                        or (output is not None and self._is_read_on(cluster, *output))
                    ):
                        found.add(step.name)
        return found

    def _is_read_on(self, cluster: Cluster, definition: str, output: str) -> bool:
        """Whether an output is made of what is read on the cluster."""
        for owner, name in self.producers(cluster, definition)[:1]:
            revision = self._revision(owner, cluster, name)
            source = self._offered(owner, revision).get(output) if revision is not None else None
            if source is None:
                return False
            frame = self._binder(owner).variables(cluster, name, source.steps)
            return source.on_cluster(frame) or not self.of_cluster(owner, cluster, name).isdisjoint(source.names)
        return False

    def fields_on(self, owner: Owner, cluster: Cluster, plugin: str) -> Iterator[tuple[str, FieldOnCluster]]:
        """The fields that a plugin needs to have read on its cluster, by the names that they are observed under: those
        of its bindings, and those of its outputs that others there read."""
        if self.of(owner) is not None and self._binder(owner).program.reads_cluster:
            frame = self._binder(owner).variables(cluster, plugin)
            for step in self._binder(owner).program.steps:
                field = step.source.field(frame)
                if field is not None:
                    yield step.name, field
        is_asked = self._offers_fields(owner) and self._is_read_by_others(owner, cluster)
        revision = self._revision(owner, cluster, plugin) if is_asked else None
        for name, source in self._offered(owner, revision).items() if revision is not None else ():
            field = source.field(self._binder(owner).variables(cluster, plugin, source.steps))
            if field is not None:
                yield f"{OUTPUT}{name}", field

    def reads_clusters(self) -> bool:
        """Whether anything may have to be read on any cluster."""
        owners = self._index.owners.values()
        return any(self._binder(each).program.reads_cluster or self._offers_fields(each) for each in owners)

    def _offers_fields(self, owner: Owner) -> bool:
        revisions = self._index.definitions.known(owner).values()
        outputs = (each for revision in revisions for each in revision.object.spec.outputs or ())
        return any(each.object_field_ref is not None for each in outputs)

    def _is_read_by_others(self, owner: Owner, cluster: Cluster) -> bool:
        programs = (selected.owner.program for selected in self._index.owners_on(cluster))
        return any(each is not None and owner.definition in each.producers for each in programs)

    def decided_by(self, target_of: TargetOf) -> None:
        """From here on, target_of tells which revision a plugin gets where gates may keep it from what is wanted."""
        self._target_of = target_of

    def _revision(self, owner: Owner, cluster: Cluster, name: str) -> Revision | None:
        """The revision whose outputs count: the last healthy one; where no state tells, the one that is the target."""
        state, known = self._index.snapshot.state(cluster.ref, name), self._index.definitions.known(owner)
        healthy = state.last_healthy.version if state.last_healthy is not None else None
        kept = known.get(healthy) if healthy is not None else None
        if kept is not None:
            return kept
        choice = self._index.definitions.choice(owner)
        wanted = choice.revision if isinstance(choice, Choice) else None
        admitted = state.admitted
        of_another = admitted is not None and admitted.definition not in (None, owner.definition)
        version = admitted.version if admitted is not None and not of_another else None
        running = known.get(version) if version is not None else None
        if running is None or running is wanted or self._target_of is None:
            return wanted
        key = (owner, cluster)
        if key not in self._targets:
            # Plugins that read each other's outputs are reported; here it must only come to an end.
            self._targets[key] = running
            self._targets[key] = self._target_of(owner, cluster)
        return self._targets[key]

    def mentioned_in_outputs(self, owner: Owner, revision: Revision) -> set[str]:
        """The variables to which the outputs of an owner's plugin refer."""
        if not revision.object.spec.outputs:
            return set()
        return {name for source in self._offered(owner, revision).values() for name in source.names}

    def _offered(self, owner: Owner, revision: Revision) -> dict[str, ValueSource]:
        found = self._outputs.get((owner, revision))
        if found is None:
            found = self._binder(owner).program.outputs(revision.object.spec.outputs or (), revision.object)
            self._outputs[owner, revision] = found
        return found
