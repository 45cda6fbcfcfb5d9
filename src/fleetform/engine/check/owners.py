"""Presets and hand-made plugins."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fleetform.engine.bindings.compile import binds_variables
from fleetform.engine.check.bindings import lint_bindings
from fleetform.engine.check.configs import lint_configs
from fleetform.engine.check.deliveries import lint_delivery
from fleetform.engine.check.references import (
    definition_may_be_there,
    has_unreadable_version,
    lint_cluster_name,
    lint_reference,
)
from fleetform.engine.check.report import Report, exactly_one
from fleetform.engine.check.rollouts import lint_rollout
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.check.times import lint_time
from fleetform.engine.check.transforms import lint_flux_renders, lint_patches
from fleetform.engine.check.values import (
    LocatedValue,
    lint_rules,
    lint_written,
    option_names,
    report_undeclared,
    written_values,
)
from fleetform.engine.check.variable_references import lint_values_for_others
from fleetform.engine.check.windows import lint_windows_named
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import definition_of
from fleetform.engine.versions.choose import choose
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.preset import DefinitionRef, OwnerSpec, PluginPresetSpec, PluginSpec, Upgrades
from fleetform.model.objects import Object, Path
from fleetform.model.results.decisions import Gate, Steps
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.names import generated_name
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.versions import VersionError, parse_version

_ONLY_WITH_PRESET = ("optionValues", "configs", "presetRef", "clusterName")


def lint_preset(object_: Object[PluginPresetSpec], known: Index) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    if spec.cluster_selector is None and spec.placement is None and not object_.conventions.selector_optional:
        hint = "write clusterSelector: {} for all clusters of the organization"
        report.error("missing-field", "a preset must say which clusters it selects", hint, "spec")
    exactly_one(report, spec, {"cluster_selector": "clusterSelector", "placement": "placement"}, "spec", at_least=0)
    lint_selector(report, spec.cluster_selector, known, "spec", "clusterSelector")
    if spec.placement is not None:
        lint_reference(report, known, "Placement", spec.placement.name, "spec", "placement", "name")
    template = spec.plugin
    definition, wanted = definition_of(template.plugin_definition, template.plugin_definition_version)
    written, beside = template.plugin_definition, template.plugin_definition_version
    if isinstance(written, DefinitionRef) and written.version is not None and beside not in (None, written.version):
        message = f"two versions are given: {written.version} and {beside}"
        report.error("exactly-one", message, "keep one of them", "spec", "plugin", "pluginDefinitionVersion")
    _lint_definition(report, known, definition, wanted, _version_place(written, ("spec", "plugin")))
    readable = lint_written(report, written_values(template.option_values, ("spec", "plugin", "optionValues")))
    readable += _lint_narrower_values(report, spec, known)
    lint_configs(report, known, definition, template.configs, ("spec", "plugin", "configs"))
    for index, group in enumerate(spec.groups or []):
        lint_configs(report, known, definition, group.configs, ("spec", "groups", index, "configs"))
    _lint_against_definition(report, known, definition, readable)
    _lint_common(report, object_, known)
    return report.found


def _lint_narrower_values(report: Report, spec: PluginPresetSpec, known: Index) -> list[tuple[LocatedValue, Steps]]:
    """Groups and blocks of one cluster; returns those of their values that can be read."""
    readable = []
    names: dict[str, int] = {}
    for index, group in enumerate(spec.groups or []):
        path: Path = ("spec", "groups", index)
        exactly_one(report, group, {"cluster_selector": "clusterSelector", "placement": "placement"}, *path)
        lint_selector(report, group.cluster_selector, known, *path, "clusterSelector")
        if group.placement is not None:
            lint_reference(report, known, "Placement", group.placement.name, *path, "placement", "name")
        if group.name in names:
            related = (report.object.at("spec", "groups", names[group.name], "name"),)
            message = f"two groups are named {group.name}"
            report.error("duplicate-object", message, "rename one", *path, "name", related=related)
        names.setdefault(group.name, index)
        readable += lint_written(report, written_values(group.option_values, (*path, "optionValues")))
        if group.rollout is not None:
            lint_rollout(report, group.rollout, known, *path, "rollout")
    for field, blocks in (
        ("clusterOptionOverrides", spec.cluster_option_overrides),
        ("clusterOverrides", spec.cluster_overrides),
    ):
        for index, block in enumerate(blocks or []):
            path = ("spec", field, index)
            lint_cluster_name(report, block.cluster_name, known, *path, "clusterName")
            readable += lint_written(report, written_values(block.overrides, (*path, "overrides")))
    return readable


def lint_plugin(object_: Object[PluginSpec], known: Index) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    written = written_values(spec.option_values, ("spec", "optionValues"))
    readable = lint_written(report, written)
    if spec.preset_ref is not None:
        _lint_instance(report, spec, known, readable)
        preset = known.preset(object_.ref.organization, spec.preset_ref.name)
        if preset is not None and not preset.conventions.lenient:
            why = "" if binds_variables(preset) else f"the preset {preset.ref.name} has no section of bindings"
            lint_values_for_others(report, written, why, "add controlPlaneBindings: [] to the preset")
        return report.found
    if object_.conventions.cluster_optional and spec.cluster_name is None:
        message = (
            f"the Plugin {object_.ref.name} names no cluster: it runs beside the control plane, and not in the fleet"
        )
        report.warn("no-effect", message, "name a cluster, if it is meant for one", "spec")
        return report.found
    for attribute, field in (("plugin_definition", "pluginDefinition"), ("cluster_name", "clusterName")):
        if not getattr(spec, attribute):
            report.error("missing-field", f"a Plugin needs the field {field}", f"add {field}", "spec")
    if spec.cluster_name is not None:
        lint_cluster_name(report, spec.cluster_name, known, "spec", "clusterName")
    if spec.plugin_definition:
        definition, wanted = definition_of(spec.plugin_definition, spec.plugin_definition_version)
        _lint_definition(report, known, definition, wanted, _version_place(spec.plugin_definition, ("spec",)))
        _lint_against_definition(report, known, definition, readable)
        lint_configs(report, known, definition, spec.configs, ("spec", "configs"))
    _lint_common(report, object_, known)
    return report.found


def _lint_instance(
    report: Report, spec: PluginSpec, known: Index, readable: Sequence[tuple[LocatedValue, Steps]]
) -> None:
    """A Plugin beside a preset holds values and configs only, and bears the name that the preset generates (B4)."""
    assert spec.preset_ref is not None
    organization = report.object.ref.organization
    for written in msgspec.to_builtins(spec):
        if written not in _ONLY_WITH_PRESET:
            message = f"with presetRef, {written} is set by the preset"
            report.error("two-owners", message, "keep only optionValues and configs", "spec", written)
    preset = known.preset(organization, spec.preset_ref.name)
    if preset is None:
        if known.snapshot.unreadable.may_hold("PluginPreset", spec.preset_ref.name, organization):
            return
        presets = [ref.name for ref in known.snapshot.presets if ref.organization == organization]
        kind = report.object.conventions.own_kinds.get("PluginPreset", "preset")
        hint = "add the preset, or drop presetRef" if kind == "preset" else f"add the {kind} to the input"
        message = f"there is no {kind} {spec.preset_ref.name}"
        hint = did_you_mean(spec.preset_ref.name, presets, hint)
        report.warn("missing-reference", message, hint, "spec", "presetRef", "name")
        return
    name, generated = report.object.ref.name, known.generated_names(organization, preset.ref.name)
    by_cluster = report.object.conventions.named_by_cluster
    if by_cluster or (spec.cluster_name and name == generated_name(preset.ref.name, spec.cluster_name)):
        cluster = spec.cluster_name or ""
        lint_cluster_name(report, cluster, known, "spec", "clusterName")
    else:
        cluster = generated.get(name, "")
        if not cluster or spec.cluster_name not in (None, cluster):
            expected = generated_name(preset.ref.name, spec.cluster_name or "<cluster>")
            message = f"{name} is not the name that preset {preset.ref.name} gives its plugin there"
            report.error("bad-name", message, f"name it {expected}", "metadata", "name")
    _lint_selected(report, known, preset, cluster, named=spec.cluster_name is not None)
    definition, _ = definition_of(preset.spec.plugin.plugin_definition, None)
    _lint_against_definition(report, known, definition, readable)
    lint_configs(report, known, definition, spec.configs, ("spec", "configs"))


def _lint_selected(report: Report, known: Index, preset: Object[PluginPresetSpec], name: str, named: bool) -> None:
    """A Plugin beside a preset that does not select its cluster has no effect (S62)."""
    cluster, owner = known.clusters.of(report.object.ref.organization).get(name), known.owners.get(preset)
    if cluster is None or owner is None or any(each.owner is owner for each in known.owners_on(cluster)):
        return
    message = f"preset {preset.ref.name} does not select {name}: the Plugin has no effect"
    hint = "drop it, or have the preset select the cluster"
    if owner.placed_by_groups:
        message = f"no placement of {preset.ref.name} chooses {name}: the add-on is not installed there"
        hint = "drop it, or have a placement choose the cluster"
    report.warn("no-effect", message, hint, "spec", "clusterName" if named else "presetRef")


def _version_place(written: DefinitionRef | str | None, path: Path) -> tuple[Path, Path]:
    """Where the definition's name and its version stand."""
    place = (*path, "pluginDefinition")
    if isinstance(written, DefinitionRef):
        return (*place, "name"), (*place, "version")
    return place, (*path, "pluginDefinitionVersion")


def _lint_definition(
    report: Report, known: Index, definition: str, wanted: str | None, places: tuple[Path, Path]
) -> None:
    organization = report.object.ref.organization
    owner = known.owners.get(report.object)
    offers = known.definitions.offers(owner) if owner else known.definitions.offered_to(organization, definition)
    if definition_may_be_there(report, known, definition):
        return
    if not offers:
        message = f"there is no definition {definition} here"
        report.warn("missing-definition", message, _hint_at_definition(known, organization, definition), *places[0])
        return
    chosen = choose(offers, definition, wanted, known.definitions.rules(organization, definition))
    try:
        found = parse_range(wanted or "*")
    except RangeError:
        if isinstance(chosen, Gate):
            report.error("bad-version", chosen.message, chosen.do, *places[1])
        return
    if wanted is not None and found.ends_at_wildcard:
        message = f"{wanted} ends at its x; npm and Helm read it wider"
        report.note("range-note", message, "write ~ for patches of one minor version, ^ without x for more", *places[1])
    if wanted is not None and found.exact is None and report.object.ref.kind == "Plugin":
        message = f"a Plugin made by hand names one version, not the range {wanted}"
        report.error("bad-version", message, "pin a version, or leave it out for the newest", *places[1])
    if isinstance(chosen, Gate):
        report.warn("missing-version", chosen.message, chosen.do, *(places[1] if wanted else places[0]))


def _hint_at_definition(known: Index, organization: str, definition: str) -> str:
    """What to write in place of a definition that is not offered: its kind, its organization, or another name."""
    homes = [home for home, name in known.definitions.defined() if name == definition]
    if organization in homes:
        return "there is a PluginDefinition of that name: write kind: PluginDefinition"
    if PLATFORM_NAMESPACE in homes:
        return "there is a ClusterPluginDefinition of that name: write kind: ClusterPluginDefinition"
    if homes:
        there = f"there is one in {', '.join(homes)}, which {organization} does not see"
        return f"{there}: write namespace: {organization} into it, or give -n {organization} if it has no namespace"
    return did_you_mean(definition, known.definitions.names(organization), "add the definition, or fix the name")


def _lint_against_definition(
    report: Report, known: Index, definition: str, readable: Sequence[tuple[LocatedValue, Steps]]
) -> None:
    owner = known.owners.get(report.object)
    revisions = known.definitions.of(report.object.ref.organization, definition)
    revisions = list(known.definitions.offers(owner).values()) if owner is not None else revisions
    if not revisions:
        return
    sources = [each.object.spec.source for each in revisions]
    if getattr(report.object.spec, "substitute", None) and all(each and each.helm is not None for each in sources):
        message = "variables have no effect on a Helm chart"
        report.warn("no-effect", message, "set its options, which may refer to variables", "spec", "substitute")
    for each, steps in readable:
        declared = lint_rules(report, each, steps, revisions, known.binds(report.object))
        if not declared and not has_unreadable_version(report, known, definition):
            names = option_names(revisions)
            report_undeclared(report, each, definition, names, error=not report.object.conventions.lenient)


def _lint_common(report: Report, owner: Object[OwnerSpec], known: Index) -> None:
    """What presets and hand-made plugins have in common."""
    spec = owner.spec
    exactly_one(report, spec, {"rollout_policy": "rolloutPolicy", "rollout": "rollout"}, "spec", at_least=0)
    if spec.rollout is not None and not isinstance(spec.rollout, str):
        lint_rollout(report, spec.rollout, known, "spec", "rollout")
    if spec.rollout_policy is not None:
        place = ("spec", "rolloutPolicy")
        lint_reference(report, known, "RolloutPolicy", spec.rollout_policy, *place, severity="error")
    lint_windows_named(report, spec.update_windows, known, "spec", "updateWindows")
    lint_delivery(report, spec.delivery, known, "spec", "delivery")
    upgrades = spec.upgrades or Upgrades()
    for index, acknowledged in enumerate(upgrades.acknowledged or []):
        path: Path = ("spec", "upgrades", "acknowledged", index)
        lint_selector(report, acknowledged.cluster_selector, known, *path, "clusterSelector")
        try:
            parse_version(acknowledged.version)
        except VersionError as error:
            report.error("bad-version", str(error), "name the version that is fine", *path, "version")
    if upgrades.emergency is not None:
        lint_time(report, upgrades.emergency.expires, "spec", "upgrades", "emergency", "expires")
    for index, wait in enumerate(spec.wait_for or []):
        exactly_one(report, wait, {"plugin": "plugin", "preset": "preset"}, "spec", "waitFor", index)
    lint_patches(report, spec.patches)
    if owner in known.owners:
        lint_flux_renders(report, known.owners[owner], spec.delivery, known)
    lint_bindings(report, owner)
