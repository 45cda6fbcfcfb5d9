"""What converting Fleeet's manifests means beside their shape: dollars, and modules that select nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.convert_ocm import Tree, nothing
from fleetform.app.fleet import Fleet
from fleetform.engine.expand import as_native
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic


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
    """Native plugins do not travel: what the cluster has to resolve is waited for."""
    for object_ in (*fleet.snapshot.presets.values(), *fleet.snapshot.plugins.values()):
        if object_.dialect == "fleeet" and object_.spec.bindings:
            message = "names that are resolved on the cluster do not travel there in an Assemblage any more"
            hint = "they are read from the cluster, and the plugin waits until they were"
            at = object_.at("spec", "bindings")
            yield Diagnostic("foreign-note", message, hint, "info", object_.ref, at)


def _respelt(tree: Any) -> Any:
    if isinstance(tree, str):
        return as_native(tree)
    if isinstance(tree, dict):
        return {key: _respelt(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_respelt(each) for each in tree]
    return tree
