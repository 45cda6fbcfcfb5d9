"""Again: what of the last pass a change can reach. What it leaves out stays as it was decided then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fleetform.engine.bindings.compile import Program
from fleetform.engine.configs.references import default_references, instance_configs
from fleetform.engine.index.homes import last_placements
from fleetform.engine.index.layers import Group, Owner
from fleetform.engine.index.prepare import Cluster, Prepared, differing
from fleetform.engine.versions.choose import Choice
from fleetform.model.kinds.definition import ObjectFieldRef
from fleetform.model.objects import Object, Ref
from fleetform.model.results.configs import ConfigReference, Identity
from fleetform.model.results.decisions import Decisions, Gate, PluginDecision, Revision
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.selectors import any_matches
from fleetform.syntax.trees import same_value
from fleetform.syntax.variables import mentions
from fleetform.syntax.versions import parse_version

# What earlier passes left behind; a change of it may concern every plugin.
_PAST = ("running", "installed", "retired", "recorded", "found", "healthy")


def changed_owners(prepared: Prepared, before: Prepared, previous: Decisions) -> set[Object[Any]]:
    """Presets and plugins that changed, or for which a definition, a policy or what runs makes a difference."""
    now, then = prepared.snapshot, before.snapshot
    if any(getattr(now, past) != getattr(then, past) for past in _PAST):
        return {*prepared.owners, *before.owners}
    changed: set[Object[Any]] = {*differing(now.presets, then.presets), *differing(now.plugins, then.plugins)}
    beside = {(each.ref.organization, each.spec.preset_ref.name) for each in changed if _preset_of(each) is not None}
    definitions = _DefinitionChanges(prepared, before, previous)
    moved = _placements_moved(prepared, before)
    for object_, owner in prepared.owners.items():
        if object_ in before.owners and (
            (object_.ref.organization, object_.ref.name) in beside or definitions.reach(owner) or moved(owner)
        ):
            changed.add(object_)
    return changed | _bound_otherwise(prepared, before, changed)


def _bound_otherwise(prepared: Prepared, before: Prepared, changed: set[Object[Any]]) -> set[Object[Any]]:
    """Owners that read a field of an object which is another one now, or an output of an owner that changed (R3-8)."""
    binding = {object_: owner.program for object_, owner in prepared.owners.items() if owner.program is not None}
    if not binding:
        return set()
    changes = _Changes(prepared.snapshot, before.snapshot)
    found = {object_ for object_, program in binding.items() if changes.reach(program, program.references)}
    waiting = {object_: set(program.producers) for object_, program in binding.items() if program.producers}
    offering = {each for producers in waiting.values() for each in producers}
    for object_, owner in prepared.owners.items():
        if owner.definition in offering and changes.reach_outputs(prepared, owner):
            found.add(object_)
    # Outputs may be made of outputs; and any version may be the one that was healthy last.
    edited = {each.ref.name for each in differing(prepared.snapshot.definitions, before.snapshot.definitions)}
    reached = changed | found
    while True:
        definitions = {owner.definition for owners in (prepared, before) for owner in _of_objects(owners, reached)}
        definitions |= edited
        more = {object_ for object_, producers in waiting.items() if producers & definitions} - reached
        if not more:
            return reached - changed
        reached |= more


def _of_objects(prepared: Prepared, objects: set[Object[Any]]) -> Iterator[Owner]:
    return (prepared.owners[each] for each in objects if each in prepared.owners)


class _Changes:
    """What came, went or is another object now: names by namespace and kind."""

    def __init__(self, now: Snapshot, then: Snapshot) -> None:
        self._clusters = _named(differing(now.clusters, then.clusters))
        fields = ("organizations", "definitions", "presets", "plugins", "overrides", "others")
        self._others = _named(each for field in fields for each in differing(getattr(now, field), getattr(then, field)))

    def reach(self, program: Program, references: Iterable[ObjectFieldRef]) -> bool:
        """Whether references may read what changed; each cluster's own object is looked at with its cluster."""
        if not self._clusters and not self._others:
            return False
        return any(self._may_be_read(program, each) for each in references)

    def reach_outputs(self, prepared: Prepared, owner: Owner) -> bool:
        """Whether outputs of an owner's definition may read what changed."""
        outputs = [each for one in prepared.known(owner).values() for each in one.object.spec.outputs or ()]
        references = [each.object_field_ref for each in outputs if each.object_field_ref is not None]
        return bool(references) and self.reach(owner.program or Program(owner.object), references)

    def _may_be_read(self, program: Program, ref: ObjectFieldRef) -> bool:
        if mentions(ref.kind, dialect=program.dialect):
            return True
        own = ref.kind == "Cluster" and ref.name == "$(CLUSTER_NAME)"
        computed = bool(mentions(ref.name, dialect=program.dialect))
        for home in program.homes:
            names = self._others.get((home, ref.kind), set())
            names = names if own else names | self._clusters.get((home, ref.kind), set())
            if names and (computed or ref.name in names):
                return True
        return False


def _named(objects: Iterable[Object[Any]]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for each in objects:
        found.setdefault((each.ref.organization, each.ref.kind), set()).add(each.ref.name)
    return found


def clusters_read_anew(now: Snapshot, then: Snapshot) -> set[Cluster]:
    """Clusters on which something else was read for a plugin (B16)."""
    if now.observed is then.observed:
        return set()
    keys = {
        key
        for key in now.observed.keys() | then.observed.keys()
        # true is not 1.
        if not same_value(dict(now.observed.get(key, {})), dict(then.observed.get(key, {})))
    }
    refs = {Ref("Cluster", organization, cluster) for organization, cluster, _ in keys}
    return {now.clusters[ref] for ref in refs if ref in now.clusters}


def _placements_moved(prepared: Prepared, before: Prepared) -> Callable[[Owner], bool]:
    """Whether a placement that an owner names chooses other clusters now."""

    def moved(owner: Owner) -> bool:
        names = {name for name in (owner.placement, *(each.placement for each in owner.groups)) if name is not None}
        home = owner.object.ref.organization
        return prepared.placements is not before.placements and any(
            prepared.placements.members(home, name) != before.placements.members(home, name) for name in names
        )

    return moved


def reached_by_changed_configs(prepared: Prepared, before: Prepared) -> dict[Owner, set[Cluster] | None]:
    """Where configs count that came, went or changed: on some of an owner's clusters, or on all (None)."""
    now, then = prepared.snapshot.others, before.snapshot.others
    changed = prepared.configs.changed_since(before.configs) if now is not then else set()
    if not changed:
        return {}
    found: dict[Owner, set[Cluster] | None] = {}
    for owner in prepared.owners.values():
        named = {each.identity for each in owner.configs} | _default_configs(prepared, owner)
        if named & changed:
            found[owner] = None
            continue
        clusters = {
            each for group in owner.groups if _names(group.configs, changed) for each in _of(prepared, owner, group)
        }
        clusters.update(_holders(prepared, owner, changed))
        if clusters:
            found[owner] = clusters
    return found


def _names(configs: Iterable[ConfigReference], changed: set[Identity]) -> bool:
    return any(each.identity in changed for each in configs)


def _default_configs(prepared: Prepared, owner: Owner) -> set[Identity]:
    return {each.identity for one in prepared.known(owner).values() for each in default_references(one.object)}


def _of(prepared: Prepared, owner: Owner, group: Group) -> Iterable[Cluster]:
    """The clusters of a group, as far as they are the owner's to choose from."""
    organization = owner.object.ref.organization
    if owner.groups_are_homes:
        return [cluster for cluster, groups in last_placements(prepared, owner).items() if groups == (group,)]
    if group.placement is not None:
        return prepared.placements.members(organization, group.placement)
    candidates = prepared.clusters.get(organization, ())
    return [each for each in candidates if any_matches(group.matchers, each.ref.name, each.labels)]


def _holders(prepared: Prepared, owner: Owner, changed: set[Identity]) -> Iterator[Cluster]:
    """The clusters whose own Plugin names a config that changed."""
    home = owner.object.ref
    for plugin in prepared.instances_of.get((home.organization, home.name), ()):
        cluster = prepared.cluster_of(plugin) if _names(instance_configs(plugin), changed) else None
        if cluster is not None:
            yield cluster


def _preset_of(object_: Object[Any]) -> Any:
    return object_.spec.preset_ref if object_.ref.kind == "Plugin" else None


class _DefinitionChanges:
    """Which owners the definitions that came, went or changed make a difference to."""

    def __init__(self, prepared: Prepared, before: Prepared, previous: Decisions) -> None:
        self._now, self._then = prepared, before
        self._changed: dict[str, list[Revision]] = {}
        for object_ in differing(prepared.snapshot.definitions, before.snapshot.definitions):
            revision = prepared.revision_of.get(object_) or before.revision_of.get(object_)
            if revision is not None:
                self._changed.setdefault(object_.ref.name, []).append(revision)
        self._plugins: dict[Object[Any], list[PluginDecision]] = {}
        for plugin in previous.plugins.values() if self._changed else ():
            if plugin.target.definition in self._changed:
                self._plugins.setdefault(plugin.target.owner, []).append(plugin)

    def reach(self, owner: Owner) -> bool:
        now = self._now.choices[owner]
        if not _same_choice(now, self._then.choices[owner]):
            return True
        changed = self._changed.get(owner.definition)
        if not changed:
            return False
        plugins = self._plugins.get(owner.object, [])
        if isinstance(now, Gate) or self._shows_other_secrets(now.revision, plugins):
            return True
        return any(_makes_a_difference(each, now.revision, plugins) for each in changed)

    def _shows_other_secrets(self, chosen: Revision, plugins: list[PluginDecision]) -> bool:
        """Whether other options are secret now, for the revision that is wanted or for one that is kept."""
        kept = {plugin.target.revision for plugin in plugins} - {None}
        return any(
            self._now.secret_forms(each) != self._then.secret_forms(each)
            for each in (chosen, *kept)
            if each is not None
        )


def _same_choice(one: Choice | Gate, other: Choice | Gate) -> bool:
    if isinstance(one, Choice) and isinstance(other, Choice):
        return one.revision is other.revision and one.forced == other.forced
    if isinstance(one, Gate) and isinstance(other, Gate):
        return (one.gate, one.message, one.do) == (other.gate, other.message, other.do)
    return False


def _makes_a_difference(changed: Revision, chosen: Revision, plugins: Iterable[PluginDecision]) -> bool:
    """Whether a revision that is not the chosen one says anything about plugins that want the chosen one."""
    version, top = parse_version(changed.version), parse_version(chosen.version)
    changes = changed.object.spec.changes
    if version <= top and changes is not None and changes.migrations:
        return True
    for running in {plugin.running for plugin in plugins} - {None}:
        ends = sorted((parse_version(str(running)), top))
        if ends[0] <= version <= ends[1]:
            return True
    return any(changed.find(each.item.steps) is not None for plugin in plugins for each in _skipped(plugin))


def _skipped(plugin: PluginDecision) -> Iterator[Any]:
    yield from plugin.skipped
    if plugin.upgrade is not None:
        yield from plugin.upgrade.skipped


def reached_by_changed_overrides(prepared: Prepared, before: Prepared) -> tuple[set[Cluster], dict[str, set[Cluster]]]:
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
