"""Names of clusters, definitions and other objects: what is named should exist. It may arrive later, so these warn.

What is there and cannot be read is not missing: its own errors are reported, and nothing that follows from them (S64).
"""

from __future__ import annotations

from fleetform.engine.check.report import Report
from fleetform.engine.index.index import Index
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.results.diagnostics import Severity
from fleetform.model.shape import did_you_mean


def lint_cluster_name(report: Report, name: str, known: Index, *path: str | int) -> None:
    organization = report.object.ref.organization
    clusters = known.clusters.of(organization)
    if name not in clusters and not known.snapshot.unreadable.may_hold("Cluster", name, organization):
        hint = did_you_mean(name, clusters, "add the cluster, or drop the name")
        report.warn("unknown-name", f"there is no cluster {name} here", hint, *path)


def lint_definition_name(report: Report, name: str, known: Index, *path: str | int) -> None:
    names = known.definitions.names(report.object.ref.organization)
    if name not in names and not definition_may_be_there(report, known, name):
        hint = did_you_mean(name, names, "add the definition, or drop the name")
        report.warn("unknown-name", f"there is no definition {name} here", hint, *path)


def definition_may_be_there(report: Report, known: Index, name: str) -> bool:
    """Whether a definition may be in the input and cannot be read, which is reported where it stands."""
    return known.snapshot.unreadable.may_hold("PluginDefinition", name, *_homes(report))


def has_unreadable_version(report: Report, known: Index, name: str) -> bool:
    """Whether a version of a definition cannot be read: it may declare what the others do not."""
    return known.snapshot.unreadable.holds("PluginDefinition", name, *_homes(report))


def _homes(report: Report) -> tuple[str, str]:
    return report.object.ref.organization, PLATFORM_NAMESPACE


def lint_reference(
    report: Report, known: Index, kind: str, name: str, *path: str | int, severity: Severity = "warning"
) -> None:
    """An object of the same organization. What would be less careful without it is an error: a policy, a window."""
    organization = report.object.ref.organization
    names = known.names(kind, organization)
    if name not in names and not known.snapshot.unreadable.may_hold(kind, name, organization):
        hint = did_you_mean(name, names, "add it, or drop the name")
        tell = report.error if severity == "error" else report.warn
        tell("missing-reference", f"there is no {kind} {name} here", hint, *path)
