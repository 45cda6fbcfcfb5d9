"""What converting Fleeet's manifests means beside their shape: dollars, selectors of nothing, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.converting.ocm_to_native import Tree, nothing
from fleetform.app.fleet import Fleet
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.variables import as_native


def of_fleeet(object_: Object[Any], tree: Tree) -> Tree:
    """The tree with its texts as native files spell them: there two dollars are one wherever they stand."""
    spec = tree["spec"]
    for field in ("controlPlaneBindings", "bindings", "substitute"):
        if field in spec:
            spec[field] = _respelt(spec[field])
    if object_.ref.kind == "PluginPreset" and object_.spec.cluster_selector is None:
        tree["spec"] = {"clusterSelector": nothing(), **spec}
    return tree


def fleeet_losses(fleet: Fleet) -> Iterator[Diagnostic]:
    """What means something else in native files, object by object."""
    for object_ in (*fleet.snapshot.presets.values(), *fleet.snapshot.plugins.values()):
        if object_.dialect == "fleeet":
            yield from _travelling(object_)
            yield from _out_of_reach(object_)


def _travelling(object_: Object[Any]) -> Iterator[Diagnostic]:
    """Native plugins do not travel: what the cluster has to resolve is waited for."""
    if object_.spec.bindings:
        message = "names that are resolved on the cluster do not travel there in an Assemblage any more"
        hint = "they are read from the cluster, and the plugin waits until they were"
        yield _lost(object_, message, hint, "bindings")


def _out_of_reach(object_: Object[Any]) -> Iterator[Diagnostic]:
    """A module looks for objects in its own namespace first; a native preset knows its organization only."""
    namespace, organization = object_.metadata.namespace or "default", object_.ref.organization
    if namespace == organization or object_.ref.kind != "PluginPreset":
        return
    refs = [each.object_field_ref for each in object_.spec.control_plane_bindings or ()]
    # Clusters belong to the organization whatever their namespace.
    if any(each is not None and each.kind != "Cluster" and each.namespace != organization for each in refs):
        message = f"objects in {namespace}, where its bindings look first, are out of reach of native manifests"
        yield _lost(object_, message, f"move those that it reads to {organization}", "controlPlaneBindings")


def _lost(object_: Object[Any], message: str, hint: str, field: str) -> Diagnostic:
    return Diagnostic("foreign-note", message, hint, "info", object_.ref, object_.at("spec", field))


def _respelt(tree: Any) -> Any:
    if isinstance(tree, str):
        return as_native(tree)
    if isinstance(tree, dict):
        return {key: _respelt(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_respelt(each) for each in tree]
    return tree
