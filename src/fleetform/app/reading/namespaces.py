"""Objects of systems whose namespaces are none of our organizations: two of one name in two namespaces are two objects.

They all belong to one organization (S7), where a name is enough as long as there is one of it. Where there are several,
each gets its namespace before its name, and so does what refers to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from fleetform.dialects.fleeet.assemblages import IMPLIED_CLUSTER
from fleetform.model.kinds.preset import DefinitionRef, PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object, Ref

Homes = dict[Ref, set[str]]


def distinct(objects: Sequence[Object[object]]) -> list[Object[object]]:
    """The objects, each with a name of its own; clusters that nobody wrote only where nobody wrote them."""
    written = {each.ref for each in objects if each.ref.kind == "Cluster" and each.dialect != IMPLIED_CLUSTER}
    implied = {each.ref: each for each in reversed(objects) if each.dialect == IMPLIED_CLUSTER}
    kept = [
        each
        for each in objects
        if each.dialect != IMPLIED_CLUSTER or (each.ref not in written and implied[each.ref] is each)
    ]
    homes: Homes = {}
    for each in kept:
        if each.conventions.own_namespace:
            homes.setdefault(each.ref, set()).add(each.namespace)
    shared = {ref: namespaces for ref, namespaces in homes.items() if len(namespaces) > 1}
    return [_renamed(each, shared) if each.conventions.own_namespace else each for each in kept] if shared else kept


def _renamed(object_: Object[object], shared: Homes) -> Object[object]:
    spec = object_.spec
    if isinstance(spec, PluginPresetSpec):
        reference = spec.plugin.plugin_definition
        definition = _definition(object_, reference, shared)
        if definition is not None:
            name = spec.plugin.release_name or _name(reference)
            template = structs.replace(spec.plugin, plugin_definition=definition, release_name=name)
            spec = structs.replace(spec, plugin=template)
    elif isinstance(spec, PluginSpec):
        definition = _definition(object_, spec.plugin_definition, shared)
        if definition is not None:
            spec = structs.replace(spec, plugin_definition=definition)
        cluster = object_.ref._replace(kind="Cluster", name=spec.cluster_name or "")
        if object_.namespace in shared.get(cluster, ()):
            spec = structs.replace(spec, cluster_name=_with_namespace(object_, cluster.name))
    name = _with_namespace(object_, object_.ref.name) if object_.ref in shared else object_.ref.name
    return replace(object_, ref=object_.ref._replace(name=name), spec=spec)


def _definition(object_: Object[object], written: DefinitionRef | str | None, shared: Homes) -> DefinitionRef | None:
    """A reference to the definition of the object's own namespace, if there are several of its name."""
    if not isinstance(written, DefinitionRef):
        return None
    if object_.ref._replace(kind="PluginDefinition", name=written.name) not in shared:
        return None
    return structs.replace(written, name=_with_namespace(object_, written.name))


def _name(written: DefinitionRef | str) -> str:
    return written.name if isinstance(written, DefinitionRef) else written


def _with_namespace(object_: Object[object], name: str) -> str:
    return f"{object_.namespace}.{name}"
