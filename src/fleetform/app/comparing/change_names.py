"""The names of a change: as a whole, and for each owner as plans, rollouts and approvals call it (B3b, B27)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from fleetform.app.comparing.plugin_changes import PluginChange
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.plan.rollouts import rollout_name
from fleetform.engine.world.contents import (
    NOT_PART_OF_A_CHANGE,
    ContentHashes,
    change_id,
    content_with_annotations,
    identity_text,
    name_of,
    name_of_removal,
)
from fleetform.engine.world.hashes import unknown_hash
from fleetform.engine.world.made_of import objects_of
from fleetform.engine.world.parts import MovingGroups, Part, PartPlugins, plugins_by_part
from fleetform.engine.world.stored import Contents
from fleetform.model.objects import AnyObject, Ref
from fleetform.model.results.decisions import PluginKey


class OwnerChange(NamedTuple):
    """A change of one owner: the name of the rollout that brings it, and of the change."""

    owner: Ref
    rollout: str
    change_id: str


def whole_change(before: Fleet, after: Fleet, scope: Scope) -> str:
    """A name for all that differs: the same objects changed in the same way have the same one. Secrets do not count.

    It is that of an owner's change if all the objects that differ reach that owner.
    """
    # What both have is no part of a change.
    shared = set(before.snapshot.objects) & set(after.snapshot.objects)
    old, new = _contents(before, scope, shared), _contents(after, scope, shared)
    return name_of((key, new.get(key)) for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key))


def _contents(fleet: Fleet, scope: Scope, left_out: Collection[AnyObject]) -> dict[str, str]:
    """The content of every object that may make a difference: all that bindings may read, annotations included."""
    organizations = set(fleet.organizations)
    found = {}
    for each in fleet.snapshot.objects:
        if each in left_out:
            continue
        # A namespace of no organization may be a module's own.
        in_scope = scope.offers(each.ref) or each.ref.organization not in organizations
        if in_scope and each.ref.kind not in NOT_PART_OF_A_CHANGE:
            found[identity_text(each)] = content_with_annotations(each)
    return found


def owner_changes(before: Fleet, after: Fleet, changes: list[PluginChange]) -> list[OwnerChange]:
    """The changes of owners, by owner. What an owner last admitted is what a state says and, if none does, FROM."""
    if not changes:
        return []
    groups = MovingGroups(after.decisions)
    by_owner: dict[Ref, list[PluginChange]] = {}
    for each in changes:
        owner = each.either.target.owner
        moves_by_group = each.after is not None and groups.has_any(owner)
        part = Part(owner, groups.of(owner, each.either.cluster.ref.name) if moves_by_group else None)
        by_owner.setdefault(part.ref, []).append(each)
    names = _Names(before, after)
    return [names.of(ref, by_owner[ref]) for ref in sorted(by_owner)]


class _Names:
    """Names the changes of owners from one side to another."""

    def __init__(self, before: Fleet, after: Fleet) -> None:
        self._before, self._after = before, after
        self._then, self._now = (plugins_by_part(each.decisions) for each in (before, after))
        self._hashes_then, self._hashes = (ContentHashes(each.snapshot) for each in (before, after))

    def of(self, owner: Ref, changes: list[PluginChange]) -> OwnerChange:
        stored = self._after.state.rollouts
        rollouts = stored.rollouts.get(owner, ())
        known = stored.admitted.get(owner)
        admitted = known.objects if known is not None else self._contents(self._before, self._then, owner)
        if owner not in self._now:
            snapshot = self._after.snapshot
            object_: AnyObject | None = snapshot.presets.get(owner) or snapshot.plugins.get(owner)
            now = self._hashes.of(object_) if object_ is not None else None
            name = name_of_removal(owner, now, admitted)
            return OwnerChange(owner, rollout_name(owner.name, name), name)
        contents = self._contents(self._after, self._now, owner)
        name = change_id(self._hashes, admitted, contents, rollouts, lambda: self._differing(changes))
        last = rollouts[-1] if rollouts else None
        if last is not None and last.is_open and last.change_id == name:
            return OwnerChange(owner, last.name, name)
        return OwnerChange(owner, rollout_name(owner.name, name, frozenset(each.name for each in rollouts)), name)

    def _contents(self, fleet: Fleet, parts: Mapping[Ref, PartPlugins], owner: Ref) -> Contents:
        """What the plugins of an owner are made of on one side; those that are new there make no other change."""
        if owner not in parts:
            return {}
        part, plugins = parts[owner][0], list(parts[owner][1].values())
        hashes, installed = self._hashes_then, plugins
        if fleet is self._after:
            hashes, installed = self._hashes, [each for each in plugins if self._is_installed(each.key)]
        return hashes.contents(objects_of(fleet.decisions, fleet.inputs, part.owner, installed or plugins))

    def _is_installed(self, key: PluginKey) -> bool:
        if self._after.state.plugin(Ref("Cluster", *key[:2]), key[2]).admitted is not None:
            return True
        there = self._before.decisions.clusters.get(Ref("Cluster", *key[:2]))
        return there is not None and key[2] in there.plugins

    def _differing(self, changes: list[PluginChange]) -> Iterator[tuple[PluginKey, str]]:
        for change in changes:
            if change.before is not None and change.after is not None:
                plugin = change.after.upgrade or change.after
                yield plugin.key, self._after.inputs.hash(plugin) or unknown_hash(plugin.key, plugin.version)
