"""Policies, windows, organizations, clusters: rules beyond their shape."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fleetform.engine.check.catalogs import lint_catalog
from fleetform.engine.check.placements import lint_placement
from fleetform.engine.check.references import lint_definition_name, lint_reference
from fleetform.engine.check.report import Report, exactly_one
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.index.index import Index
from fleetform.engine.versions.lifecycle import clamped
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import LabelSelector
from fleetform.model.kinds.definition import CatalogSpec
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec, RolloutPolicySpec, UpdateWindowSpec
from fleetform.model.kinds.placement import PlacementSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.selectors import SelectorError, compile_labels
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version

_FIELD = r"[0-9A-Za-z*/,?#L-]+"
_CRON = re.compile(rf"{_FIELD}( +{_FIELD}){{4}}\Z|@[a-z]+\Z")


def lint_other(object_: Object[object], known: Index) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    if isinstance(spec, RolloutPolicySpec):
        lint_rollout(report, spec, known, "spec")
    elif isinstance(spec, UpdateWindowSpec):
        _lint_window(report, spec, known)
    elif isinstance(spec, OrganizationSpec):
        _lint_organization(report, spec, known)
    elif isinstance(spec, ClusterSpec):
        _lint_cluster(report, spec)
    elif isinstance(spec, LifecyclePolicySpec):
        _lint_lifecycle(report, spec, known)
    elif isinstance(spec, PlacementSpec):
        lint_placement(report, spec, known)
    elif isinstance(spec, CatalogSpec):
        lint_catalog(report, spec)
    return report.found


def _lint_lifecycle(report: Report, spec: LifecyclePolicySpec, known: Index) -> None:
    if report.object.ref.name != "default":
        report.warn("bad-name", "a LifecyclePolicy is named default", "rename it", "metadata", "name")
    names = sorted({name for _, name in known.definitions.defined()})
    for index, rule in enumerate(spec.support or []):
        path = ("spec", "support", index)
        if rule.definition not in names:
            hint = did_you_mean(rule.definition, names, "it may arrive later; else fix the name")
            report.warn("unknown-name", f"there is no definition {rule.definition} here", hint, *path, "definition")
        versions = [("floor", rule.floor)] if rule.floor is not None else []
        for field, version in [*versions, *(("yanked", each) for each in rule.yanked or [])]:
            try:
                parse_version(version)
            except VersionError as error:
                report.error("bad-version", str(error), "write a version such as 1.4.0", *path, field)
        for position, end in enumerate(rule.ends or []):
            lint_time(report, end.at, *path, "ends", position, "at")
            try:
                parse_range(end.version)
            except RangeError as error:
                message = f"{end.version!r} is not a range: {error.message} (column {error.column})"
                report.error("bad-version", message, "write one such as 1.1.x", *path, "ends", position, "version")
    platform = known.snapshot.others.get(Ref("LifecyclePolicy", PLATFORM_NAMESPACE, "default"))
    ceilings = platform.spec if platform is not None and platform is not report.object else None
    for name, ceiling in clamped(ceilings, spec) if isinstance(ceilings, LifecyclePolicySpec) else ():
        message = f"{name} is more than the platform allows; {ceiling} counts"
        report.warn("clamped", message, f"choose at most {ceiling}", "spec", name)


def lint_rollout(report: Report, spec: RolloutPolicySpec, known: Index, *path: str | int) -> None:
    seen: dict[str, int] = {}
    remainders = [index for index, stage in enumerate(spec.stages or []) if stage.remainder]
    if len(remainders) > 1:
        related = (report.object.at(*path, "stages", remainders[0], "remainder"),)
        place = (*path, "stages", remainders[1], "remainder")
        report.error("duplicate-stage", "two stages take the remainder", "keep one of them", *place, related=related)
    for index, stage in enumerate(spec.stages or []):
        place = (*path, "stages", index)
        if stage.name in seen:
            related = (report.object.at(*path, "stages", seen[stage.name], "name"),)
            message = f"the stage {stage.name} is named twice"
            report.error("duplicate-stage", message, "rename one", *place, "name", related=related)
        seen.setdefault(stage.name, index)
        if (stage.cluster_selector is None) == (not stage.remainder):
            message = f"the stage {stage.name} needs one of clusterSelector and remainder: true"
            report.error("exactly-one", message, "keep one of them", *place)
        lint_selector(report, stage.cluster_selector, known, *place, "clusterSelector")


def _lint_window(report: Report, spec: UpdateWindowSpec, known: Index) -> None:
    lint_selector(report, spec.cluster_selector, known, "spec", "clusterSelector")
    forms = {
        "schedule": spec.schedule is not None,
        "from and to": spec.from_ is not None or spec.to is not None,
        "days and start": spec.days is not None or spec.start is not None,
    }
    given = [form for form, present in forms.items() if present]
    if len(given) != 1:
        message = "a window needs exactly one of schedule, from and to, days and start"
        report.error("exactly-one", message, "keep one of them", "spec")
    if ("schedule" in given or "days and start" in given) and spec.duration is None:
        report.error("missing-field", "the window needs the field duration", "add duration: 4h", "spec")
    if spec.schedule is not None and not _CRON.match(spec.schedule):
        hint = 'write minute, hour, day, month and weekday, as in "0 22 * * MON-THU"'
        report.error("bad-value", f"{spec.schedule!r} is not a cron expression", hint, "spec", "schedule")
    if "days and start" in given and (spec.days is None or spec.start is None):
        missing = "start" if spec.start is None else "days"
        report.error("missing-field", f"the window needs the field {missing}", f"add {missing}", "spec")
    for field, text in (("from", spec.from_), ("to", spec.to)):
        lint_time(report, text, "spec", field)
    start, end = [_readable_time(text) for text in (spec.from_, spec.to)]
    if start is not None and end is not None and start >= end:
        report.error("bad-value", "the window ends before it begins", "swap from and to", "spec", "to")
    for index, name in enumerate(spec.plugin_definition_names or []):
        lint_definition_name(report, name, known, "spec", "pluginDefinitionNames", index)
    _lint_zone(report, spec.time_zone, "spec", "timeZone")


def _lint_organization(report: Report, spec: OrganizationSpec, known: Index) -> None:
    if spec.default_rollout_policy is not None:
        place = ("spec", "defaultRolloutPolicy")
        lint_reference(report, known, "RolloutPolicy", spec.default_rollout_policy, *place)
    for index, name in enumerate(spec.default_update_windows or []):
        lint_reference(report, known, "UpdateWindow", name, "spec", "defaultUpdateWindows", index)
    for index, notification in enumerate(spec.notifications or []):
        exactly_one(report, notification, {"webhook": "webhook", "slack": "slack"}, "spec", "notifications", index)
    if spec.default_delivery is not None:
        fields = {"directory": "directory", "git": "git", "kubernetes": "kubernetes", "flux": "flux"}
        exactly_one(report, spec.default_delivery, fields, "spec", "defaultDelivery")


def _lint_cluster(report: Report, spec: ClusterSpec) -> None:
    _lint_zone(report, spec.time_zone, "spec", "timeZone")
    for index, taint in enumerate(spec.taints or []):
        lint_time(report, taint.time_added, "spec", "taints", index, "timeAdded")
    if spec.access is not None:
        fields = {"kubeconfig": "kubeconfig", "context": "context", "directory": "directory"}
        exactly_one(report, spec.access, fields, "spec", "access")
    if spec.health is not None:
        exactly_one(report, spec.health, {"assume": "assume", "file": "file", "command": "command"}, "spec", "health")
    try:
        compile_labels(LabelSelector(match_labels=report.object.labels))
    except SelectorError as error:
        report.error("bad-selector", error.message, "fix the label", "metadata", "labels", *error.where[1:])


def lint_time(report: Report, text: str | None, *path: str | int) -> None:
    if text is not None and _readable_time(text) is None:
        report.error("bad-stamp", f"{text} is not a time", "write 2026-12-31 or an RFC 3339 time", *path)


def _readable_time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text is not None else None
    except ValueError:
        return None


def _lint_zone(report: Report, name: str | None, *path: str | int) -> None:
    if name is None:
        return
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        report.error("bad-value", f"{name} is not a time zone", "write a name such as Europe/Berlin", *path)
