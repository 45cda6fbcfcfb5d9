"""Modules and bootstrap modules of Fleeet: a definition, and the preset that puts it on the clusters selected."""

from __future__ import annotations

from typing import Any

from fleetform.dialects.fleeet.kinds import ModuleSpec
from fleetform.dialects.fleeet.sync import TARGET_NAMESPACE, Content, content_of
from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.model.kinds.base import ClusterSelector, Delivery, FluxDelivery, LabelSelector
from fleetform.model.kinds.preset import DefinitionRef, PluginPresetSpec, PluginTemplate
from fleetform.model.objects import Object, Path

_SYNC: Path = ("spec", "sync")
_NAME: Path = ("metadata", "name")
_SUBSTITUTE: Path = (*_SYNC, "package", "kustomize", "substitute")


def read_module(manifest: Manifest) -> list[Object[Any]]:
    """The cluster fetches a Module itself."""
    return _read(manifest, FluxDelivery("Pull", manifest.metadata.namespace))


def read_bootstrap_module(manifest: Manifest) -> list[Object[Any]]:
    """The control plane applies a BootstrapModule."""
    return _read(manifest, FluxDelivery("Hub", manifest.metadata.namespace))


def _read(manifest: Manifest, flux: FluxDelivery) -> list[Object[Any]]:
    # A misspelt word must not select every cluster.
    spec = manifest.spec(ModuleSpec)
    content = content_of(spec.sync, manifest, _SYNC) if spec is not None else None
    if spec is None or content is None:
        return []
    if spec.selector is None:
        message = f"without a selector, the {manifest.kind} selects no cluster"
        manifest.note(message, "write selector: {} for all clusters", "spec")
    return [manifest.object(content.definition, *content.moved), _preset(spec, content, flux, manifest)]


def _preset(spec: ModuleSpec, content: Content, flux: FluxDelivery, manifest: Manifest) -> Object[Any]:
    native = PluginPresetSpec(
        plugin=PluginTemplate(
            DefinitionRef(manifest.name, version=content.version), release_namespace=TARGET_NAMESPACE
        ),
        cluster_selector=_selector(spec.selector),
        # Mentions count in every manifest of Fleeet, also where nothing is bound (B6).
        control_plane_bindings=spec.control_plane_bindings or [],
        bindings=spec.sync.bindings,
        substitute=content.kustomize.substitute,
        substitution=content.substitution,
        delivery=Delivery(flux=flux),
    )
    return manifest.object(native, *_moved(content), kind="PluginPreset")


def _selector(selector: LabelSelector | None) -> ClusterSelector | None:
    """None selects nothing, and an empty one everything, as there (B31)."""
    if selector is None:
        return None
    return ClusterSelector(match_labels=selector.match_labels, match_expressions=selector.match_expressions)


def _moved(content: Content) -> tuple[Pair, ...]:
    definition: Path = ("spec", "plugin", "pluginDefinition")
    return (
        (("spec", "clusterSelector"), ("spec", "selector")),
        (("spec", "controlPlaneBindings"), ("spec", "controlPlaneBindings")),
        (("spec", "bindings"), (*_SYNC, "bindings")),
        (("spec", "substitute"), _SUBSTITUTE),
        (("spec", "substitution"), _SUBSTITUTE),
        ((*definition, "version"), content.version_at),
        ((*definition, "name"), _NAME),
        (definition, _NAME),
        (("spec", "plugin"), _SYNC),
        (("spec", "delivery"), ("kind",)),
    )
