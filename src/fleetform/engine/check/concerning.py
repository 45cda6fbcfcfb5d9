"""Checks of what concerns one plugin, for a question about it alone.

Whatever else is wrong with a fleet does not change the answer, and checking all of it takes longer than the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.check.configs import lint_default_configs
from fleetform.engine.check.decided import lint_claims, lint_gates
from fleetform.engine.check.definitions import lint_definition, lint_dependencies, lint_revisions
from fleetform.engine.check.output_cycles import lint_output_cycles
from fleetform.engine.check.overrides import lint_override
from fleetform.engine.check.owners import lint_plugin, lint_preset
from fleetform.engine.check.policies import lint_other
from fleetform.engine.decisions import Decisions
from fleetform.engine.index.index import Index
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.preset import PluginOverrideSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic


def deciding_objects(plugin: PluginDecision) -> Iterator[Object[object]]:
    """The objects that decide a plugin: its owner, its cluster, overrides, its definition, a Plugin beside a preset."""
    yield plugin.target.owner
    yield plugin.cluster
    yield from plugin.shared.overrides
    if plugin.instance is not None:
        yield plugin.instance
    if plugin.target.revision is not None:
        yield plugin.target.revision.object


def lint_concerning(decisions: Decisions, plugin: PluginDecision, checked: CheckedObjects) -> Iterator[Diagnostic]:
    """What is wrong with the objects that decide a plugin; of others, errors that may have kept them from it.

    checked has what was found for other plugins.
    """
    index, owner = decisions.index, plugin.target.owner
    known = partial(checked.of, decisions)
    refs = {each.ref for each in deciding_objects(plugin)}
    yield from known(("owner", owner, plugin.instance), partial(_lint_owner, index, plugin))
    for override in _overrides_around(index, plugin):
        yield from known(override, partial(lint_override, override, index, index.snapshot.at))
    yield from lint_other(plugin.cluster, index)
    definition = (plugin.organization, plugin.target.definition)
    beside = (
        known(("definition", *definition), partial(_lint_definitions, index, plugin)),
        known(("surroundings", owner), partial(_lint_surroundings, index, plugin)),
        _lint_decided(decisions, plugin),
    )
    yield from (each for found in beside for each in found if each.object in refs or each.severity == "error")


def _lint_owner(index: Index, plugin: PluginDecision) -> Iterator[Diagnostic]:
    refs = {plugin.target.owner.ref} | ({plugin.instance.ref} if plugin.instance is not None else set())
    for ref in sorted(refs):
        if (preset := index.snapshot.presets.get(ref)) is not None:
            yield from lint_preset(preset, index)
        elif (written := index.snapshot.plugins.get(ref)) is not None:
            yield from lint_plugin(written, index)


def _overrides_around(index: Index, plugin: PluginDecision) -> Iterator[Object[PluginOverrideSpec]]:
    """Those that reach the plugin, and those whose selector cannot be read: nobody knows what they reach."""
    reaching = set(plugin.shared.overrides)
    for object_, override in index.overrides.items():
        unread = not override.matchers and object_.spec.cluster_selector is not None
        if object_ in reaching or (unread and object_.ref.organization == plugin.organization):
            yield object_


def _lint_definitions(index: Index, plugin: PluginDecision) -> Iterator[Diagnostic]:
    """All versions of the definition that the plugin's owner names, as its organization is offered them."""
    name, snapshot = plugin.target.definition, index.snapshot
    homes = {Ref("PluginDefinition", home, name) for home in (plugin.organization, PLATFORM_NAMESPACE)}
    for (ref, _), definition in snapshot.definitions.items():
        if ref in homes:
            yield from lint_definition(definition)
            yield from lint_default_configs(definition, index)
    for home in sorted(homes):
        yield from lint_revisions(list(index.definitions.revisions.get((home.organization, name), {}).values()))
    yield from (each for each in lint_dependencies(snapshot.definitions.values()) if each.object in homes)


def _lint_surroundings(index: Index, plugin: PluginDecision) -> Iterator[Diagnostic]:
    """Its organization, policies, catalogs and placements: they choose versions and clusters."""
    snapshot, organization = index.snapshot, plugin.organization
    owner = index.owners[plugin.target.owner]
    refs = [Ref("Placement", organization, name) for name in owner.placements]
    for home in (organization, PLATFORM_NAMESPACE):
        for kind in ("LifecyclePolicy", "Catalog"):
            refs += [Ref(kind, home, name) for name in index.names(kind, home)]
    found = [snapshot.organizations.get(Ref("Organization", organization, organization))]
    found += [snapshot.others.get(ref) for ref in refs]
    for each in found:
        if each is not None:
            yield from lint_other(each, index)


def _lint_decided(decisions: Decisions, plugin: PluginDecision) -> Iterator[Diagnostic]:
    """Errors that only decisions show: in its values, about its release, among plugins that wait for each other."""
    here = decisions.clusters[plugin.cluster.ref]
    owner = plugin.target.owner
    claims = tuple(each for each in here.claims if owner in (each.loses, each.keeps))
    plugins = {plugin.name: plugin} if here.plugins.get(plugin.name) is plugin else {}
    alone = replace(decisions, clusters={here.cluster.ref: ClusterDecisions(here.cluster, plugins, claims)})
    on_cluster = replace(decisions, clusters={here.cluster.ref: here})
    for found in (lint_gates(alone), lint_claims(alone), lint_output_cycles(on_cluster)):
        yield from (each for each in found if each.severity == "error")
