"""Deciding: what plugins get on one cluster at a time, and what several of them share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from fleetform.engine.bindings.plugin_variables import PluginVariables
from fleetform.engine.decisions import Decisions
from fleetform.engine.index.claims import settle
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders
from fleetform.engine.index.reach import Reach
from fleetform.engine.index.selection import Selected
from fleetform.engine.layers.overrides import Override
from fleetform.engine.layers.owners import Group, Owner
from fleetform.engine.options.fold import ValueOf, written_value
from fleetform.engine.options.gates import gates_with_own
from fleetform.engine.options.item_values import ItemValues
from fleetform.engine.options.own import own_items, touched_by
from fleetform.engine.options.resolve import decide_option, decide_with_own, filled_outline
from fleetform.engine.options.routing import route
from fleetform.engine.options.schema import Schema
from fleetform.engine.options.shared import Sharing
from fleetform.engine.versions.choose import Choice
from fleetform.engine.versions.lifecycle import forced_at, lifecycle_in
from fleetform.engine.versions.upgrade_gates import removed_option_gates, upgrade_gates
from fleetform.model.objects import Object, Ref
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import (
    ClusterDecisions,
    Entry,
    Gate,
    Item,
    OptionDecision,
    PluginDecision,
    Revision,
    Settled,
    Shared,
    Skipped,
    gate_of,
)


class _Case(Struct, frozen=True, eq=False, gc=False):
    """One plugin that is to be decided: whose it is, where, what reaches it, and what its variables are."""

    owner: Owner
    cluster: Cluster
    name: str
    groups: tuple[Group, ...]
    overrides: tuple[Override, ...]
    frame: PluginVariables | None


class Deciding:
    """Decides plugins of one indexed snapshot, and remembers what several of them share.

    before is the index of the pass whose decisions are handed to `on`.
    """

    def __init__(
        self,
        index: Index,
        binders: Binders | None = None,
        sharing: Sharing | None = None,
        before: Index | None = None,
    ) -> None:
        self._index, self._snapshot = index, index.snapshot
        self._binders = binders or Binders(index)
        self._sharing = sharing or Sharing(index, self._binders)
        self._binders.decided_by(self._target_of)
        self._before = before
        # When gates open by themselves.
        self._openings: set[datetime] = set()

    def decisions(self, clusters: dict[Ref, ClusterDecisions], before: frozenset[datetime] = frozenset()) -> Decisions:
        """The decisions on clusters; before are the openings of gates that were known of those kept."""
        openings = frozenset(each for each in (*before, *self._openings) if each > self._snapshot.at)
        next_due = min((*self._index.due(), *openings), default=None)
        return Decisions(clusters, self._index, self._sharing, self._binders, next_due, openings)

    def on(
        self, cluster: Cluster, before: ClusterDecisions | None = None, owners: set[Object[Any]] | None = None
    ) -> ClusterDecisions:
        """What a cluster gets. Of the pass before, the plugins of all but some owners stay as they are."""
        if before is not None and owners is not None and (found := self._replaced(cluster, before, owners)) is not None:
            return found
        decided: dict[Object[Any], PluginDecision] = {}
        if before is not None and owners is not None:
            decided = {each.target.owner: each for each in before.candidates if each.target.owner not in owners}
        reach = self._index.reach(cluster.ref.organization).reach(cluster)
        selected = self._index.owners_on(cluster)
        return settle(
            cluster, [decided.get(each.owner.object) or self._candidate(cluster, each, reach) for each in selected]
        )

    def _replaced(
        self, cluster: Cluster, before: ClusterDecisions, owners: set[Object[Any]]
    ) -> ClusterDecisions | None:
        """What a cluster gets if the plugins of some owners only come out otherwise, as after most edits.

        None if one of them comes, goes or claims something else: then it is settled who keeps what.
        """
        plugins = dict(before.plugins)
        if before.claims or not (self._selects_as_before(cluster) or self._has_owners_of(plugins, cluster)):
            return None
        reach = self._index.reach(cluster.ref.organization).reach(cluster)
        for selected in self._index.owners_on(cluster):
            if selected.owner.object in owners:
                now = self._candidate(cluster, selected, reach)
                if not _claims_the_same(now, plugins.get(now.name)):
                    return None
                plugins[now.name] = now
        return ClusterDecisions(cluster, plugins)

    def _selects_as_before(self, cluster: Cluster) -> bool:
        return self._before is not None and self._index.selects_as(self._before, cluster.ref.organization)

    def _has_owners_of(self, plugins: Mapping[str, PluginDecision], cluster: Cluster) -> bool:
        """Whether the owners of some plugins are those that select a cluster."""
        selected = [each.owner.object for each in self._index.owners_on(cluster)]
        return len(selected) == len(plugins) and {each.target.owner for each in plugins.values()} == set(selected)

    def some(self, cluster: Cluster, owners: Collection[Owner]) -> ClusterDecisions:
        """What some owners get on a cluster. Those are decided with them that may claim what they claim."""
        selected = list(self._index.owners_on(cluster))
        claims = {each.owner: self._claims(cluster, each) for each in selected}
        wanted = {each for each in owners if each in claims}
        claimed: set[tuple[str, ...]] = set()
        while claimed != (more := claimed.union(*(claims[each] for each in wanted))):
            claimed = more
            wanted = {owner for owner, of_owner in claims.items() if not claimed.isdisjoint(of_owner)}
        reach = self._index.reach(cluster.ref.organization).reach(cluster)
        return settle(cluster, [self._candidate(cluster, each, reach) for each in selected if each.owner in wanted])

    def _claims(self, cluster: Cluster, selected: Selected) -> set[tuple[str, ...]]:
        """The release and the name that an owner's plugin would have on a cluster."""
        owner, name = selected.owner, selected.plugin_on(cluster)
        choice = self._index.definitions.choice(owner)
        revisions = [choice.revision if isinstance(choice, Choice) else None]
        admitted = self._snapshot.state(cluster.ref, name).admitted
        if admitted is not None and admitted.version is not None:
            # Gates may keep it at the revision that runs, which may name its release otherwise.
            revisions.append(self._index.definitions.known(owner).get(admitted.version))
        return {(name,), *(owner.release(each) for each in revisions)}

    def at_revision(self, cluster: Cluster, selected: Selected, revision: Revision) -> PluginDecision:
        """What an owner's plugin on a cluster gets of one revision, whether or not it is wanted."""
        reach = self._index.reach(cluster.ref.organization).reach(cluster)
        return self._at_revision(self._case(cluster, selected, reach), revision)

    def _candidate(self, cluster: Cluster, selected: Selected, reach: Reach) -> PluginDecision:
        """What an owner's plugin gets on a cluster if nobody else claims its release."""
        return self._plugin(self._case(cluster, selected, reach))

    def _target_of(self, owner: Owner, cluster: Cluster) -> Revision | None:
        """The revision that an owner's plugin on a cluster gets."""
        selected = next((each for each in self._index.owners_on(cluster) if each.owner is owner), None)
        if selected is None:
            return None
        reach = self._index.reach(cluster.ref.organization).reach(cluster)
        return self._candidate(cluster, selected, reach).target.revision

    def _case(self, cluster: Cluster, selected: Selected, reach: Reach) -> _Case:
        owner, name = selected.owner, selected.plugin_on(cluster)
        binder = self._binders.of(owner)
        frame = binder.variables(cluster, name) if binder is not None else None
        return _Case(owner, cluster, name, selected.groups, reach.of_definition(owner.definition), frame)

    def _plugin(self, case: _Case) -> PluginDecision:
        """What a plugin gets: the wanted revision or, where gates keep it from that, the one that runs."""
        owner, cluster = case.owner, case.cluster
        choice = self._index.definitions.choice(owner)
        chosen = choice.revision if isinstance(choice, Choice) else choice
        admitted = self._snapshot.state(cluster.ref, case.name).admitted
        version = admitted.version if admitted is not None else None
        wanted = self._at_revision(case, chosen, version)
        if admitted is None or version is None or admitted.definition not in (None, owner.definition):
            # What runs may be of another definition: its versions are no versions of this one.
            return wanted
        running = self._index.definitions.known(owner).get(version)
        if running is not None and running is chosen:
            return wanted
        wanted = structs.replace(wanted, gates=self._gates_of_upgrade(case, version, running, wanted))
        if not wanted.gates or running is None:
            # What runs may be known by its version alone: there is then nothing to keep, and the gates stand.
            return wanted
        return structs.replace(self._at_revision(case, running, version), upgrade=wanted)

    def _gates_of_upgrade(
        self, case: _Case, version: str, running: Revision | None, wanted: PluginDecision
    ) -> tuple[Gate, ...]:
        """Every validity gate between the version that runs and what is wanted."""
        revision = wanted.target.revision
        if revision is None:
            return wanted.gates
        step = self._sharing.step(version, revision)
        forced = None
        if step.breaking and not step.downgrade:
            lifecycle = lifecycle_in(self._snapshot, case.owner.object.ref.organization)
            forced = forced_at(lifecycle, step.breaking, revision, self._snapshot)
            self._openings |= {forced} if forced is not None else set()
        removed: Iterable[Gate] = ()
        if running is not None and not step.downgrade:
            values = ItemValues(self._binders.of(case.owner), case.frame, case.cluster, case.owner.definition, version)
            set_here = [each for each in wanted.skipped if not values.is_left_out(each.item)]
            removed = removed_option_gates(set_here, self._sharing.schema(running).option_of)
        return (
            *wanted.gates,
            *removed,
            *upgrade_gates(case.owner, case.cluster, step, self._snapshot.at, forced),
        )

    def _at_revision(self, case: _Case, revision: Revision | Gate, running: str | None = None) -> PluginDecision:
        """What a plugin gets of one revision, while a version runs there."""
        owner, cluster, sharing = case.owner, case.cluster, self._sharing
        instance = self._index.instance(owner, case.name)
        holder = instance if instance is not None and instance.spec.configs else None
        shared = sharing.shared(owner, revision, case.groups, case.overrides, holder)
        target = sharing.target(owner, revision)
        own: tuple[OptionDecision, ...] = ()
        skipped: tuple[Skipped, ...] = ()
        gates = shared.gates
        if isinstance(revision, Revision):
            said = sharing.configs(owner, (revision, case.groups, holder))[1] if holder is not None else ()
            items = own_items(owner, cluster.ref.name, instance, said)
            if items or shared.dynamic:
                schema = sharing.schema(revision)
                own, skipped = self._own(case, schema, shared, items)
                gates = gates_with_own(shared.gates, own, schema.hints)
        if case.frame is None:
            return PluginDecision(case.name, cluster, target, instance, shared, own, skipped, gates, running=running)
        unresolved, idle = self._unresolved(case, revision, shared, own)
        if unresolved:
            gates += tuple([gate_of(each) for each in unresolved if each.gate in VALIDITY_GATES])
        decided = PluginDecision(case.name, cluster, target, instance, shared, own, skipped, gates, running=running)
        return structs.replace(decided, unresolved=unresolved, idle=idle) if unresolved or idle else decided

    def _unresolved(
        self, case: _Case, revision: Revision | Gate, shared: Shared, own: tuple[OptionDecision, ...]
    ) -> tuple[tuple[Unresolved, ...], tuple[Unresolved, ...]]:
        """The variables that cannot be resolved here, each once: those that count, and those that nothing refers to."""
        frame, program = case.frame, case.owner.program
        assert frame is not None
        assert program is not None
        bound = [each for each in frame.values if each.__class__ is Unresolved and each.gate]
        found: list[Any] = [make(frame) for make in program.substituted]
        if bound and isinstance(revision, Revision):
            found += program.bound_to(self._binders.mentioned_in_outputs(case.owner, revision), frame)
        if found:
            found = [each for each in found if isinstance(each, Unresolved) and each.gate]
        if shared.unresolved:
            own_names = {each.slot.name for each in own}
            found += [one for each in shared.unresolved if each.slot.name not in own_names for one in each.unresolved]
        found += [one for each in own for one in each.unresolved]
        if not found and not bound:
            return (), ()
        blocking = {(each.gate, each.message): each for each in found}
        idle = {(each.gate, each.message): each for each in bound}
        return tuple(blocking.values()), tuple(each for key, each in idle.items() if key not in blocking)

    def _own(
        self, case: _Case, schema: Schema, shared: Shared, items: tuple[Item, ...]
    ) -> tuple[tuple[OptionDecision, ...], tuple[Skipped, ...]]:
        """The options that this cluster's own items, expressions or variables touch."""
        owner = case.owner
        said = route(schema, items, owner.passes_undeclared)
        value_of: ValueOf = written_value
        item_values: ItemValues | None = None
        if owner.program is not None or shared.dynamic or any(item.expression is not None for item in items):
            binder = self._binders.of(owner)
            version = schema.revision.version
            value_of = item_values = ItemValues(binder, case.frame, case.cluster, owner.definition, version)
        skipped = said.skipped
        if item_values is not None and owner.program is not None:
            unsure = [each for each in shared.dynamic if each.outline is None]
            varying = dict.fromkeys([item for each in unsure for item, _ in (*each.below, *each.above)])
            mine = [item for _, (item, _) in said.in_order]
            left_out = [each for each in (*mine, *varying) if item_values.is_left_out(each)]
            if left_out:
                # What is the same on every cluster is reported there.
                reported = {each.item for each in shared.skipped}
                skipped = [*skipped, *(Skipped(item, "left-out") for item in left_out if item not in reported)]
        own = []
        for settled, entries in touched_by(shared, said, schema):
            if settled.outline is not None and not entries:
                own.append(filled_outline(settled.outline, value_of))
            elif settled.slot.option is not None or settled.below or settled.above or entries:
                spoken = item_values.spoken(entries) if item_values is not None else entries
                own.append(_decide_here(settled, spoken, value_of, item_values))
        return tuple(own), tuple(skipped)


def _decide_here(
    settled: Settled, own: Sequence[Entry], value_of: ValueOf, item_values: ItemValues | None
) -> OptionDecision:
    """An option on a cluster that has items of its own for it, or where the shared ones differ from elsewhere."""
    if own and settled.decision is not None:
        return decide_with_own(settled, settled.decision, own, value_of)
    entries: Sequence[Entry] = (*settled.below, *own, *settled.above)
    spoken = item_values.spoken(entries) if item_values is not None else entries
    return decide_option(settled.slot, spoken, value_of, settled.family)


def _claims_the_same(now: PluginDecision, before: PluginDecision | None) -> bool:
    """Whether a plugin is the owner's one of that name as before, with the same release."""
    if before is None:
        return False
    mine, theirs = now.target, before.target
    return mine is theirs or (mine.owner, mine.release_namespace, mine.release_name) == (
        theirs.owner,
        theirs.release_namespace,
        theirs.release_name,
    )
