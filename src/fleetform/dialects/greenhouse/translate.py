"""Greenhouse's specs in the native shape, one function per kind; what has no counterpart is noted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from fleetform.dialects.greenhouse.expressions import UnreadableExpressionError, as_cel
from fleetform.dialects.greenhouse.injected import PREFIX
from fleetform.dialects.greenhouse.kinds import (
    GreenhouseCatalogSource,
    GreenhouseCatalogSpec,
    GreenhouseClusterSpec,
    GreenhouseClusterValues,
    GreenhouseDeclaredOption,
    GreenhouseDefinitionRef,
    GreenhouseDefinitionSpec,
    GreenhouseOrganizationSpec,
    GreenhousePluginSpec,
    GreenhousePluginTemplate,
    GreenhousePresetSpec,
    GreenhouseValue,
    GreenhouseWaitFor,
)
from fleetform.dialects.manifest import Manifest
from fleetform.model.kinds.base import ClusterSelector, OptionValue, OptionValues, SecretKey, SecretRef, ValueFrom
from fleetform.model.kinds.definition import (
    CatalogGit,
    CatalogOverride,
    CatalogRename,
    CatalogSource,
    CatalogSpec,
    GitRevision,
    HelmSource,
    Option,
    OptionDefault,
    PluginDefinitionSpec,
    Source,
)
from fleetform.model.kinds.fleet import Access, ClusterSpec, KubeconfigAccess, OrganizationSpec
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    PluginPresetSpec,
    PluginSpec,
    PluginTemplate,
    WaitFor,
)
from fleetform.model.objects import Path
from fleetform.syntax.times import parse_duration
from fleetform.syntax.trees import YamlMap

SUSPENDED = "greenhouse.sap/suspend"
_KUBECONFIG = "greenhousekubeconfig"


def translate_definition(spec: GreenhouseDefinitionSpec, manifest: Manifest) -> PluginDefinitionSpec:
    source = None
    if spec.helm_chart is not None:
        chart = spec.helm_chart
        # Without a repository the name is a path, which lies beside the definition.
        source = Source(helm=HelmSource(chart.repository or ".", chart.name, chart.version or None))
    if spec.ui_application is not None:
        manifest.note("uiApplication has no counterpart here", "keep it in Greenhouse", "spec", "uiApplication")
    if spec.weight is not None:
        manifest.note("weight has no counterpart here", "", "spec", "weight")
    options: list[Option] = [
        GreenhouseDeclaredOption(
            each.name, each.type, each.default, each.required, each.description, each.display_name, each.regex
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


def translate_preset(spec: GreenhousePresetSpec, manifest: Manifest) -> PluginPresetSpec:
    path: Path = ("spec", "plugin")
    _note_lost_plugin_fields(spec.plugin, manifest, path)
    selector = spec.cluster_selector
    if selector is not None and not selector.match_labels and not selector.match_expressions:
        message, hint = "Greenhouse refuses a preset with an empty clusterSelector", "select the clusters by a label"
        manifest.error("bad-value", message, hint, "spec", "clusterSelector")
    return PluginPresetSpec(
        plugin=PluginTemplate(
            _definition_ref(spec.plugin) or "",
            release_name=spec.plugin.release_name,
            release_namespace=spec.plugin.release_namespace,
            option_values=_values(spec.plugin.option_values, manifest, (*path, "optionValues")),
        ),
        cluster_selector=None
        if selector is None
        else ClusterSelector(match_labels=selector.match_labels, match_expressions=selector.match_expressions),
        cluster_option_overrides=_blocks(spec.cluster_option_overrides, manifest, "clusterOptionOverrides"),
        cluster_overrides=_blocks(spec.cluster_overrides, manifest, "clusterOverrides"),
        wait_for=list(_wait_for(spec.wait_for, manifest)) or None,
        deletion_policy=spec.deletion_policy or spec.plugin.deletion_policy,
    )


def translate_plugin(spec: GreenhousePluginSpec, manifest: Manifest) -> PluginSpec:
    _note_lost_plugin_fields(spec, manifest, ("spec",))
    return PluginSpec(
        plugin_definition=_definition_ref(spec),
        cluster_name=spec.cluster_name,
        release_name=spec.release_name,
        release_namespace=spec.release_namespace,
        option_values=_values(spec.option_values, manifest, ("spec", "optionValues")),
        wait_for=list(_wait_for(spec.wait_for, manifest)) or None,
        deletion_policy=spec.deletion_policy,
        suspend=SUSPENDED in (manifest.metadata.annotations or {}),
    )


def _definition_ref(spec: GreenhousePluginTemplate) -> DefinitionRef | None:
    """pluginDefinitionRef, or the older and the planned spelling; without a kind it is the organization's own."""
    ref = spec.plugin_definition_ref or spec.plugin_definition
    if isinstance(ref, GreenhouseDefinitionRef):
        kind = ref.kind or "PluginDefinition"
        return DefinitionRef(ref.name, kind, ref.version or spec.plugin_definition_version)
    return DefinitionRef(ref, version=spec.plugin_definition_version) if ref else None


def _note_lost_plugin_fields(spec: GreenhousePluginTemplate, manifest: Manifest, path: Path) -> None:
    if spec.display_name is not None:
        manifest.note("a plugin's displayName has no counterpart here", "", *path, "displayName")
    if spec.ignore_differences is not None:
        manifest.note("ignoreDifferences has no counterpart here", "", *path, "ignoreDifferences")


def _values(values: list[GreenhouseValue] | YamlMap | None, manifest: Manifest, path: Path) -> OptionValues | None:
    """Values as they are written, without those that Greenhouse itself wrote into a Plugin."""
    if values is None or isinstance(values, dict):
        return values
    kept = written_by_people(values, manifest.kind)
    if len(kept) < len(values):
        manifest.note(f"values of {PREFIX.rstrip('.')} are added by Greenhouse itself", "", *path)
    return [_value(values[index], manifest, (*path, index)) for index in kept]


def written_by_people(values: list[GreenhouseValue], kind: str) -> list[int]:
    """The positions of values that somebody wrote; a live Plugin also has those that Greenhouse adds by itself."""
    return [index for index, each in enumerate(values) if kind != "Plugin" or not each.name.startswith(PREFIX)]


def _value(value: GreenhouseValue, manifest: Manifest, path: Path) -> OptionValue:
    expression = None
    if value.expression is not None:
        try:
            expression = as_cel(value.expression)
        except UnreadableExpressionError as error:
            # Kept as it is: no value comes of it, which blocks the plugins that it is for.
            expression = value.expression
            message = f"the expression of {value.name} cannot be read: {error}"
            manifest.warn("bad-expression", message, "fix the expression", *path, "expression")
    secret, reference = None, value.value_from.ref if value.value_from is not None else None
    if reference is not None:
        manifest.note(f"valueFrom.ref of {value.name} is not read", "write the value itself", *path, "valueFrom")
    if value.value_from is not None and value.value_from.secret is not None:
        secret = ValueFrom(value.value_from.secret)
    written = UNSET if value.value is None else value.value
    if written is UNSET and secret is None and expression is None and reference is None:
        hint = "add value, valueFrom or expression"
        manifest.error("exactly-one", f"{value.name} has no value, which Greenhouse refuses", hint, *path)
    return OptionValue(value.name, written, secret, expression)


def _blocks(
    blocks: list[GreenhouseClusterValues] | None, manifest: Manifest, field: str
) -> list[ClusterOptionOverride] | None:
    if blocks is None:
        return None
    made = []
    for index, block in enumerate(blocks):
        path: Path = ("spec", field, index, "overrides")
        values = [_value(value, manifest, (*path, position)) for position, value in enumerate(block.overrides)]
        made.append(ClusterOptionOverride(block.cluster_name, values))
    return made


def _wait_for(items: list[GreenhouseWaitFor] | None, manifest: Manifest) -> Iterator[WaitFor]:
    first: dict[WaitFor, int] = {}
    for index, item in enumerate(items or []):
        wait = WaitFor(item.plugin_ref.name, item.plugin_ref.plugin_preset)
        if first.setdefault(wait, index) != index:
            what, related = wait.plugin or wait.preset, ("spec", "waitFor", first[wait])
            message = f"waitFor names {what} twice, which Greenhouse refuses"
            manifest.error("duplicate-object", message, "keep one of them", "spec", "waitFor", index, related=related)
        yield wait


def translate_cluster(spec: GreenhouseClusterSpec, manifest: Manifest) -> ClusterSpec:
    if spec.access_mode is not None:
        hint = "configure the access to the cluster in spec.access"
        manifest.note("accessMode has no counterpart here", hint, "spec", "accessMode")
    if spec.kube_config is not None:
        manifest.note("kubeConfig has no counterpart here", "", "spec", "kubeConfig")
    # Greenhouse keeps the kubeconfig that it itself uses in a Secret of the cluster's name.
    secret = SecretKey(manifest.name, _KUBECONFIG)
    return ClusterSpec(access=Access(kubeconfig=KubeconfigAccess(secret)))


def translate_catalog(spec: GreenhouseCatalogSpec, manifest: Manifest) -> CatalogSpec:
    """In Greenhouse a source offers what is at its ref, and no earlier version."""
    sources = []
    for index, source in enumerate(spec.sources):
        at: Path = ("spec", "sources", index)
        ref, revision = source.ref, None
        if ref is not None:
            # The first of sha, tag and branch counts.
            tag, branch = (None if ref.sha else ref.tag), (None if ref.sha or ref.tag else ref.branch)
            revision = GitRevision(tag, ref.sha, branch)
        interval = source.interval
        try:
            if interval is not None:
                parse_duration(interval)
        except ValueError:
            # Greenhouse also takes fractions, as Go does.
            manifest.note(f"the interval {interval} is not read", "write one such as 30m", *at, "interval")
            interval = None
        sources.append(
            CatalogSource(
                git=CatalogGit(source.repository, revision, versions="Head"),
                include=source.resources,
                interval=interval,
                secret_ref=SecretRef(source.secret_name) if source.secret_name is not None else None,
                rename=[CatalogRename(each.name, each.alias) for each in source.overrides or [] if each.alias] or None,
                overrides=list(_catalog_overrides(source)) or None,
            )
        )
    return CatalogSpec(sources)


def _catalog_overrides(source: GreenhouseCatalogSource) -> Iterator[CatalogOverride]:
    """What a source changes of definitions, beside their names."""
    for each in source.overrides or []:
        defaults = [OptionDefault(one.name, one.value) for one in each.options_override or []]
        if each.repository or defaults:
            yield CatalogOverride(each.name, each.repository or None, defaults or None)


def translate_organization(spec: GreenhouseOrganizationSpec, manifest: Manifest) -> OrganizationSpec:
    for field in msgspec.to_builtins(spec):
        manifest.note(f"{field} of an Organization has no counterpart here", "", "spec", field)
    return OrganizationSpec()
