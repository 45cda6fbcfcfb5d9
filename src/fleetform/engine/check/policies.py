"""Lifecycle policies, organizations and clusters: rules beyond their shape; and who checks the other kinds."""

from __future__ import annotations

from fleetform.engine.check.catalogs import lint_catalog
from fleetform.engine.check.deliveries import lint_delivery
from fleetform.engine.check.placements import lint_placement
from fleetform.engine.check.references import lint_reference
from fleetform.engine.check.report import Report, exactly_one
from fleetform.engine.check.rollouts import lint_rollout
from fleetform.engine.check.secrets import lint_notification
from fleetform.engine.check.times import lint_duration, lint_time, lint_zone
from fleetform.engine.check.windows import lint_window, lint_windows_named
from fleetform.engine.index.index import Index
from fleetform.engine.versions.lifecycle import DURATIONS, above_ceilings
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import CatalogSpec
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec, RolloutPolicySpec, UpdateWindowSpec
from fleetform.model.kinds.placement import PlacementSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.selectors import SelectorError, check_labels
from fleetform.syntax.versions import VersionError, parse_version


def lint_other(object_: Object[object], known: Index) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    if isinstance(spec, RolloutPolicySpec):
        lint_rollout(report, spec, known, "spec")
    elif isinstance(spec, UpdateWindowSpec):
        lint_window(report, spec, known)
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
    home = report.object.ref.organization
    every = sorted({name for _, name in known.definitions.defined()})
    names = every if home == PLATFORM_NAMESPACE else known.definitions.names(home)
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
    for attribute, field in {**DURATIONS, "unreachable_after": "unreachableAfter"}.items():
        lint_duration(report, getattr(spec, attribute), "spec", field)
    platform = known.snapshot.others.get(Ref("LifecyclePolicy", PLATFORM_NAMESPACE, "default"))
    ceilings = platform.spec if platform is not None and platform is not report.object else None
    for name, ceiling in above_ceilings(ceilings, spec) if isinstance(ceilings, LifecyclePolicySpec) else ():
        message = f"{name} is more than the platform allows, which is {ceiling}"
        report.error("above-ceiling", message, f"choose at most {ceiling}", "spec", name)


def _lint_organization(report: Report, spec: OrganizationSpec, known: Index) -> None:
    if spec.default_rollout_policy is not None:
        place = ("spec", "defaultRolloutPolicy")
        lint_reference(report, known, "RolloutPolicy", spec.default_rollout_policy, *place, severity="error")
    lint_windows_named(report, spec.default_update_windows, known, "spec", "defaultUpdateWindows")
    for index, notification in enumerate(spec.notifications or []):
        exactly_one(report, notification, {"webhook": "webhook", "slack": "slack"}, "spec", "notifications", index)
        lint_notification(report, notification, known, "spec", "notifications", index)
    lint_delivery(report, spec.default_delivery, known, "spec", "defaultDelivery")


def _lint_cluster(report: Report, spec: ClusterSpec) -> None:
    if report.object.metadata.deletion_timestamp is not None:
        message = f"{report.object.ref.name} is being deleted, so presets no longer select it"
        report.note("no-effect", message, "", "metadata", "deletionTimestamp")
    lint_zone(report, spec.time_zone, "spec", "timeZone")
    for index, taint in enumerate(spec.taints or []):
        lint_time(report, taint.time_added, "spec", "taints", index, "timeAdded")
    if spec.access is not None:
        fields = {"kubeconfig": "kubeconfig", "context": "context", "directory": "directory"}
        exactly_one(report, spec.access, fields, "spec", "access")
    if spec.health is not None:
        exactly_one(report, spec.health, {"assume": "assume", "file": "file", "command": "command"}, "spec", "health")
    try:
        check_labels(report.object.labels)
    except SelectorError as error:
        report.error("bad-selector", error.message, "fix the label", "metadata", "labels", *error.where)
