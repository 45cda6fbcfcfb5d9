"""What converting Fleeet's manifests means beside their shape: dollars, selectors of nothing, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.app.converting.native_files import loss, selector_of_nothing
from fleetform.app.fleet import Fleet
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.kinds.preset import PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.variables import as_native


def native_from_fleeet(fleet: Fleet, object_: Object[object], tree: JsonMap) -> JsonMap:
    """The tree with its texts as native files spell them: in Fleeet two dollars are one wherever they stand."""
    spec = tree["spec"]
    for field in ("controlPlaneBindings", "bindings", "substitute"):
        if field in spec:
            spec[field] = _respelt(spec[field])
    for binding in spec.get("controlPlaneBindings", ()):
        reference = binding.get("objectFieldRef", {})
        if reference.get("namespace") == object_.namespace:
            # Its own, which natively is the organization.
            del reference["namespace"]
    if isinstance(object_.spec, PluginPresetSpec) and object_.spec.cluster_selector is None:
        tree["spec"] = {"clusterSelector": selector_of_nothing(), **spec}
    elif isinstance(object_.spec, PluginPresetSpec):
        elsewhere = _elsewhere(fleet, object_)
        if elsewhere:
            spec["clusterSelector"] = {**spec.get("clusterSelector", {}), "ignoreClusters": elsewhere}
    return tree


def _elsewhere(fleet: Fleet, object_: Object[object]) -> list[str]:
    """Clusters of other namespaces, which the selector of a module does not reach and a native one would."""
    owner = fleet.index.owners.get(object_)
    clusters = fleet.index.clusters.matching(object_.ref.organization, owner.matchers) if owner is not None else ()
    return sorted(each.ref.name for each in clusters if owner is not None and not owner.may_select(each))


def _respelt(tree: Json) -> Json:
    if isinstance(tree, str):
        return as_native(tree)
    if isinstance(tree, dict):
        return {key: _respelt(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_respelt(each) for each in tree]
    return tree


def fleeet_losses(fleet: Fleet) -> Iterator[Diagnostic]:
    """What means something else in native files, object by object."""
    objects: list[Object[PluginPresetSpec | PluginSpec]] = list(fleet.snapshot.presets.values())
    objects += fleet.snapshot.plugins.values()
    for object_ in objects:
        if object_.dialect != "fleeet":
            continue
        spec, organization = object_.spec, object_.ref.organization
        if spec.bindings:
            # Native plugins do not travel: what the cluster has to resolve is waited for.
            message = "variables that are resolved on the cluster do not travel there in an Assemblage any more"
            hint = "they are read from the cluster, and the plugin waits until they were"
            yield loss(object_, message, hint, "spec", "bindings")
        if isinstance(spec, PluginPresetSpec) and _elsewhere(fleet, object_):
            message = "clusters of other namespaces, which it does not reach, are written by name"
            yield loss(object_, message, "add those that come later to ignoreClusters", "spec", "clusterSelector")
        # A module looks for objects in its own namespace first; a native preset knows its organization only.
        namespace = object_.metadata.namespace or "default"
        if namespace == organization or not isinstance(spec, PluginPresetSpec):
            continue
        refs = [each.object_field_ref for each in spec.control_plane_bindings or ()]
        # Clusters belong to the organization whatever their namespace.
        if any(each is not None and each.kind != "Cluster" and each.namespace != organization for each in refs):
            message = f"objects in {namespace}, where its bindings look first, are out of reach of native manifests"
            hint = f"move those that it reads to {organization}"
            yield loss(object_, message, hint, "spec", "controlPlaneBindings")
