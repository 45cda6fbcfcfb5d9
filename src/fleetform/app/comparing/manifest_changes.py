"""diff --render: what a change does to the objects that plugins become (R2-7)."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

from fleetform.app.answering.masks import masked
from fleetform.app.comparing.plugin_changes import PluginChange
from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import PluginRender, render_plugins
from fleetform.model.answers.base import JsonMap
from fleetform.model.answers.diff import ChangedManifest, PatchOperation
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.rendering import Renders
from fleetform.syntax.addresses import with_masked_logins
from fleetform.syntax.names import api_group, object_label, object_name
from fleetform.syntax.tree_diff import patch_between
from fleetform.syntax.yaml_out import write_yaml

Identity = tuple[str, str, str, str]


class ManifestChanges:
    """The objects of both sides of changes, and what differs between them."""

    def __init__(self, before: Fleet, after: Fleet, changes: Sequence[PluginChange], renders: Renders) -> None:
        self._old = _rendered(before, [each.before for each in changes], renders)
        self._new = _rendered(after, [each.after for each in changes], renders)

    def of(self, change: PluginChange) -> list[ChangedManifest]:
        """The objects that come, go or change, each with its patch; nothing where a side cannot be rendered."""
        old, new = self._side(self._old, change.before), self._side(self._new, change.after)
        if old is None or new is None:
            return []
        found = []
        for identity in [*old, *(each for each in new if each not in old)]:
            one, other = old.get(identity), new.get(identity)
            if one is None:
                patch = [PatchOperation(op="add", path="", value=masked(other))]
            elif other is None:
                patch = [PatchOperation(op="remove", path="")]
            else:
                patch = [PatchOperation(**masked(each)) for each in patch_between(one, other)]
            if patch:
                label = object_label(new.get(identity) or old[identity])
                found.append(ChangedManifest(object=label, patch=patch, unified=_unified(one, other, label)))
        return found

    def _side(self, rendered: dict[int, PluginRender], plugin: PluginDecision | None) -> dict[Identity, JsonMap] | None:
        if plugin is None:
            return {}
        found = rendered[id(plugin)]
        return {identity_of(tree): tree for tree in found.objects} if not found.blocked else None

    def findings(self) -> list[Diagnostic]:
        """What could not be rendered: the difference is not known there."""
        found: dict[tuple[Object[object], str], Diagnostic] = {}
        for each in (*self._old.values(), *self._new.values()):
            for gate in each.blocked:
                owner = each.plugin.target.owner
                on = each.plugin.cluster.ref.name
                message = f"{each.plugin.target.definition} on {on} cannot be rendered, and is not compared: "
                key = (owner, gate.message)
                at = gate.at or owner.at()
                found.setdefault(
                    key, Diagnostic("render-failed", message + gate.message, gate.do, "warning", owner.ref, at)
                )
        return list(found.values())


def _unified(one: JsonMap | None, other: JsonMap | None, label: str) -> str:
    """The difference of two objects as lines of YAML with a few around them, as git shows it."""
    before, after = (write_yaml(tree).splitlines() if tree is not None else [] for tree in (one, other))
    names = ("/dev/null" if one is None else f"a/{label}", "/dev/null" if other is None else f"b/{label}")
    return with_masked_logins("\n".join(unified_diff(before, after, *names, lineterm="")))


def _rendered(fleet: Fleet, plugins: Sequence[PluginDecision | None], renders: Renders) -> dict[int, PluginRender]:
    there = [each for each in plugins if each is not None]
    # What waits for somebody's consent is exactly what one wants to look at before.
    return {id(each.plugin): each for each in render_plugins(fleet, there, renders, despite_gates=True)}


def identity_of(tree: JsonMap) -> Identity:
    metadata = tree.get("metadata") or {}
    namespace = str(metadata.get("namespace") or "")
    return api_group(str(tree.get("apiVersion"))), str(tree.get("kind")), namespace, object_name(tree)
