"""What errors can touch, and what they cannot: a broken object stops no other question (S64)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.layers.owners import Owner
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import ClusterSelector, ClusterSelectors
from fleetform.model.objects import At, Origin, Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.selectors import Matchers, SelectorError, any_matches, compile_clusters
from fleetform.syntax.trees import as_list, as_map

# They say when something may start, and nothing about what runs.
_ONLY_TIMING = ("Approval", "PluginDefinitionRevision", "PluginState", "Rollout", "RolloutPolicy", "UpdateWindow")
_OWNERS = ("PluginPreset", "Plugin")
_Wanted = Callable[[Owner], bool]


class Reach(NamedTuple):
    """Plugins that an error may concern: those for which all of this holds. None is any."""

    organization: str | None = None
    matchers: Matchers | None = None
    definitions: frozenset[str] | None = None
    owners: frozenset[Ref] | None = None

    def covers(self, cluster: Ref, labels: Mapping[str, str]) -> bool:
        """Whether it may concern something on a cluster."""
        if self.organization not in (None, cluster.organization):
            return False
        return self.matchers is None or any_matches(self.matchers, cluster.name, labels)

    def touches(self, plugin: PluginDecision) -> bool:
        if not self.covers(plugin.cluster.ref, plugin.cluster.labels):
            return False
        if self.definitions is not None and plugin.target.definition not in self.definitions:
            return False
        return self.owners is None or plugin.target.owner.ref in self.owners


class Broken:
    """Errors of a fleet, each with the plugins that it may concern."""

    def __init__(self, fleet: Fleet, errors: Iterable[Diagnostic]) -> None:
        self._fleet = fleet
        self._reaches = [(error, tuple(self._reach(error))) for error in errors]

    def touching(self, plugin: PluginDecision) -> list[Diagnostic]:
        """The errors that may concern a plugin."""
        return [error for error, found in self._reaches if any(each.touches(plugin) for each in found)]

    def touching_any(self, plugins: Iterable[PluginDecision]) -> list[Diagnostic]:
        """The errors that may concern one of some plugins."""
        there = list(plugins)
        return [error for error, found in self._reaches if any(each.touches(one) for one in there for each in found)]

    def reaching(self, scope: Scope) -> list[Diagnostic]:
        """The errors that may concern a plugin, there or missing, of a part of the fleet."""
        clusters = self._fleet.snapshot.clusters.values()
        held = [each for each in clusters if scope.holds_cluster(each.ref, each.labels)]
        if not held and not scope.narrowed:
            # Without a cluster, or with one that cannot be read, all that is known is the organization.
            homes = {None, scope.organization}
            return [
                error
                for error, found in self._reaches
                if scope.organization is None or any(each.organization in homes for each in found)
            ]
        return [
            error
            for error, found in self._reaches
            if any(each.covers(cluster.ref, cluster.labels) for cluster in held for each in found)
        ]

    def of_kinds(self, scope: Scope, kinds: Iterable[str]) -> list[Diagnostic]:
        """The errors of objects of some kinds, and of texts, which may hold any."""
        wanted = set(kinds)
        return [
            error
            for error, _ in self._reaches
            if error.object is None or (error.object.kind in wanted and scope.offers(error.object))
        ]

    @cached_property
    def touched(self) -> frozenset[Ref]:
        """The objects that a plugin which an error may concern is made of, and those with errors themselves."""
        found = {error.object for error, _ in self._reaches if error.object is not None}
        for plugin in self._plugins:
            found |= {plugin.target.owner.ref, plugin.cluster.ref, *(each.ref for each in plugin.shared.overrides)}
            found |= {plugin.target.revision.object.ref} if plugin.target.revision is not None else set()
        return frozenset(found)

    @cached_property
    def _plugins(self) -> list[PluginDecision]:
        reaches = {each for _, found in self._reaches for each in found}
        plugins = self._fleet.decisions.plugins.values()
        return [plugin for plugin in plugins if any(each.touches(plugin) for each in reaches)]

    # ---- What an object reaches

    def _reach(self, error: Diagnostic) -> Iterator[Reach]:
        ref = error.object
        if ref is None:
            yield Reach()
            return
        home = None if ref.organization == PLATFORM_NAMESPACE else ref.organization
        spec = as_map(self._tree(error).get("spec"))
        if ref.kind in _ONLY_TIMING:
            return
        if ref.kind == "Cluster" and ref.name:
            only = compile_clusters(ClusterSelector(cluster_names=[ref.name]))
            yield Reach(home, matchers=only)
            yield Reach(home, owners=self._owners(home, lambda owner: bool(owner.placements)))
        elif ref.kind == "PluginDefinition" and ref.name:
            yield Reach(home, owners=self._owners(home, lambda owner: self._wants(owner, ref)))
        elif ref.kind == "Placement" and ref.name:
            yield Reach(home, owners=self._owners(home, lambda owner: ref.name in owner.placements))
        elif ref.kind == "PluginOverride":
            names = [each for each in as_list(spec.get("pluginDefinitionNames")) if isinstance(each, str)]
            definitions = frozenset(names) if names else None
            yield Reach(home, _matchers(spec.get("clusterSelector")), definitions)
        elif ref.kind in _OWNERS and ref.name:
            yield from self._reach_of_owner(ref, spec)
        else:
            yield Reach(home)

    def _reach_of_owner(self, ref: Ref, spec: JsonMap) -> Iterator[Reach]:
        """Its own plugins, and those of others that want the same release, or outputs of the same definition."""
        organization, beside = ref.organization, as_map(spec.get("presetRef")).get("name")
        if isinstance(beside, str):
            yield Reach(organization, owners=frozenset((Ref("PluginPreset", organization, beside),)))
            return
        named = {"clusterNames": [spec["clusterName"]]} if "clusterName" in spec else None
        matchers = _matchers(spec.get("clusterSelector") if ref.kind == "PluginPreset" else named)
        yield Reach(organization, matchers, owners=frozenset((ref,)))
        if any(each.ref == ref for each in self._fleet.index.owners):
            # Its release and its definition are known to all others.
            return
        template = as_map(spec.get("plugin")) or spec
        written = template.get("pluginDefinitionRef", template.get("pluginDefinition"))
        definition = written if isinstance(written, str) else as_map(written).get("name")
        release = template.get("releaseName", definition)

        def rivals(owner: Owner) -> bool:
            reads = owner.program is not None and definition in owner.program.producers
            return reads or release in (owner.release_name, owner.definition)

        yield Reach(organization, matchers, owners=self._owners(organization, rivals))

    def _owners(self, home: str | None, wanted: _Wanted) -> frozenset[Ref]:
        owners = self._fleet.index.owners
        return frozenset(
            object_.ref
            for object_, owner in owners.items()
            if home in (None, object_.ref.organization) and wanted(owner)
        )

    def _wants(self, owner: Owner, definition: Ref) -> bool:
        """Whether an owner installs a definition, or reads its outputs; an organization's own hides the platform's."""
        if owner.program is not None and definition.name in owner.program.producers:
            return True
        own = (owner.object.ref.organization, definition.name) in self._fleet.index.definitions.revisions
        hidden = definition.organization == PLATFORM_NAMESPACE and own and not owner.of_platform
        return owner.definition == definition.name and not hidden

    def _tree(self, error: Diagnostic) -> JsonMap:
        """The document that an error is in."""
        if not isinstance(error.at, At):
            return {}
        tree: Json = self._documents.get(error.at.origin)
        return as_map(tree)

    @cached_property
    def _documents(self) -> dict[Origin, Json]:
        return {each.origin: each.tree for each in self._fleet.input.documents}


def _matchers(selector: Json) -> Matchers | None:
    """Which clusters a selector selects; None, which is all, if it cannot be read."""
    if selector is None:
        return None
    try:
        return compile_clusters(msgspec.convert(selector, ClusterSelectors))
    except (msgspec.ValidationError, SelectorError):
        return None
