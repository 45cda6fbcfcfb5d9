"""Decide: composes the stages over a snapshot, and shares their work.

Most plugins of a fleet have the same owner, revision, groups and overrides; what follows from these is decided once
(Shared). What differs on one cluster (its block in a preset, its instance, its expressions) is decided for it alone.
A pass that is given the one before decides again only what a changed object can reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, structs

from fleetform.engine.bindings.frames import Frame
from fleetform.engine.configs.items import Said, at_place
from fleetform.engine.incremental.reached import (
    changed_owners,
    clusters_read_anew,
    reached_by_changed_configs,
    reached_by_changed_overrides,
)
from fleetform.engine.index.homes import homes
from fleetform.engine.index.layers import Group, Override, Owner, block_items, instance_items
from fleetform.engine.index.prepare import Cluster, Prepared, differing
from fleetform.engine.index.reach import Reach
from fleetform.engine.options.resolve import ValueOf, decide_option, decide_with_own, filled_outline, written_value
from fleetform.engine.options.shared import Sharing, gates_with_own
from fleetform.engine.options.values import Valuing
from fleetform.engine.versions.choose import Choice
from fleetform.engine.versions.upgrade_gates import removed_option_gates, upgrade_gates
from fleetform.model.objects import Object
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.bindings import Missing
from fleetform.model.results.decisions import (
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
    gate_of,
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
    return _decisions({key: kept[key] for key in sorted(kept)}, prepared, claims)


def _decisions(
    plugins: dict[PluginKey, PluginDecision], prepared: Prepared, claims: tuple[Claim, ...] = ()
) -> Decisions:
    return Decisions(plugins, prepared.revisions, tuple(prepared.overrides), claims, prepared.retired, prepared)


def _decide_again(prepared: Prepared, previous: Decisions) -> Decisions | None:
    """The decisions, with only those made anew that a change can reach; None where all must be looked at."""
    before: Prepared = previous.memory
    owners = changed_owners(prepared, before, previous)
    clusters: set[Cluster] = differing(prepared.snapshot.clusters, before.snapshot.clusters)
    clusters |= clusters_read_anew(prepared.snapshot, before.snapshot)
    found = _decide_changed(prepared, before, owners, clusters)
    fresh = dict(found)
    if not owners and not clusters:
        # Overrides change what plugins get, never which plugins there are.
        return _decisions({**previous.plugins, **fresh}, prepared)
    plugins = {
        key: plugin
        for key, plugin in previous.plugins.items()
        if plugin.cluster not in clusters and plugin.target.owner not in owners
    }
    foreign = any(key in plugins and plugins[key].target.owner is not each.target.owner for key, each in found)
    plugins.update(fresh)
    if foreign or len(fresh) < len(found) or len({_release(each) for each in plugins.values()}) < len(plugins):
        return None
    return _decisions({key: plugins[key] for key in sorted(plugins)}, prepared)


def _decide_changed(
    prepared: Prepared, before: Prepared, owners: set[Object[Any]], clusters: set[Cluster]
) -> list[tuple[PluginKey, PluginDecision]]:
    """All plugins of changed owners; those of the others on changed clusters, and where a changed override reaches."""
    everywhere, by_definition = reached_by_changed_overrides(prepared, before)
    by_config = reached_by_changed_configs(prepared, before)
    deciding = _Deciding(prepared)
    found: list[tuple[PluginKey, PluginDecision]] = []
    for owner in prepared.owners.values():
        configured = by_config.get(owner, set())
        if owner.object in owners or configured is None:
            found += deciding.plugins_of(owner)
            continue
        touched = clusters | everywhere | by_definition.get(owner.definition, set()) | configured
        if not touched:
            continue
        organization = owner.object.ref.organization
        present = {
            each
            for each in touched
            if each.ref.organization == organization and prepared.snapshot.clusters.get(each.ref) is each
        }
        found += deciding.plugins_of(owner, present)
    return found


def _settle_claims(
    found: Iterable[tuple[PluginKey, PluginDecision]],
) -> tuple[dict[PluginKey, PluginDecision], tuple[Claim, ...]]:
    """One release and one name have one owner: the older one keeps it (B23). Owners come oldest first."""
    holders: dict[tuple[Cluster, str, str], PluginDecision] = {}
    kept: dict[PluginKey, PluginDecision] = {}
    claims = []
    for key, plugin in found:
        release = _release(plugin)
        holder = holders.setdefault(release, plugin)
        if holder is not plugin:
            claims.append(_claim(f"release {'/'.join(release[1:])}", holder.target.owner, plugin))
        elif kept.setdefault(key, plugin) is not plugin:
            del holders[release]
            claims.append(_claim(f"the name {plugin.name}", kept[key].target.owner, plugin))
    return kept, tuple(sorted(claims, key=lambda claim: (claim.plugin.ref, claim.cluster.ref.name, claim.claimed)))


def _claim(claimed: str, keeps: Object[Any], plugin: PluginDecision) -> Claim:
    other = plugin.target.owner
    first = "is older" if keeps.created is not None and keeps.created != other.created else "comes first by name"
    message = f"{claimed} on {plugin.cluster.ref.name} belongs to {keeps.ref.kind} {keeps.ref.name}, which {first}"
    do = "give one of them another releaseName, or let their selectors part"
    gate = Gate("conflict", message, do, ref=keeps.ref, at=keeps.at())
    return Claim(claimed, keeps, structs.replace(plugin, gates=(gate, *plugin.gates), upgrade=None))


def _release(plugin: PluginDecision) -> tuple[Cluster, str, str]:
    return plugin.cluster, plugin.target.release_namespace, plugin.target.release_name


# ---- Plugins


class _Deciding:
    """Decides plugins of one prepared snapshot, and remembers what several of them share."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._sharing = Sharing(prepared)
        self._reaches: dict[Cluster, Reach] = {}

    def plugins_of(
        self, owner: Owner, clusters: set[Cluster] | None = None
    ) -> Iterator[tuple[PluginKey, PluginDecision]]:
        """An owner's plugins, on all clusters of its organization or on some of them."""
        organization = owner.object.ref.organization
        binder = self._sharing.binders.of(owner)
        for cluster, name, groups in homes(self._prepared, owner, clusters):
            reach = self._reaches.get(cluster)
            if reach is None:
                reach = self._reaches[cluster] = self._prepared.indexes[organization].reach(cluster)
            frame = binder.frame(cluster, name) if binder is not None else None
            case = _Case(owner, cluster, name, groups, reach.of_definition(owner.definition), frame)
            yield (organization, cluster.ref.name, name), _decide_plugin(self._prepared, self._sharing, case)


class _Case(Struct, frozen=True, eq=False, gc=False):
    """One plugin that is to be decided: whose it is, where, what reaches it, and what its names stand for."""

    owner: Owner
    cluster: Cluster
    name: str
    groups: tuple[Group, ...]
    overrides: tuple[Override, ...]
    frame: Frame | None


def _decide_plugin(prepared: Prepared, sharing: Sharing, case: _Case) -> PluginDecision:
    """What a plugin gets: the wanted revision or, where gates keep it from that, the one that runs."""
    owner, cluster = case.owner, case.cluster
    choice = prepared.choices[owner]
    chosen = choice.revision if isinstance(choice, Choice) else choice
    wanted = _decide_revision(prepared, sharing, case, chosen)
    if not prepared.snapshot.running:
        return wanted
    key = (cluster.ref.organization, cluster.ref.name, case.name)
    version, comparable = prepared.snapshot.running.get(key), prepared.running_version(owner, key)
    if version is None or comparable is None:
        return structs.replace(wanted, running=version) if version is not None else wanted
    running = prepared.known(owner).get(version)
    if running is not None and running is chosen:
        return structs.replace(wanted, running=version)
    gates = _gates_of_upgrade(prepared, owner, cluster, version, running, wanted)
    wanted = structs.replace(wanted, gates=gates, running=version)
    if not gates or running is None:
        # What runs may be known by its version alone: there is then nothing to keep, and the gates stand.
        return wanted
    kept = _decide_revision(prepared, sharing, case, running)
    return structs.replace(kept, running=version, upgrade=wanted)


def _gates_of_upgrade(
    prepared: Prepared,
    owner: Owner,
    cluster: Cluster,
    version: str,
    running: Revision | None,
    wanted: PluginDecision,
) -> tuple[Gate, ...]:
    """Every validity gate between the version that runs and what is wanted."""
    revision = wanted.target.revision
    if revision is None:
        return wanted.gates
    known: set[str] = set()
    if running is not None:
        known = {each.item.text for each in wanted.skipped if prepared.route(running, each.item.steps) is not None}
    return (
        *wanted.gates,
        *removed_option_gates(wanted.skipped, known),
        *upgrade_gates(owner, cluster, prepared.step(version, revision)),
    )


def _decide_revision(prepared: Prepared, sharing: Sharing, case: _Case, revision: Revision | Gate) -> PluginDecision:
    owner, cluster = case.owner, case.cluster
    instance, items = _own_items(prepared, owner, cluster, case.name)
    holder = instance if instance is not None and instance.spec.configs else None
    shared = sharing.shared(owner, revision, case.groups, case.overrides, holder)
    target = prepared.target(owner, revision)
    if holder is not None and isinstance(revision, Revision):
        items = _with_configs(items, sharing.configs(owner, revision, case.groups, holder)[1])
    own: tuple[OptionDecision, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    gates = shared.gates
    if target.revision is not None and (items or shared.dynamic):
        own, skipped = _decide_own(sharing, case, target.revision, shared, items)
        gates = gates_with_own(shared.gates, own, prepared.hints(target.revision))
    if case.frame is None:
        return PluginDecision(case.name, cluster, target, instance, shared, own, skipped, gates)
    missing = _missing(case, shared, own)
    gates += tuple([gate_of(each) for each in missing if each.gate in VALIDITY_GATES])
    return PluginDecision(case.name, cluster, target, instance, shared, own, skipped, gates, missing=missing)


def _missing(case: _Case, shared: Shared, own: tuple[OptionDecision, ...]) -> tuple[Missing, ...]:
    """The names that stand for nothing here, each told once: those that are bound, and others that are mentioned."""
    frame, program = case.frame, case.owner.program
    assert frame is not None
    assert program is not None
    found: list[Missing] = [each for each in frame.values if each.__class__ is Missing and each.gate]
    found += [each for make in program.loose if (each := make(frame)).__class__ is Missing and each.gate]
    if shared.unbound:
        own_names = {each.slot.name for each in own}
        unbound = [each for each in shared.unbound if each.slot.name not in own_names]
        found += [each.missing for each in unbound if each.missing is not None]
    found += [each.missing for each in own if each.missing is not None]
    return tuple({(each.gate, each.message): each for each in found}.values()) if found else ()


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


def _with_configs(items: tuple[Item, ...], said: list[Said]) -> tuple[Item, ...]:
    """A cluster's own items, with what its own configs say right below its own values."""
    below = [each for each in items if each.layer.name != "instance"]
    above = [each for each in items if each.layer.name == "instance"]
    return (*below, *at_place(said, 3), *above)


def _decide_own(
    sharing: Sharing, case: _Case, revision: Revision, shared: Shared, items: tuple[Item, ...]
) -> tuple[tuple[OptionDecision, ...], tuple[Skipped, ...]]:
    """The options that this cluster's own items, expressions or names touch."""
    owner = case.owner
    touched: dict[str, list[Entry]] = {each.slot.name: [] for each in shared.dynamic}
    skipped = sharing.route(revision, items, touched, owner.passes_undeclared)
    value_of: ValueOf = written_value
    valuing: Valuing | None = None
    if owner.program is not None or shared.dynamic or any(item.expression is not None for item in items):
        binder = sharing.binders.of(owner)
        value_of = valuing = Valuing(binder, case.frame, case.cluster, owner.definition, revision.version)
    positions = sharing.positions(shared)
    told = {each.item for each in shared.skipped}
    own = []
    for name, entries in touched.items():
        position = positions.get(name)
        outline = shared.options[position].outline if position is not None and not entries else None
        if outline is not None:
            own.append(filled_outline(outline, value_of))
            continue
        if valuing is not None and owner.program is not None:
            settled = shared.options[position] if position is not None else None
            # What is the same on every cluster is told there.
            varying = (*settled.below, *settled.above) if settled is not None and settled.decision is None else ()
            left_out = [item for item, _ in (*entries, *varying) if valuing.is_left_out(item)]
            skipped += [Skipped(item, "left-out") for item in left_out if item not in told]
            entries = valuing.spoken(entries)
        if position is not None:
            own.append(_decide_here(shared.options[position], entries, value_of, valuing))
        elif entries:
            own.append(decide_option(Slot(name, entries[0][0].steps, None), entries, value_of))
    return tuple(own), tuple(skipped)


def _decide_here(settled: Settled, own: list[Entry], value_of: ValueOf, valuing: Valuing | None) -> OptionDecision:
    """An option on a cluster that has items of its own for it, or where the shared ones differ from elsewhere."""
    if own and settled.decision is not None:
        return decide_with_own(settled, own, value_of)
    entries = (*settled.below, *own, *settled.above)
    return decide_option(settled.slot, valuing.spoken(entries) if valuing is not None else entries, value_of)
