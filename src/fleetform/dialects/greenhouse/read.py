"""Greenhouse's manifests: definitions, presets, plugins, clusters and organizations, as they mean there.

Where we differ on purpose (all blocks of a cluster apply, regex is enforced, unknown options warn) docs/spec says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from fleetform.dialects.envelope import Reading, misfit_diagnostics, read_metadata, read_tolerantly
from fleetform.dialects.greenhouse.expressions import UnreadableExpressionError, as_cel
from fleetform.dialects.greenhouse.kinds import (
    GreenhouseCatalogSource,
    GreenhouseCatalogSpec,
    GreenhouseClusterSpec,
    GreenhouseClusterValues,
    GreenhouseDefinitionRef,
    GreenhouseDefinitionSpec,
    GreenhouseOrganizationSpec,
    GreenhousePluginSpec,
    GreenhousePluginTemplate,
    GreenhousePresetSpec,
    GreenhouseValue,
    GreenhouseWaitFor,
)
from fleetform.model.conventions import Conventions
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import ClusterSelector, OptionValue, OptionValues, Record, SecretRef, ValueFrom
from fleetform.model.kinds.definition import (
    CatalogGit,
    CatalogRename,
    CatalogSource,
    CatalogSpec,
    GitRevision,
    HelmSource,
    Option,
    PluginDefinitionSpec,
    Source,
)
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    PluginPresetSpec,
    PluginSpec,
    PluginTemplate,
    WaitFor,
)
from fleetform.model.objects import At, Object, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import nearest
from fleetform.syntax.times import parse_duration

API_VERSION = "greenhouse.sap/v1alpha1"
CONVENTIONS = Conventions(lenient=True, passes_undeclared=True, cluster_optional=True, release_after_chart=True)
_UNREAD = ("ClusterKubeconfig", "Team", "TeamMembership", "TeamRole", "TeamRoleBinding")
Moved = tuple[tuple[Path, Path], ...]


class _Notes:
    """Collects what there is to say about one object while it is translated."""

    def __init__(self, origin: Origin, ref: Ref) -> None:
        self._origin, self._ref = origin, ref
        self.found: list[Diagnostic] = []

    def lost(self, message: str, hint: str, *path: str | int) -> None:
        at = At(self._origin, self._origin.base + path)
        self.found.append(Diagnostic("foreign-note", message, hint, "info", self._ref, at))

    def warn(self, code: str, message: str, hint: str, *path: str | int) -> None:
        at = At(self._origin, self._origin.base + path)
        self.found.append(Diagnostic(code, message, hint, "warning", self._ref, at))


class _Translation(NamedTuple):
    native: str
    shape: type[Record]
    translate: Callable[[Any, _Notes], Record]
    moved: Moved = ()


def read_greenhouse(tree: dict[str, Any], origin: Origin, organization: str) -> Reading:
    """A document of Greenhouse's API group, whatever kind it is."""
    translation = _TRANSLATIONS.get(str(tree.get("kind")))
    if translation is None or tree.get("apiVersion") != API_VERSION:
        return Reading(None, (_unread(tree, origin),))
    ref = Ref(translation.native, _organization(tree, organization), _name(tree))
    metadata, diagnostics = read_metadata(tree, origin, ref)
    if not ref.name:
        at = At(origin, (*origin.base, "metadata"))
        diagnostics.append(
            Diagnostic("bad-name", f"the {tree['kind']} has no name", "write metadata.name", object=ref, at=at)
        )
    spec, misfits, unknown = read_tolerantly(tree.get("spec") or {}, translation.shape)
    diagnostics += misfit_diagnostics(misfits, origin, ref, ("spec",))
    diagnostics += misfit_diagnostics(unknown, origin, ref, ("spec",), "warning")
    if spec is None or metadata is None or not ref.name:
        return Reading(None, tuple(diagnostics))
    notes = _Notes(origin, ref)
    native = translation.translate(spec, notes)
    # A definition is what its author wrote, also what has no counterpart here: any change of it is a change.
    content = tree.get("spec") if isinstance(native, PluginDefinitionSpec) else None
    object_ = Object(ref, metadata, native, origin, "greenhouse", translation.moved, None, content, CONVENTIONS)
    return Reading(object_, (*diagnostics, *notes.found))


def _unread(tree: dict[str, Any], origin: Origin) -> Diagnostic:
    """What to say about other kinds and versions: a slip of the finger, or something that is not read here."""
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


def _name(tree: dict[str, Any]) -> str:
    metadata = tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _organization(tree: dict[str, Any], default: str) -> str:
    """The organization an object belongs to: its namespace; what is cluster-scoped there is the platform's here."""
    if tree["kind"] == "ClusterPluginDefinition":
        return PLATFORM_NAMESPACE
    if tree["kind"] == "Organization":
        return _name(tree) or default
    metadata = tree.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return namespace if isinstance(namespace, str) else default


def _definition(spec: GreenhouseDefinitionSpec, notes: _Notes) -> PluginDefinitionSpec:
    source = None
    if spec.helm_chart is not None:
        chart = spec.helm_chart
        source = Source(helm=HelmSource(chart.repository, chart.name, chart.version))
    if spec.ui_application is not None:
        notes.lost("uiApplication has no counterpart here", "keep it in Greenhouse", "spec", "uiApplication")
    if spec.weight is not None:
        notes.lost("weight has no counterpart here", "", "spec", "weight")
    options = [
        Option(
            each.name,
            each.type,
            each.default,
            each.required,
            each.description,
            each.display_name,
            each.regex,
        )
        for each in spec.options or []
    ]
    return PluginDefinitionSpec(
        spec.version,
        spec.display_name,
        spec.description,
        spec.icon,
        spec.docs_url or spec.doc_mark_down_url,
        source,
        options or None,
    )


def _preset(spec: GreenhousePresetSpec, notes: _Notes) -> PluginPresetSpec:
    definition = _definition_ref(spec.plugin)
    path: Path = ("spec", "plugin")
    _note_lost_plugin_fields(spec.plugin, notes, path)
    selector = spec.cluster_selector
    return PluginPresetSpec(
        plugin=PluginTemplate(
            definition or "",
            release_name=spec.plugin.release_name,
            release_namespace=spec.plugin.release_namespace,
            option_values=_values(spec.plugin.option_values, notes, (*path, "optionValues")),
        ),
        cluster_selector=None
        if selector is None
        else ClusterSelector(match_labels=selector.match_labels, match_expressions=selector.match_expressions),
        cluster_option_overrides=_blocks(spec.cluster_option_overrides, notes, "clusterOptionOverrides"),
        cluster_overrides=_blocks(spec.cluster_overrides, notes, "clusterOverrides"),
        wait_for=list(_wait_for(spec.wait_for)) or None,
        deletion_policy=spec.deletion_policy or spec.plugin.deletion_policy,
    )


def _plugin(spec: GreenhousePluginSpec, notes: _Notes) -> PluginSpec:
    _note_lost_plugin_fields(spec, notes, ("spec",))
    return PluginSpec(
        plugin_definition=_definition_ref(spec),
        cluster_name=spec.cluster_name,
        release_name=spec.release_name,
        release_namespace=spec.release_namespace,
        option_values=_values(spec.option_values, notes, ("spec", "optionValues")),
        wait_for=list(_wait_for(spec.wait_for)) or None,
        deletion_policy=spec.deletion_policy,
    )


def _definition_ref(spec: GreenhousePluginTemplate) -> DefinitionRef | None:
    """pluginDefinitionRef, or the older and the planned spellings."""
    ref = spec.plugin_definition_ref or spec.plugin_definition
    if isinstance(ref, GreenhouseDefinitionRef):
        return DefinitionRef(ref.name, ref.kind, ref.version or spec.plugin_definition_version)
    return DefinitionRef(ref, version=spec.plugin_definition_version) if ref else None


def _note_lost_plugin_fields(spec: GreenhousePluginTemplate, notes: _Notes, path: Path) -> None:
    if spec.display_name is not None:
        notes.lost("a plugin's displayName has no counterpart here", "", *path, "displayName")
    if spec.ignore_differences is not None:
        notes.lost("ignoreDifferences has no counterpart here", "", *path, "ignoreDifferences")


def _values(values: list[GreenhouseValue] | dict[str, Any] | None, notes: _Notes, path: Path) -> OptionValues | None:
    if values is None or isinstance(values, dict):
        return values
    return [_value(value, notes, (*path, index)) for index, value in enumerate(values)]


def _value(value: GreenhouseValue, notes: _Notes, path: Path) -> OptionValue:
    expression = None
    if value.expression is not None:
        try:
            expression = as_cel(value.expression)
        except UnreadableExpressionError as error:
            notes.warn(
                "bad-expression", f"the expression of {value.name} cannot be read: {error}", "", *path, "expression"
            )
    secret = None
    if value.value_from is not None:
        if value.value_from.ref is not None:
            notes.lost(f"valueFrom.ref of {value.name} is not read", "write the value itself", *path, "valueFrom")
        if value.value_from.secret is not None:
            secret = ValueFrom(value.value_from.secret)
    written = UNSET if value.value is None else value.value
    return OptionValue(value.name, written, secret, expression)


def _blocks(
    blocks: list[GreenhouseClusterValues] | None, notes: _Notes, field: str
) -> list[ClusterOptionOverride] | None:
    if blocks is None:
        return None
    made = []
    for index, block in enumerate(blocks):
        path: Path = ("spec", field, index, "overrides")
        values = [_value(value, notes, (*path, position)) for position, value in enumerate(block.overrides)]
        made.append(ClusterOptionOverride(block.cluster_name, values))
    return made


def _wait_for(items: list[GreenhouseWaitFor] | None) -> Iterator[WaitFor]:
    for item in items or []:
        yield WaitFor(item.plugin_ref.name, item.plugin_ref.plugin_preset)


def _cluster(spec: GreenhouseClusterSpec, notes: _Notes) -> ClusterSpec:
    if spec.access_mode is not None:
        notes.lost(
            "accessMode has no counterpart here", "say how the cluster is reached in spec.access", "spec", "accessMode"
        )
    if spec.kube_config is not None:
        notes.lost("kubeConfig has no counterpart here", "", "spec", "kubeConfig")
    return ClusterSpec()


def _catalog(spec: GreenhouseCatalogSpec, notes: _Notes) -> CatalogSpec:
    return CatalogSpec([_catalog_source(each, notes, index) for index, each in enumerate(spec.sources)])


def _catalog_source(source: GreenhouseCatalogSource, notes: _Notes, index: int) -> CatalogSource:
    """There a source offers what stands at its ref, and no version before it; the first of sha, tag, branch counts."""
    ref = source.ref
    revision = None
    if ref is not None:
        tag, branch = (None if ref.sha else ref.tag), (None if ref.sha or ref.tag else ref.branch)
        revision = GitRevision(tag, ref.sha, branch)
    rename = []
    for position, each in enumerate(source.overrides or []):
        path = ("spec", "sources", index, "overrides", position)
        if each.alias is not None:
            rename.append(CatalogRename(each.name, each.alias))
        if each.repository is not None:
            notes.lost(f"the chart repository of {each.name} stays as it is", "write a definition of your own", *path)
        if each.options_override is not None:
            notes.lost(f"defaults of {each.name} stay as they are", "write them as a PluginOverride", *path)
    return CatalogSource(
        git=CatalogGit(source.repository, revision, versions="Head"),
        include=source.resources,
        interval=_interval(source.interval, notes, index),
        secret_ref=SecretRef(source.secret_name) if source.secret_name is not None else None,
        rename=rename or None,
    )


def _interval(text: str | None, notes: _Notes, index: int) -> str | None:
    """An interval as both write it; there Go's fractions are allowed, too."""
    try:
        if text is not None:
            parse_duration(text)
    except ValueError:
        notes.lost(f"the interval {text} is not read", "write one such as 30m", "spec", "sources", index, "interval")
        return None
    return text


def _organization_spec(spec: GreenhouseOrganizationSpec, notes: _Notes) -> OrganizationSpec:
    for field in msgspec.to_builtins(spec):
        notes.lost(f"{field} of an Organization has no counterpart here", "", "spec", field)
    return OrganizationSpec()


_PRESET_MOVED: Moved = ((("spec", "plugin", "pluginDefinition"), ("spec", "plugin", "pluginDefinitionRef")),)
_PLUGIN_MOVED: Moved = ((("spec", "pluginDefinition"), ("spec", "pluginDefinitionRef")),)
_DEFINITION_MOVED: Moved = (
    (("spec", "source", "helm", "chart"), ("spec", "helmChart", "name")),
    (("spec", "source", "helm"), ("spec", "helmChart")),
    (("spec", "source"), ("spec", "helmChart")),
)

_TRANSLATIONS: dict[str, _Translation] = {
    "PluginDefinition": _Translation("PluginDefinition", GreenhouseDefinitionSpec, _definition, _DEFINITION_MOVED),
    "ClusterPluginDefinition": _Translation(
        "PluginDefinition", GreenhouseDefinitionSpec, _definition, _DEFINITION_MOVED
    ),
    "PluginPreset": _Translation("PluginPreset", GreenhousePresetSpec, _preset, _PRESET_MOVED),
    "Plugin": _Translation("Plugin", GreenhousePluginSpec, _plugin, _PLUGIN_MOVED),
    "Catalog": _Translation("Catalog", GreenhouseCatalogSpec, _catalog),
    "Cluster": _Translation("Cluster", GreenhouseClusterSpec, _cluster),
    "Organization": _Translation("Organization", GreenhouseOrganizationSpec, _organization_spec),
}
