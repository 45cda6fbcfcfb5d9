"""Names of clusters, definitions and other objects: what is named should exist. It may arrive later, so these warn."""

from __future__ import annotations

from fleetform.engine.check.report import Report
from fleetform.engine.index.index import Index
from fleetform.model.results.diagnostics import Severity
from fleetform.model.shape import did_you_mean


def lint_cluster_name(report: Report, name: str, known: Index, *path: str | int) -> None:
    clusters = known.clusters.of(report.object.ref.organization)
    if name not in clusters:
        hint = did_you_mean(name, clusters, "add the cluster, or drop the name")
        report.warn("unknown-name", f"there is no cluster {name} here", hint, *path)


def lint_definition_name(report: Report, name: str, known: Index, *path: str | int) -> None:
    names = known.definitions.names(report.object.ref.organization)
    if name not in names:
        hint = did_you_mean(name, names, "add the definition, or drop the name")
        report.warn("unknown-name", f"there is no definition {name} here", hint, *path)


def lint_reference(
    report: Report, known: Index, kind: str, name: str, *path: str | int, severity: Severity = "warning"
) -> None:
    """An object of the same organization. What would be less careful without it is an error: a policy, a window."""
    names = known.names(kind, report.object.ref.organization)
    if name not in names:
        hint = did_you_mean(name, names, "add it, or drop the name")
        tell = report.error if severity == "error" else report.warn
        tell("missing-reference", f"there is no {kind} {name} here", hint, *path)
