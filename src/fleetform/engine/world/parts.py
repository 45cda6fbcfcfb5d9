"""Parts: an owner, or a group of it that moves by itself, and the plugins of each.

An owner is a preset or a Plugin made by hand; a group with a policy of its own is an owner for itself, named
`<preset>/<group>`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from fleetform.engine.decisions import Decisions
from fleetform.engine.index.differences import changed_keys
from fleetform.model.kinds.preset import PresetGroup
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginDecision, PluginKey


class Part(NamedTuple):
    """An owner, or a group of it that moves by itself."""

    owner: Object[Any]
    group: PresetGroup | None

    @property
    def ref(self) -> Ref:
        ref = self.owner.ref
        return ref if self.group is None else ref._replace(name=f"{ref.name}/{self.group.name}")


PartPlugins = tuple[Part, dict[PluginKey, PluginDecision]]
_NO_PART: tuple[None, dict[PluginKey, PluginDecision]] = (None, {})


def plugins_by_part(decisions: Decisions) -> dict[Ref, PartPlugins]:
    """Plugins by their owner, or by the group of it that moves by itself, in order of clusters."""
    groups = MovingGroups(decisions)
    by_owner: dict[Object[Any], dict[PluginKey, PluginDecision]] = {}
    for here in decisions.clusters.values():
        for plugin in here.plugins.values():
            owner = plugin.target.owner
            known = by_owner.get(owner)
            if known is None:
                known = by_owner[owner] = {}
            known[plugin.key] = plugin
        for claim in here.claims:
            # What another owner keeps is told of those that lose it, unless the name alone is what they want.
            if claim.candidate.name not in here.plugins:
                by_owner.setdefault(claim.candidate.target.owner, {})[claim.plugin.key] = claim.plugin
    found: dict[Ref, PartPlugins] = {}
    for owner, plugins in by_owner.items():
        if not groups.has_any(owner):
            found[owner.ref] = Part(owner, None), plugins
            continue
        for key, plugin in plugins.items():
            part = Part(owner, groups.of(owner, plugin.cluster.ref.name))
            found.setdefault(part.ref, (part, {}))[1][key] = plugin
    return dict(sorted(found.items(), key=lambda pair: (pair[0].organization, pair[0].name, pair[0].kind)))


class Again(NamedTuple):
    """Plugins by part, the keys of those that are decided anew, and the owners that this may reach."""

    plugins: dict[Ref, PartPlugins]
    anew: list[PluginKey]
    touched: set[Object[Any]]


class _Anew(NamedTuple):
    """An owner's plugins in the pass before, and those that are decided anew."""

    before: Mapping[PluginKey, PluginDecision]
    anew: dict[PluginKey, PluginDecision]


def plugins_again(
    decisions: Decisions, earlier: Decisions, known: Mapping[Ref, PartPlugins], moved: Collection[Ref]
) -> Again | None:
    """Plugins by part, made from those of the pass before if only some clusters are decided anew.

    None if it is not that simple: owners that come, go or have groups, clusters that come or go.
    """
    now: dict[Object[Any], _Anew] = {}
    touched: set[Object[Any]] = set()
    somebody_waits = _has_dependents(decisions)
    for cluster in moved:
        here, then = decisions.clusters.get(cluster), earlier.clusters.get(cluster)
        if here is None or then is None or here.claims or then.claims:
            return None
        for name in changed_keys(here.plugins, then.plugins):
            plugin = here.plugins.get(name)
            if plugin is None or name not in then.plugins:
                return None
            owner, key = plugin.target.owner, plugin.key
            if owner not in now:
                part, plugins = known.get(owner.ref, _NO_PART)
                if part is None or part.owner is not owner or part.group is not None:
                    return None
                now[owner] = _Anew(plugins, {})
            before, anew = now[owner]
            if key not in before:
                return None
            anew[key] = plugin
        if somebody_waits:
            # What is beside them may be another.
            touched.update(each.target.owner for each in here.plugins.values() if has_dependencies(each))
    found = dict(known)
    for owner, (before, anew) in now.items():
        found[owner.ref] = found[owner.ref][0], {**before, **anew}
    return Again(found, [key for each in now.values() for key in each.anew], touched.union(now))


def _has_dependents(decisions: Decisions) -> bool:
    """Whether any plugin may wait for others."""
    snapshot = decisions.index.snapshot
    owners = (*snapshot.presets.values(), *snapshot.plugins.values())
    definitions = (*snapshot.definitions.values(), *snapshot.retired.values())
    return any(each.spec.wait_for for each in owners) or any(each.spec.depends_on for each in definitions)


def has_dependencies(plugin: PluginDecision) -> bool:
    revision = (plugin.upgrade or plugin).target.revision
    return bool(plugin.target.owner.spec.wait_for or (revision is not None and revision.object.spec.depends_on))


class MovingGroups:
    """Groups of presets that have a policy or a strategy of their own, and the clusters in them."""

    def __init__(self, decisions: Decisions) -> None:
        self._index = decisions.index
        self._groups: dict[Object[Any], dict[str, PresetGroup]] = {}

    def has_any(self, owner: Object[Any]) -> bool:
        groups: list[PresetGroup] = getattr(owner.spec, "groups", None) or []
        return any(each.rollout is not None or each.rollout_strategy is not None for each in groups)

    def of(self, owner: Object[Any], cluster: str) -> PresetGroup | None:
        """The group that an owner's plugin moves with: of several the last, as for all that groups say (S1, R1-17)."""
        if owner not in self._groups:
            self._groups[owner] = self._clusters(owner)
        return self._groups[owner].get(cluster)

    def _clusters(self, owner: Object[Any]) -> dict[str, PresetGroup]:
        compiled = self._index.owners[owner]
        selection = self._index.selection(owner.ref.organization)
        written = {each.name: each for each in owner.spec.groups or ()}
        found: dict[str, PresetGroup] = {}
        for group in compiled.groups:
            moves = written[group.name]
            by_itself = moves.rollout is not None or moves.rollout_strategy is not None
            for cluster in selection.clusters_in(compiled, group):
                if by_itself:
                    found[cluster.ref.name] = moves
                elif compiled.placed_by_groups:
                    found.pop(cluster.ref.name, None)
        return found
