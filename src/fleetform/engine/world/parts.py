"""Parts: an owner, or a group of it that moves by itself, and the plugins of each.

An owner is a preset or a Plugin made by hand; a group with a policy of its own is an owner for itself, named
`<preset>/<group>`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from fleetform.engine.decisions import Decisions
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


PartPlugins = tuple[Part, list[PluginDecision]]
_NO_PART: tuple[None, list[PluginDecision]] = (None, [])


def plugins_by_part(decisions: Decisions) -> dict[Ref, PartPlugins]:
    """Plugins by their owner, or by the group of it that moves by itself, in order of clusters."""
    groups = MovingGroups(decisions)
    by_owner: dict[Object[Any], list[PluginDecision]] = {}
    for here in decisions.clusters.values():
        for plugin in here.plugins.values():
            owner = plugin.target.owner
            known = by_owner.get(owner)
            if known is None:
                by_owner[owner] = [plugin]
            else:
                known.append(plugin)
        for claim in here.claims:
            # What another owner keeps is told of those that lose it, unless the name alone is what they want.
            if claim.candidate.name not in here.plugins:
                by_owner.setdefault(claim.candidate.target.owner, []).append(claim.plugin)
    found: dict[Ref, PartPlugins] = {}
    for owner, plugins in by_owner.items():
        if not groups.has_any(owner):
            found[owner.ref] = Part(owner, None), plugins
            continue
        for plugin in plugins:
            part = Part(owner, groups.of(plugin))
            found.setdefault(part.ref, (part, []))[1].append(plugin)
    return dict(sorted(found.items(), key=lambda pair: (pair[0].organization, pair[0].name, pair[0].kind)))


def plugins_again(
    decisions: Decisions, before: Decisions, known: Mapping[Ref, PartPlugins], moved: Collection[Ref]
) -> tuple[dict[Ref, PartPlugins], set[Object[Any]]] | None:
    """Plugins by part, made from those of the pass before if only some clusters are decided anew, and the owners that
    this may reach. None if it is not that simple: owners that come, go or have groups, clusters that come or go.
    """
    now: dict[Ref, dict[PluginKey, PluginDecision]] = {}
    touched: set[Object[Any]] = set()
    for cluster in moved:
        here, then = decisions.clusters.get(cluster), before.clusters.get(cluster)
        if here is None or then is None or here.claims or then.claims:
            return None
        earlier = {each.key: each for each in then.plugins.values()}
        if earlier.keys() != {each.key for each in here.plugins.values()}:
            return None
        for plugin in here.plugins.values():
            owner = plugin.target.owner
            if known.get(owner.ref, _NO_PART)[0] != Part(owner, None):
                return None
            if earlier[plugin.key] is not plugin:
                now.setdefault(owner.ref, {})[plugin.key] = plugin
                touched.add(owner)
            elif has_dependencies(plugin):
                # What is beside it may be another.
                touched.add(owner)
    found = dict(known)
    for ref, plugins in now.items():
        part, listed = known[ref]
        if not plugins.keys() <= {each.key for each in listed}:
            return None
        found[ref] = part, [plugins.get(each.key, each) for each in listed]
    return found, touched


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

    def of(self, plugin: PluginDecision) -> PresetGroup | None:
        """The group that a plugin moves with: of several the last, as for all that groups say (S1, R1-17)."""
        owner = plugin.target.owner
        if owner not in self._groups:
            self._groups[owner] = self._clusters(owner)
        return self._groups[owner].get(plugin.cluster.ref.name)

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
