"""Open Cluster Management's objects as native ones, and what a native file cannot say of them."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.app.converting.native_files import is_native_kind, loss, native_name, selector_of_nothing
from fleetform.app.fleet import Fleet
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds.preset import PluginSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.names import generated_name


def native_from_ocm(fleet: Fleet, object_: Object[object], tree: JsonMap) -> JsonMap:
    """The tree with names that a native file can bear, and a preset's clusters written down as they are now."""
    name, spec = native_name(object_.ref), object_.spec
    if isinstance(spec, PluginSpec) and spec.preset_ref is not None and spec.cluster_name is not None:
        # Beside a preset it bears the name that the preset gives it.
        name = generated_name(spec.preset_ref.name, spec.cluster_name)
    tree["metadata"] |= {"name": name, "namespace": object_.ref.organization}
    if object_.ref.kind != "PluginPreset":
        return tree
    written = tree["spec"]
    plugins = fleet.decisions.plugins.values()
    clusters = sorted(plugin.cluster.ref.name for plugin in plugins if plugin.target.owner is object_)
    tree["spec"] = {"clusterSelector": {"clusterNames": clusters} if clusters else selector_of_nothing(), **written}
    for group in written.get("groups", ()):
        group["name"] = group["name"].replace("/", "-")
        group["placement"]["name"] = group["placement"]["name"].replace("/", "-")
    return tree


def ocm_losses(fleet: Fleet) -> Iterator[Diagnostic]:
    """What means something else in native files, object by object."""
    for object_ in fleet.snapshot.objects:
        if object_.dialect != "ocm":
            continue
        ref, spec = object_.ref, object_.spec
        if not is_native_kind(object_):
            message = f"{ref.kind} {ref.name} has no native counterpart"
            yield loss(object_, message, "placements keep the names of their sets, which labels on clusters give")
        elif ref.kind == "PluginPreset":
            message = "its clusters are written by name, as its placements choose them now"
            yield loss(object_, message, "name one placement in spec.placement to have it follow")
        lists = [getattr(spec, "configs", None), *(each.configs for each in getattr(spec, "groups", None) or ())]
        named = [each for listed in lists for each in listed or ()]
        found = {getattr(each, "namespace", None) for each in named}
        found |= {each.default.namespace for each in named if getattr(each, "default", None) is not None}
        namespaces = sorted(each for each in found if each and each != ref.organization)
        if namespaces:
            message = f"its configs lie in {', '.join(namespaces)}, "
            message += "which native manifests of another namespace cannot name"
            yield loss(object_, message, f"move them to {ref.organization}")
