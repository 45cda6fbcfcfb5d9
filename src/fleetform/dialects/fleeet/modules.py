"""Modules and bootstrap modules of Fleeet: a definition, and the preset that puts it on the clusters selected."""

from __future__ import annotations

from fleetform.dialects.fleeet.kinds import ModuleSpec
from fleetform.dialects.fleeet.sync import TARGET_NAMESPACE, sync_content
from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.model.kinds.base import ClusterSelector, Delivery, FluxDelivery
from fleetform.model.kinds.preset import DefinitionRef, PluginPresetSpec, PluginTemplate
from fleetform.model.objects import Object, Path

_SYNC: Path = ("spec", "sync")
_NAME: Path = ("metadata", "name")
_SUBSTITUTE: Path = (*_SYNC, "package", "kustomize", "substitute")


def read_module(manifest: Manifest) -> list[Object[object]]:
    """The cluster fetches a Module itself."""
    return _read(manifest, FluxDelivery("Pull", manifest.metadata.namespace, prune=False))


def read_bootstrap_module(manifest: Manifest) -> list[Object[object]]:
    """The control plane applies a BootstrapModule."""
    return _read(manifest, FluxDelivery("Hub", manifest.metadata.namespace, prune=False))


def _read(manifest: Manifest, flux: FluxDelivery) -> list[Object[object]]:
    spec = manifest.spec(ModuleSpec)
    content = sync_content(spec.sync, manifest, _SYNC) if spec is not None else None
    if spec is None or content is None:
        return []
    if spec.selector is None:
        message = f"without a selector, the {manifest.kind} selects no cluster"
        manifest.note(message, "write selector: {} for all clusters", "spec")
    # No selector selects nothing, and an empty one everything, as in Fleeet (B31).
    selector = None
    if spec.selector is not None:
        labels = spec.selector
        selector = ClusterSelector(match_labels=labels.match_labels, match_expressions=labels.match_expressions)
    definition = DefinitionRef(manifest.name, version=content.version)
    preset = PluginPresetSpec(
        plugin=PluginTemplate(definition, release_namespace=TARGET_NAMESPACE),
        cluster_selector=selector,
        # Not None: $(…) counts in every manifest of Fleeet, also if nothing is bound (B6).
        control_plane_bindings=spec.control_plane_bindings or [],
        bindings=spec.sync.bindings,
        substitute=content.kustomize.substitute,
        substitution=content.substitution,
        delivery=Delivery(flux=flux),
    )
    native: Path = ("spec", "plugin", "pluginDefinition")
    moved: tuple[Pair, ...] = (
        (("spec", "clusterSelector"), ("spec", "selector")),
        (("spec", "controlPlaneBindings"), ("spec", "controlPlaneBindings")),
        (("spec", "bindings"), (*_SYNC, "bindings")),
        (("spec", "substitute"), _SUBSTITUTE),
        (("spec", "substitution"), _SUBSTITUTE),
        ((*native, "version"), content.version_at),
        ((*native, "name"), _NAME),
        (native, _NAME),
        (("spec", "plugin"), _SYNC),
        (("spec", "delivery"), ("kind",)),
    )
    return [
        manifest.object(content.definition, *content.moved),
        manifest.object(preset, *moved, kind="PluginPreset"),
    ]
