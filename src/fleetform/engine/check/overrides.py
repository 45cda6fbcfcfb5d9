"""Overrides."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.check.references import has_unreadable_version, lint_definition_name
from fleetform.engine.check.report import Report
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.check.times import lint_time
from fleetform.engine.check.values import LocatedValue, lint_rules, lint_written, option_names, report_undeclared
from fleetform.engine.check.variable_references import lint_values_for_others
from fleetform.engine.index.index import Index
from fleetform.engine.layers.overrides import has_expired
from fleetform.model.kinds.preset import PluginOverrideSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Steps
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean


def lint_override(object_: Object[PluginOverrideSpec], known: Index, at: datetime) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    lint_selector(report, spec.cluster_selector, known, "spec", "clusterSelector")
    if spec.expires is not None:
        lint_time(report, spec.expires, "spec", "expires")
        if has_expired(spec, at):
            message = f"the override expired on {spec.expires} and no longer applies"
            report.warn("expired-override", message, "delete it, or move its expiry", "spec", "expires")
    items = [
        LocatedValue(each.path, ("spec", "overrides", index), "path", each) for index, each in enumerate(spec.overrides)
    ]
    readable = lint_written(report, items)
    why = "" if known.binds(object_) else f"no preset or Plugin of {object_.ref.organization} has a section of bindings"
    lint_values_for_others(report, items, why, "add controlPlaneBindings: [] to those that it reaches")
    _lint_options(report, spec, known, readable)
    return report.found


def _lint_options(
    report: Report, spec: PluginOverrideSpec, known: Index, readable: list[tuple[LocatedValue, Steps]]
) -> None:
    """An override that names a definition must name options of it; one that names none, options of any (R0-22)."""
    organization, binds = report.object.ref.organization, known.binds(report.object)
    for index, name in enumerate(spec.plugin_definition_names or []):
        revisions = known.definitions.of(organization, name)
        if not revisions:
            lint_definition_name(report, name, known, "spec", "pluginDefinitionNames", index)
            continue
        silent = spec.allow_undeclared or has_unreadable_version(report, known, name)
        for each, steps in readable:
            if not lint_rules(report, each, steps, revisions, binds) and not silent:
                report_undeclared(report, each, name, option_names(revisions))
    every = list(known.definitions.all_of(organization)) if not spec.plugin_definition_names else []
    for each, steps in readable if every else ():
        if not lint_rules(report, each, steps, every, binds) and not spec.allow_undeclared:
            hint = did_you_mean(each.text, option_names(every), "it will be skipped everywhere")
            report.warn("undeclared-option", f"no definition here declares {each.text}", hint, *each.name_place)
