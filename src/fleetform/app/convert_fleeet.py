"""What converting Fleeet's manifests means beside their shape: dollars, and modules that select nothing."""

from __future__ import annotations

from typing import Any

from fleetform.app.convert_ocm import Tree, nothing
from fleetform.engine.expand import as_native
from fleetform.model.objects import Object


def of_fleeet(object_: Object[Any], tree: Tree) -> Tree:
    """The tree with its texts as native files spell them: there two dollars are one wherever they stand."""
    spec = tree["spec"]
    for field in ("controlPlaneBindings", "bindings", "substitute"):
        if field in spec:
            spec[field] = _respelt(spec[field])
    if object_.ref.kind == "PluginPreset" and object_.spec.cluster_selector is None:
        tree["spec"] = {"clusterSelector": nothing(), **spec}
    return tree


def _respelt(tree: Any) -> Any:
    if isinstance(tree, str):
        return as_native(tree)
    if isinstance(tree, dict):
        return {key: _respelt(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_respelt(each) for each in tree]
    return tree
