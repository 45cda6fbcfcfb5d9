"""What a plugin is made of where values of its cluster are in it: as it is written, and not as it was read (B16).

Such values change without anybody's edit. Options are folded with the names of variables in their place, so that
what means the same hashes alike, however its paths are spelled and whether it was read yet or not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from fleetform.engine.bindings.builtin import built_in
from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.evaluate import Binder
from fleetform.engine.bindings.plugin_variables import PluginVariables
from fleetform.engine.configs.items import config_items
from fleetform.engine.index.outputs import Binders
from fleetform.engine.layers.owners import Owner
from fleetform.engine.options.holes import hashable, marks_in
from fleetform.engine.options.item_values import ItemValues
from fleetform.engine.options.own import own_items, touched_by
from fleetform.engine.options.resolve import decide_option
from fleetform.engine.options.routing import route
from fleetform.engine.options.shared import Sharing
from fleetform.model.results.bindings import OnCluster, Unresolved
from fleetform.model.results.decisions import PluginDecision


def as_written(binders: Binders, sharing: Sharing, owner: Owner, plugin: PluginDecision) -> dict[str, Any] | None:
    """The options and variables of a plugin that hold something of its cluster, and the bindings that bring it."""
    binder = binders.of(owner)
    if binder is None or not binders.may_read_cluster(owner):
        return None
    of_cluster = binders.of_cluster(owner, plugin.cluster, plugin.name)
    if not of_cluster:
        return None
    program, variables = binder.program, binder.variables(plugin.cluster, plugin.name)
    options = _options(sharing, owner, plugin, binder, binder.as_written(variables, of_cluster))
    templates = [(each, each.template) for each in program.variables if each.template is not None]
    reading = [(each, template) for each, template in templates if not of_cluster.isdisjoint(template.names)]
    mentioned = {name for _, template in reading for name in template.names}
    mentioned |= {name for tree in options.values() for name in _names_in(tree)}
    used: set[str] = set()
    while more := (mentioned & of_cluster) - used:
        used |= more
        mentioned |= {name for each in program.steps if each.name in more for name in each.template.names}
    if not used:
        return None
    return {
        "options": {name: hashable(tree) for name, tree in options.items()},
        "variables": {each.name: each.written for each, _ in reading},
        "bindings": {name: msgspec.to_builtins(program.bindings[name].binding) for name in sorted(used)},
        # What is known of the names in them: another value there is another input.
        "names": dict(_known_values(program, variables, mentioned - of_cluster)),
    }


def _options(
    sharing: Sharing, owner: Owner, plugin: PluginDecision, binder: Binder, variables: PluginVariables
) -> dict[str, Any]:
    """The options in whose values something of the cluster is left, folded with that as it is written."""
    revision = plugin.target.revision
    if revision is None:
        return {}
    values = ItemValues(binder, variables, plugin.cluster, plugin.target.definition, revision.version)
    said = config_items(plugin.shared.configs, revision.object.spec.configs or ())
    schema = sharing.schema(revision)
    own_said = route(schema, own_items(owner, plugin.cluster.ref.name, plugin.instance, said), owner.passes_undeclared)
    found: dict[str, Any] = {}
    for settled, own in touched_by(plugin.shared, own_said, schema):
        entries = values.spoken((*settled.below, *own, *settled.above))
        partial = decide_option(settled.slot, entries, values, settled.family).partial
        if any(isinstance(each, OnCluster) for each in marks_in(partial)):
            found[settled.slot.name] = partial
    return found


def _names_in(tree: Any) -> Iterator[str]:
    """The variables that stand in a tree by their names."""
    for mark in marks_in(tree):
        if isinstance(mark, OnCluster):
            yield from (piece[0] for piece in mark.pieces if not isinstance(piece, str))


def _known_values(program: Program, variables: PluginVariables, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    bound = dict(zip((each.name for each in program.steps), variables.values, strict=True))
    for name in sorted(names):
        known = built_in(name) if name not in bound else None
        value = bound.get(name, Unresolved("", "")) if known is None else known.make(variables)
        if value.__class__ is not Unresolved:
            yield name, value
