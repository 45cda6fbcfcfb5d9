"""Cluster selectors: readable, unambiguous, naming clusters that exist."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.check.report import Report
from fleetform.engine.index.index import Index
from fleetform.model.kinds.base import ClusterSelector, ClusterSelectors
from fleetform.model.objects import Path
from fleetform.model.shape import did_you_mean
from fleetform.syntax.selectors import SelectorError, compile_clusters


def lint_selector(report: Report, selectors: ClusterSelectors | None, known: Index, *path: str | int) -> None:
    if selectors is None:
        return
    try:
        compile_clusters(selectors)
    except SelectorError as error:
        report.error(error.code, error.message, "fix the selector", *path, *error.where)
    for place, selector in _each(selectors, path):
        if selector.label_selector is not None and not _asks(selector.label_selector) and selector.cluster_names:
            message = "an empty labelSelector beside clusterNames adds nothing: only the named clusters are selected"
            report.warn("ambiguous-selector", message, "drop the labelSelector, or the names", *place, "labelSelector")
        for field, names in (("clusterNames", selector.cluster_names), ("ignoreClusters", selector.ignore_clusters)):
            for index, name in enumerate(names or []):
                lint_cluster_name(report, name, known, *place, field, index)


def lint_cluster_name(report: Report, name: str, known: Index, *path: str | int) -> None:
    clusters = known.clusters.of(report.object.ref.organization)
    if name not in clusters:
        hint = did_you_mean(name, clusters, "add the cluster, or drop the name")
        report.warn("unknown-name", f"there is no cluster {name} here", hint, *path)


def _asks(selector: object) -> bool:
    return bool(getattr(selector, "match_labels", None) or getattr(selector, "match_expressions", None))


def _each(selectors: ClusterSelectors, path: Path) -> Iterator[tuple[Path, ClusterSelector]]:
    if isinstance(selectors, ClusterSelector):
        yield path, selectors
    else:
        for index, selector in enumerate(selectors):
            yield (*path, index), selector
