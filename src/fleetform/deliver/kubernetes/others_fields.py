"""Fields that a plugin's objects name and that are for others to set: two that apply them would never end. Pure."""

from __future__ import annotations

from typing import Any

from fleetform.clusters.fields import is_autoscaled
from fleetform.clusters.ownership import Manifest

# Nothing, and a line break alone, which charts write where a bundle must not be empty.
_EMPTY_BUNDLES = ("", "Cg==", None)
_WITH_BUNDLES = (
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "CustomResourceDefinition",
    "APIService",
)


def without_empty_bundles(manifest: Manifest) -> Manifest:
    """Without `caBundle` where it is empty: somebody injects it, and it would be taken out again."""
    if manifest["kind"] not in _WITH_BUNDLES:
        return manifest
    found: Manifest = _without_bundles(manifest)
    return found


def _without_bundles(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {
            name: _without_bundles(below)
            for name, below in tree.items()
            if name != "caBundle" or below not in _EMPTY_BUNDLES
        }
    return [_without_bundles(each) for each in tree] if isinstance(tree, list) else tree


def without_scaled(manifest: Manifest, live: Manifest | None) -> Manifest:
    """Without `replicas` where an autoscaler set them: what a chart says is where it began."""
    spec = manifest.get("spec")
    if live is None or not isinstance(spec, dict) or "replicas" not in spec or not is_autoscaled(live):
        return manifest
    return {**manifest, "spec": {name: each for name, each in spec.items() if name != "replicas"}}
