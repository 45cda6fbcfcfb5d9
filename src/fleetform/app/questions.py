"""Which plugin, and which of its options, a question is about."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.app.errors import AmbiguousError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope, other_organizations_hint
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.selection import Selected
from fleetform.engine.layers.owners import Owner
from fleetform.model.results.decisions import OptionDecision, PluginDecision
from fleetform.model.shape import did_you_mean, first_of, what_there_is
from fleetform.syntax.option_paths import PathError, normal_form, parse_path


def deciding_for(fleet: Fleet, scope: Scope, name: str | None, definition: str | None) -> Fleet:
    """The fleet with only those plugins decided that a question may mean.

    Which owner selects which cluster is known before anything is decided. A plugin's own name counts before its
    preset's, so that plugins of presets are taken only if none has that name.
    """
    by_plugin: dict[Cluster, set[Owner]] = {}
    by_owner: dict[Cluster, set[Owner]] = {}
    for cluster, selected in _selected(fleet, scope):
        owner = selected.owner
        if definition is not None:
            meant = by_plugin if owner.definition == definition else None
        elif selected.plugin_on(cluster) == name:
            meant = by_plugin
        else:
            meant = by_owner if owner.object.ref.name == name else None
        if meant is not None:
            # One that reads outputs may wait for any other on its cluster.
            reads = owner.program is not None and owner.program.producers
            owners = [each.owner for each in fleet.index.owners_on(cluster)] if reads else [owner]
            meant.setdefault(cluster, set()).update(owners)
    return fleet.deciding_only(by_plugin or by_owner)


def _selected(fleet: Fleet, scope: Scope) -> Iterator[tuple[Cluster, Selected]]:
    """Every plugin of a scope, by its cluster and owner."""
    for cluster in fleet.snapshot.clusters.values():
        if scope.holds_cluster(cluster.ref, cluster.labels):
            for selected in fleet.index.owners_on(cluster):
                yield cluster, selected


def find_plugin(fleet: Fleet, scope: Scope, name: str | None, definition: str | None) -> PluginDecision:
    """The plugin that is meant: by its own name, by its preset's and a cluster, or by a definition and a cluster."""
    # A contender is asked about by its preset: its own name may be another plugin's.
    candidates = [*scope.plugins(fleet), *scope.contenders(fleet)]
    if definition is not None:
        found = [each for each in candidates if each.target.definition == definition]
        asked = f"plugin of definition {definition}"
    else:
        found = [each for each in candidates if each.name == name] or [
            each for each in candidates if each.target.owner.ref.name == name
        ]
        asked = f"plugin or preset {name}"
    if len(found) == 1:
        return found[0]
    if not found:
        where = f" on {scope.cluster}" if scope.cluster else ""
        where += " on a cluster that -l selects" if scope.labels else ""
        where += f" in {scope.organization}" if scope.organization else ""
        hint = other_organizations_hint(fleet, scope)
        if not hint:
            there = list(_selected(fleet, scope))
            known = {each.owner.definition for _, each in there} if definition is not None else set()
            if definition is None:
                known = {each.owner.object.ref.name for _, each in there}
                known |= {each.plugin_on(cluster) for cluster, each in there}
            otherwise = what_there_is(sorted(known)) if scope.cluster and known else "see `fleetform get plugins`"
            hint = did_you_mean(name or definition or "", sorted(known), otherwise)
        raise NotFoundError(f"there is no {asked}{where}", hint)
    choices = [f"{each.organization}/{each.name} on {each.cluster.ref.name}" for each in found]
    hint = "name the plugin itself" if scope.cluster else "name the cluster with -c, or the plugin itself"
    raise AmbiguousError(f"{len(found):,} plugins fit {name or definition}", choices, hint)


def find_option(plugin: PluginDecision, text: str) -> OptionDecision:
    """The option a path belongs to: the longest declared name wins (R0-8)."""
    try:
        form = normal_form(parse_path(text))
    except PathError as error:
        raise NotFoundError(f"{text} is not a path: {error.message}", "write a.b, a.b[0] or /a/b/0") from error
    by_form = {normal_form(each.slot.steps): each for each in plugin.options.values()}
    for length in range(len(form), 0, -1):
        if form[:length] in by_form:
            return by_form[form[:length]]
    names = list(plugin.options)
    ending = [name for name in names if name.rpartition(".")[2] == text]
    hint = did_you_mean(text, ending or names, f"it has {first_of(names)}" if names else _why_without_options(plugin))
    what = f"{plugin.target.definition} {plugin.version or ''}".strip()
    raise NotFoundError(f"{what} has no option {text}", hint)


def _why_without_options(plugin: PluginDecision) -> str:
    if plugin.target.revision is None and plugin.blocked_by:
        first = plugin.blocked_by[0]
        return "; ".join(filter(None, (first.message, first.do)))
    return "it has no options"
