"""Overrides."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.check.report import Report
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.check.values import Written, lint_rules, lint_written, option_names, report_undeclared
from fleetform.engine.check.variable_references import lint_values_for_others
from fleetform.engine.index.index import Index
from fleetform.engine.layers.overrides import has_expired
from fleetform.model.kinds.preset import PluginOverrideSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Steps
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.times import parse_time


def lint_override(object_: Object[PluginOverrideSpec], known: Index, at: datetime) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    lint_selector(report, spec.cluster_selector, known, "spec", "clusterSelector")
    _lint_expiry(report, spec, at)
    items = [
        Written(each.path, ("spec", "overrides", index), "path", each) for index, each in enumerate(spec.overrides)
    ]
    readable = lint_written(report, items)
    why = "" if known.binds(object_) else f"no preset or Plugin of {object_.ref.organization} has a section of bindings"
    lint_values_for_others(report, items, why, "add controlPlaneBindings: [] to those that it reaches")
    names = spec.plugin_definition_names or []
    for index, name in enumerate(names):
        _lint_definition(report, spec, known, name, index, readable)
    if not names:
        _lint_fleet_wide(report, spec, known, readable)
    return report.found


def _lint_expiry(report: Report, spec: PluginOverrideSpec, at: datetime) -> None:
    if spec.expires is None:
        return
    try:
        parse_time(spec.expires)
    except ValueError:
        report.error(
            "bad-stamp", f"{spec.expires} is not a time", "write 2026-12-31 or an RFC 3339 time", "spec", "expires"
        )
        return
    if has_expired(spec, at):
        message = f"the override expired on {spec.expires} and no longer applies"
        report.warn("expired-override", message, "delete it, or move its expiry", "spec", "expires")


def _lint_definition(
    report: Report, spec: PluginOverrideSpec, known: Index, name: str, index: int, readable: list[tuple[Written, Steps]]
) -> None:
    """One that names a definition must name options of it (R0-22)."""
    organization = report.object.ref.organization
    revisions = known.definitions.of(organization, name)
    if not revisions:
        hint = did_you_mean(name, known.definitions.names(organization), "add the definition, or drop the name")
        message = f"there is no definition {name} here"
        report.warn("unknown-name", message, hint, "spec", "pluginDefinitionNames", index)
        return
    binds = known.binds(report.object)
    for each, steps in readable:
        if not lint_rules(report, each, steps, revisions, binds) and not spec.allow_undeclared:
            report_undeclared(report, each, name, option_names(revisions))


def _lint_fleet_wide(
    report: Report, spec: PluginOverrideSpec, known: Index, readable: list[tuple[Written, Steps]]
) -> None:
    revisions = list(known.definitions.all_of(report.object.ref.organization))
    binds = known.binds(report.object)
    for each, steps in readable:
        if revisions and not lint_rules(report, each, steps, revisions, binds) and not spec.allow_undeclared:
            hint = did_you_mean(each.text, option_names(revisions), "it will be skipped everywhere")
            report.warn("undeclared-option", f"no definition here declares {each.text}", hint, *each.name_place)
