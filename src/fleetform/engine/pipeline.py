"""Decide: composes the stages over a snapshot, and shares their work.

Most plugins of a fleet have the same owner, revision, groups and overrides; what follows from these is decided once
(Shared). What differs on one cluster (its block in a preset, its instance, its expressions) is decided for it alone.
A pass that is given the one before decides again only what a changed object can reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fleetform.engine.expressions import context_of, evaluate
from fleetform.engine.layers import Group, Override, Owner, block_items, instance_items
from fleetform.engine.names import generated_name
from fleetform.engine.paths import text_of
from fleetform.engine.prepare import Cluster, Prepared, differing
from fleetform.engine.resolve import ValueOf, all_plain, decide_option, decide_with_own, written_value
from fleetform.engine.select import Reach
from fleetform.engine.selectors import any_matches
from fleetform.model.objects import Object
from fleetform.model.results.decisions import (
    ABSENT,
    Claim,
    Decisions,
    Entry,
    Gate,
    Item,
    OptionDecision,
    PluginDecision,
    PluginKey,
    Revision,
    Settled,
    Shared,
    Skipped,
    Slot,
    sort_key,
)
from fleetform.model.snapshot import Snapshot


def decide(snapshot: Snapshot, previous: Decisions | None = None) -> Decisions:
    """What every plugin on every cluster gets. previous only saves work: the answer does not depend on it."""
    if previous is not None and not previous.claims:
        again = _decide_again(Prepared(snapshot, previous.memory), previous)
        if again is not None:
            return again
    prepared = Prepared(snapshot)
    deciding = _Deciding(prepared)
    found = [pair for owner in prepared.owners.values() for pair in deciding.plugins_of(owner)]
    kept, claims = _settle_claims(found)
    return Decisions({key: kept[key] for key in sorted(kept)}, claims, prepared)


def _decide_again(prepared: Prepared, previous: Decisions) -> Decisions | None:
    """The decisions, with only those made anew that a change can reach; None where all must be looked at."""
    before: Prepared = previous.memory
    owners = _changed_owners(prepared, before)
    clusters: set[Cluster] = differing(prepared.snapshot.clusters, before.snapshot.clusters)
    found = _decide_changed(prepared, before, owners, clusters)
    fresh = dict(found)
    if not owners and not clusters:
        # Overrides change what plugins get, never which plugins there are.
        return Decisions({**previous.plugins, **fresh}, (), prepared)
    plugins = {
        key: plugin
        for key, plugin in previous.plugins.items()
        if plugin.cluster not in clusters and plugin.target.owner not in owners
    }
    foreign = any(key in plugins and plugins[key].target.owner is not each.target.owner for key, each in found)
    plugins.update(fresh)
    if foreign or len(fresh) < len(found) or len({_release(each) for each in plugins.values()}) < len(plugins):
        return None
    return Decisions({key: plugins[key] for key in sorted(plugins)}, (), prepared)


def _decide_changed(
    prepared: Prepared, before: Prepared, owners: set[Object[Any]], clusters: set[Cluster]
) -> list[tuple[PluginKey, PluginDecision]]:
    """All plugins of changed owners; those of the others on changed clusters, and where a changed override reaches."""
    everywhere, by_definition = _reached_by_changed_overrides(prepared, before)
    deciding = _Deciding(prepared)
    found: list[tuple[PluginKey, PluginDecision]] = []
    for owner in prepared.owners.values():
        if owner.object in owners:
            found += deciding.plugins_of(owner)
            continue
        touched = clusters | everywhere | by_definition.get(owner.definition, set())
        organization = owner.object.ref.organization
        present = [
            each
            for each in touched
            if each.ref.organization == organization and prepared.snapshot.clusters.get(each.ref) is each
        ]
        found += deciding.plugins_of(owner, present)
    return found


def _changed_owners(prepared: Prepared, before: Prepared) -> set[Object[Any]]:
    """Presets and plugins that changed, or whose definition or instance did."""
    now, then = prepared.snapshot, before.snapshot
    changed: set[Object[Any]] = {*differing(now.presets, then.presets), *differing(now.plugins, then.plugins)}
    definitions = {each.ref.name for each in differing(now.definitions, then.definitions)}
    beside = {
        (each.ref.organization, each.spec.preset_ref.name)
        for each in differing(now.plugins, then.plugins)
        if each.spec.preset_ref is not None
    }
    for object_, owner in (*prepared.owners.items(), *before.owners.items()):
        if owner.definition in definitions or (object_.ref.organization, object_.ref.name) in beside:
            changed.add(object_)
    return changed


def _reached_by_changed_overrides(prepared: Prepared, before: Prepared) -> tuple[set[Cluster], dict[str, set[Cluster]]]:
    """Clusters that overrides reach which changed, came, went or expired: for all definitions, and for some."""
    everywhere: set[Cluster] = set()
    by_definition: dict[str, set[Cluster]] = {}
    for object_ in prepared.overrides.keys() ^ before.overrides.keys():
        override = prepared.overrides.get(object_) or before.overrides[object_]
        clusters = prepared.clusters_reached(override)
        if not override.definitions:
            everywhere.update(clusters)
        for name in override.definitions:
            by_definition.setdefault(name, set()).update(clusters)
    return everywhere, by_definition


def _settle_claims(
    found: Iterable[tuple[PluginKey, PluginDecision]],
) -> tuple[dict[PluginKey, PluginDecision], tuple[Claim, ...]]:
    """One release and one name have one owner: the older one keeps it (B23). Owners come oldest first."""
    holders: dict[tuple[Cluster, str, str], PluginDecision] = {}
    kept: dict[PluginKey, PluginDecision] = {}
    claims = []
    for key, plugin in found:
        holder, claimed = holders.get(_release(plugin)), f"release {'/'.join(_release(plugin)[1:])}"
        if holder is None and key in kept:
            holder, claimed = kept[key], f"the name {plugin.name}"
        if holder is None:
            holders[_release(plugin)] = kept[key] = plugin
        else:
            claims.append(Claim(plugin.cluster, claimed, holder.target.owner, plugin.target.owner))
    return kept, tuple(claims)


def _release(plugin: PluginDecision) -> tuple[Cluster, str, str]:
    return plugin.cluster, plugin.target.release_namespace, plugin.target.release_name


# ---- Plugins


class _Deciding:
    """Decides plugins of one prepared snapshot, and remembers what several of them share."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._sharing = _Sharing(prepared)
        self._reaches: dict[Cluster, Reach] = {}

    def plugins_of(
        self, owner: Owner, clusters: Iterable[Cluster] | None = None
    ) -> Iterator[tuple[PluginKey, PluginDecision]]:
        """An owner's plugins, on all clusters of its organization or on some of them."""
        organization = owner.object.ref.organization
        if clusters is None:
            clusters = self._prepared.clusters.get(organization, ())
        for cluster, name in _homes(owner, clusters):
            reach = self._reaches.get(cluster)
            if reach is None:
                reach = self._reaches[cluster] = self._prepared.indexes[organization].reach(cluster)
            plugin = _decide_plugin(self._prepared, self._sharing, owner, cluster, name, reach)
            yield (organization, cluster.ref.name, name), plugin


def _homes(owner: Owner, clusters: Iterable[Cluster]) -> Iterator[tuple[Cluster, str]]:
    """The clusters an owner wants its plugin on, and the plugin's name there."""
    object_ = owner.object
    by_hand = object_.ref.kind == "Plugin"
    for cluster in clusters:
        if by_hand:
            if cluster.ref.name == object_.spec.cluster_name:
                yield cluster, object_.ref.name
        elif any_matches(owner.matchers, cluster.ref.name, cluster.labels):
            yield cluster, generated_name(object_.ref.name, cluster.ref.name)


def _decide_plugin(
    prepared: Prepared, sharing: _Sharing, owner: Owner, cluster: Cluster, name: str, reach: Reach
) -> PluginDecision:
    groups: tuple[Group, ...] = ()
    if owner.groups:
        groups = tuple([each for each in owner.groups if any_matches(each.matchers, cluster.ref.name, cluster.labels)])
    shared = sharing.shared(owner, groups, reach.of_definition(owner.definition))
    target = prepared.targets[owner]
    instance, items = _own_items(prepared, owner, cluster, name)
    own: tuple[OptionDecision, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    gates = shared.gates
    if target.revision is not None and (items or shared.dynamic):
        own, skipped = _decide_own(sharing, owner, target.revision, shared, cluster, items)
        gates = _gates_with_own(shared.gates, own)
    return PluginDecision(name, cluster, target, instance, shared, own, skipped, gates)


def _own_items(
    prepared: Prepared, owner: Owner, cluster: Cluster, name: str
) -> tuple[Object[Any] | None, tuple[Item, ...]]:
    """What this cluster alone says: the preset's block for it, then a Plugin beside the preset."""
    blocks = owner.blocks.get(cluster.ref.name) if owner.blocks else None
    items = block_items(owner.object, blocks) if blocks else ()
    if not prepared.instances or owner.object.ref.kind == "Plugin":
        return None, items
    instance = prepared.instances.get((cluster.ref.organization, owner.object.ref.name, name))
    return instance, items + instance_items(instance) if instance is not None else items


def _decide_own(
    sharing: _Sharing, owner: Owner, revision: Revision, shared: Shared, cluster: Cluster, items: tuple[Item, ...]
) -> tuple[tuple[OptionDecision, ...], tuple[Skipped, ...]]:
    """The options that this cluster's own items or expressions touch."""
    touched: dict[str, list[Entry]] = {each.slot.name: [] for each in shared.dynamic}
    skipped = sharing.route(revision, items, touched, owner.passes_undeclared)
    value_of: ValueOf = written_value
    if shared.dynamic or any(item.expression is not None for item in items):
        value_of = _Evaluator(cluster, owner.definition, revision.version)
    positions = sharing.positions(shared)
    own = []
    for name, entries in touched.items():
        position = positions.get(name)
        if position is None:
            own.append(decide_option(Slot(name, entries[0][0].steps, None), entries, value_of))
        else:
            settled = shared.options[position]
            own.append(decide_with_own(settled, entries, value_of) if entries else _decide_dynamic(settled, value_of))
    return tuple(own), tuple(skipped)


def _decide_dynamic(settled: Settled, value_of: ValueOf) -> OptionDecision:
    return decide_option(settled.slot, (*settled.below, *settled.above), value_of)


class _Evaluator:
    """The value of an item on one cluster, expressions included."""

    def __init__(self, cluster: Cluster, definition: str, version: str) -> None:
        self._of = (cluster, definition, version)
        self._context: dict[str, Any] | None = None

    def __call__(self, item: Item) -> Any:
        if item.expression is None:
            return written_value(item)
        if self._context is None:
            self._context = context_of(*self._of)
        return evaluate(item.expression, self._context)


# ---- What plugins share


class _Sharing:
    """Decides each distinct combination of owner, groups and overrides once, and each option in it once."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._shared: dict[tuple[Owner, tuple[Group, ...], tuple[Override, ...]], Shared] = {}
        self._below: dict[tuple[Owner, tuple[Group, ...]], tuple[dict[str, list[Entry]], list[Skipped]]] = {}
        self._settled: dict[tuple[Any, ...], Settled] = {}
        self._routed: dict[tuple[Revision, Override], tuple[dict[str, list[Entry]], list[Skipped]]] = {}
        self._positions: dict[tuple[str, ...], dict[str, int]] = {}
        self._positions_of: dict[Shared, dict[str, int]] = {}

    def shared(self, owner: Owner, groups: tuple[Group, ...], overrides: tuple[Override, ...]) -> Shared:
        found = self._shared.get((owner, groups, overrides))
        if found is None:
            found = self._shared[owner, groups, overrides] = self._share(owner, groups, overrides)
        return found

    def positions(self, shared: Shared) -> dict[str, int]:
        """Where each option stands in a Shared; the same map for all with the same options."""
        found = self._positions_of.get(shared)
        if found is None:
            names = tuple([each.slot.name for each in shared.options])
            found = self._positions.setdefault(names, {name: position for position, name in enumerate(names)})
            self._positions_of[shared] = found
        return found

    def _share(self, owner: Owner, groups: tuple[Group, ...], overrides: tuple[Override, ...]) -> Shared:
        applied = tuple([each.object for each in overrides])
        chosen = self._prepared.choices[owner]
        if isinstance(chosen, Gate):
            return Shared((), (), applied, (), (chosen,))
        below, skipped = self._under(owner, groups, chosen)
        above: dict[str, list[Entry]] = {}
        for override in overrides:
            routed, left_out = self._route_override(chosen, override)
            skipped = skipped + left_out
            for name, entries in routed.items():
                above.setdefault(name, []).extend(entries)
        options = self._settle_all((owner, groups), chosen, below, above)
        dynamic = tuple(each for each in options if each.decision is None)
        gates = tuple(gate for each in options if each.decision for gate in _gates_of_option(each.decision))
        return Shared(options, dynamic, applied, tuple(skipped), gates)

    def _under(
        self, owner: Owner, groups: tuple[Group, ...], revision: Revision
    ) -> tuple[dict[str, list[Entry]], list[Skipped]]:
        """Defaults, the owner's values and its groups', by option."""
        found = self._below.get((owner, groups))
        if found is None:
            below: dict[str, list[Entry]] = {}
            skipped: list[Skipped] = []
            for steps, item in self._prepared.defaults(revision).items():
                below[revision.options[steps].name] = [(item, ())]
            for items in (owner.items, *(group.items for group in groups)):
                skipped += self.route(revision, items, below, owner.passes_undeclared)
            found = self._below[owner, groups] = (below, skipped)
        return found

    def _route_override(self, revision: Revision, override: Override) -> tuple[dict[str, list[Entry]], list[Skipped]]:
        found = self._routed.get((revision, override))
        if found is None:
            routed: dict[str, list[Entry]] = {}
            skipped = self.route(revision, override.items, routed, override.allow_undeclared)
            found = self._routed[revision, override] = (routed, skipped)
        return found

    def route(
        self, revision: Revision, items: Iterable[Item], into: dict[str, list[Entry]], pass_undeclared: bool
    ) -> list[Skipped]:
        """Sort items by the option they speak of; those that speak of none are returned."""
        skipped = []
        for item in items:
            route = self._prepared.route(revision, item.steps)
            if route is not None:
                into.setdefault(route[0], []).append((item, route[1]))
            elif pass_undeclared:
                into.setdefault(text_of(item.steps), []).append((item, ()))
            else:
                skipped.append(Skipped(item, "not-declared"))
        return skipped

    def _settle_all(
        self, base: Any, revision: Revision, below: dict[str, list[Entry]], above: dict[str, list[Entry]]
    ) -> tuple[Settled, ...]:
        slots = self._prepared.slots(revision)
        undeclared = (below.keys() | above.keys()) - slots.keys()
        if undeclared:
            extra = {name: Slot(name, (below.get(name) or above[name])[0][0].steps, None) for name in undeclared}
            slots = dict(sorted({**slots, **extra}.items(), key=lambda entry: sort_key(entry[1].steps)))
        return tuple(
            [self._settle(base, slot, below.get(name, ()), above.get(name, ())) for name, slot in slots.items()]
        )

    def _settle(self, base: Any, slot: Slot, below: Sequence[Entry], above: Sequence[Entry]) -> Settled:
        over = tuple(above)
        key = (base, slot.name, over)
        found = self._settled.get(key)
        if found is None:
            entries = (*below, *above)
            dynamic = any(item.expression is not None for item, _ in entries)
            decision = None if dynamic else decide_option(slot, entries)
            found = Settled(slot, decision, tuple(below), over, all_plain(entries))
            self._settled[key] = found
        return found


# ---- Gates


def _gates_with_own(shared: tuple[Gate, ...], own: tuple[OptionDecision, ...]) -> tuple[Gate, ...]:
    gates = [
        gate for each in own if each.problem is not None or each.value is ABSENT for gate in _gates_of_option(each)
    ]
    if not shared:
        return tuple(gates)
    names = {each.slot.name for each in own}
    return tuple([gate for gate in shared if gate.option not in names] + gates)


def _gates_of_option(decision: OptionDecision) -> Iterator[Gate]:
    option = decision.slot.option
    if decision.problem is not None:
        item = decision.parts[-1].winner if decision.parts else decision.winner
        at = item.at if item is not None else None
        ref = item.layer.object.ref if item is not None else None
        yield Gate("value-type", decision.problem, "fix the value where it is set", decision.name, ref, at)
    elif decision.value is ABSENT and option is not None and option.required:
        yield Gate(
            "required-option",
            f"{decision.name} is required and has no value here",
            f"set {decision.name} in the preset, in a group, or in an override for this cluster",
            decision.name,
        )
