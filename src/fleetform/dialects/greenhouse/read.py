"""Greenhouse's manifests: definitions, presets, plugins, clusters, catalogs, with their meaning in Greenhouse.

Differences on purpose (all blocks of a cluster apply, regex is enforced, unknown options warn) are in docs/spec.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import structs

from fleetform.dialects.envelope import Reading, lacks_name, misfit_diagnostics, read_metadata, read_tolerantly
from fleetform.dialects.greenhouse.injected import INJECTED
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
    written_by_people,
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

API_VERSIONS = ("greenhouse.sap/v1alpha1", "greenhouse.sap/v1alpha2")
CONVENTIONS = Conventions(
    lenient=True,
    passes_undeclared=True,
    cluster_optional=True,
    release_after_chart=True,
    definitions_by_kind=True,
    takes_prereleases=True,
    refuses_plain_secrets=True,
    injected=INJECTED,
)
# What the controller made from a preset bears the preset's name in this label.
MADE_BY = "greenhouse.sap/pluginpreset"
_UNREAD = ("ClusterKubeconfig", "PluginConfig", "Team", "TeamMembership", "TeamRole", "TeamRoleBinding")
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
    if translation is None or tree.get("apiVersion") not in API_VERSIONS:
        return Reading(None, (_unread(tree, origin),))
    name, namespace = metadata_text(tree, "name") or "", metadata_text(tree, "namespace")
    if tree["kind"] == "ClusterPluginDefinition":
        # What is cluster-scoped in Greenhouse belongs to the platform.
        namespace = PLATFORM_NAMESPACE
    elif tree["kind"] == "Organization":
        namespace = name or None
    ref = Ref(translation.native, organization if namespace is None else namespace, name)
    metadata, diagnostics = read_metadata(tree, origin, ref)
    if lacks_name(tree):
        at = At(origin, (*origin.base, "metadata"))
        message = f"the {tree['kind']} has no name"
        diagnostics.append(Diagnostic("bad-name", message, "write metadata.name", object=ref, at=at))
    spec, misfits, unknown = read_tolerantly(tree.get("spec") or {}, translation.shape)
    diagnostics += misfit_diagnostics(misfits, origin, ref, ("spec",))
    diagnostics += misfit_diagnostics(unknown, origin, ref, ("spec",), "warning")
    if spec is None or metadata is None or not ref.name:
        return Reading(None, tuple(diagnostics))
    conventions = CONVENTIONS
    if tree["kind"] == "Plugin" and MADE_BY in (metadata.labels or {}):
        conventions = structs.replace(CONVENTIONS, made_by_system=True)
    manifest = Manifest(tree, origin, ref, metadata, "greenhouse", conventions)
    native = translation.translate(spec, manifest)
    # The whole spec, also what has no counterpart here: any change of a definition is a change. Of what runs, all.
    content = tree if conventions.made_by_system else None
    content = tree.get("spec") if isinstance(native, PluginDefinitionSpec) else content
    moved = (*_moved_values(spec), *translation.moved)
    object_ = Object(ref, metadata, native, origin, "greenhouse", moved, None, content, conventions)
    found = () if conventions.made_by_system else manifest.found
    return Reading(object_, (*diagnostics, *found))


def _moved_values(spec: Record) -> Moved:
    """Where the values of a Plugin stand, if others among them were left out."""
    values = spec.option_values if isinstance(spec, GreenhousePluginSpec) else None
    if not isinstance(values, list):
        return ()
    positions = written_by_people(values, "Plugin")
    place: Path = ("spec", "optionValues")
    return tuple(((*place, ours), (*place, theirs)) for ours, theirs in enumerate(positions) if ours != theirs)


def _unread(tree: YamlMap, origin: Origin) -> Diagnostic:
    """The finding for other kinds and versions: a typo, or something that is not read."""
    kind = str(tree.get("kind"))
    if tree.get("apiVersion") not in API_VERSIONS:
        message, at = f"{tree.get('apiVersion')} cannot be read", At(origin, (*origin.base, "apiVersion"))
        return Diagnostic("unsupported-version", message, f"there are {' and '.join(API_VERSIONS)}", at=at)
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
