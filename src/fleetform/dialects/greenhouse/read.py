"""Greenhouse's manifests: definitions, presets, plugins, clusters, catalogs, with their meaning in Greenhouse.

Differences on purpose (all blocks of a cluster apply, regex is enforced, unknown options warn) are in docs/spec.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fleetform.dialects.envelope import Reading, misfit_diagnostics, read_metadata, read_tolerantly
from fleetform.dialects.greenhouse.kinds import (
    GreenhouseCatalogSpec,
    GreenhouseClusterSpec,
    GreenhouseDefinitionSpec,
    GreenhouseOrganizationSpec,
    GreenhousePluginSpec,
    GreenhousePresetSpec,
)
from fleetform.dialects.greenhouse.translate import (
    translate_catalog,
    translate_cluster,
    translate_definition,
    translate_organization,
    translate_plugin,
    translate_preset,
)
from fleetform.dialects.manifest import Manifest, metadata_text
from fleetform.model.conventions import Conventions
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import Record
from fleetform.model.kinds.definition import (
    PluginDefinitionSpec,
)
from fleetform.model.objects import At, Object, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import nearest
from fleetform.syntax.trees import YamlMap, YamlValue

API_VERSION = "greenhouse.sap/v1alpha1"
CONVENTIONS = Conventions(lenient=True, passes_undeclared=True, cluster_optional=True, release_after_chart=True)
_UNREAD = ("ClusterKubeconfig", "Team", "TeamMembership", "TeamRole", "TeamRoleBinding")
Moved = tuple[tuple[Path, Path], ...]


class _Translation(NamedTuple):
    """A kind: the native kind, the shape of its spec, how that is translated, and the paths that change."""

    native: str
    shape: type[Record]
    translate: Callable[[YamlValue, Manifest], Record]
    moved: Moved = ()


def read_greenhouse(tree: YamlMap, origin: Origin, organization: str) -> Reading:
    """A document of Greenhouse's API group, whatever kind it is."""
    translation = _TRANSLATIONS.get(str(tree.get("kind")))
    if translation is None or tree.get("apiVersion") != API_VERSION:
        return Reading(None, (_unread(tree, origin),))
    name, namespace = metadata_text(tree, "name") or "", metadata_text(tree, "namespace")
    if tree["kind"] == "ClusterPluginDefinition":
        # What is cluster-scoped in Greenhouse belongs to the platform.
        namespace = PLATFORM_NAMESPACE
    elif tree["kind"] == "Organization":
        namespace = name or None
    ref = Ref(translation.native, organization if namespace is None else namespace, name)
    metadata, diagnostics = read_metadata(tree, origin, ref)
    if not ref.name:
        at = At(origin, (*origin.base, "metadata"))
        message = f"the {tree['kind']} has no name"
        diagnostics.append(Diagnostic("bad-name", message, "write metadata.name", object=ref, at=at))
    spec, misfits, unknown = read_tolerantly(tree.get("spec") or {}, translation.shape)
    diagnostics += misfit_diagnostics(misfits, origin, ref, ("spec",))
    diagnostics += misfit_diagnostics(unknown, origin, ref, ("spec",), "warning")
    if spec is None or metadata is None or not ref.name:
        return Reading(None, tuple(diagnostics))
    manifest = Manifest(tree, origin, ref, metadata, "greenhouse", CONVENTIONS)
    native = translation.translate(spec, manifest)
    # The whole spec, also what has no counterpart here: any change of a definition is a change.
    content = tree.get("spec") if isinstance(native, PluginDefinitionSpec) else None
    object_ = Object(ref, metadata, native, origin, "greenhouse", translation.moved, None, content, CONVENTIONS)
    return Reading(object_, (*diagnostics, *manifest.found))


def _unread(tree: YamlMap, origin: Origin) -> Diagnostic:
    """The finding for other kinds and versions: a typo, or something that is not read."""
    kind = str(tree.get("kind"))
    if tree.get("apiVersion") != API_VERSION:
        at = At(origin, (*origin.base, "apiVersion"))
        return Diagnostic(
            "unsupported-version", f"{tree.get('apiVersion')} cannot be read", f"there is {API_VERSION}", at=at
        )
    at = At(origin, (*origin.base, "kind"))
    meant = None if kind in _UNREAD else nearest(kind, [*_TRANSLATIONS, "PluginOverride"])
    if meant is not None:
        return Diagnostic("unknown-kind", f"Greenhouse has no kind {kind}", f"did you mean {meant}?", at=at)
    return Diagnostic("foreign-note", f"Greenhouse's {kind} is not read here", "", "info", at=at)


_PRESET_MOVED: Moved = ((("spec", "plugin", "pluginDefinition"), ("spec", "plugin", "pluginDefinitionRef")),)
_PLUGIN_MOVED: Moved = ((("spec", "pluginDefinition"), ("spec", "pluginDefinitionRef")),)
_DEFINITION_MOVED: Moved = (
    (("spec", "source", "helm", "chart"), ("spec", "helmChart", "name")),
    (("spec", "source", "helm"), ("spec", "helmChart")),
    (("spec", "source"), ("spec", "helmChart")),
)

_DEFINITION = _Translation("PluginDefinition", GreenhouseDefinitionSpec, translate_definition, _DEFINITION_MOVED)
_TRANSLATIONS: dict[str, _Translation] = {
    "PluginDefinition": _DEFINITION,
    "ClusterPluginDefinition": _DEFINITION,
    "PluginPreset": _Translation("PluginPreset", GreenhousePresetSpec, translate_preset, _PRESET_MOVED),
    "Plugin": _Translation("Plugin", GreenhousePluginSpec, translate_plugin, _PLUGIN_MOVED),
    "Catalog": _Translation("Catalog", GreenhouseCatalogSpec, translate_catalog),
    "Cluster": _Translation("Cluster", GreenhouseClusterSpec, translate_cluster),
    "Organization": _Translation("Organization", GreenhouseOrganizationSpec, translate_organization),
}
