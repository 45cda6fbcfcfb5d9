"""Cluster selectors: readable, unambiguous, naming clusters that exist."""

from __future__ import annotations

from fleetform.engine.check.references import lint_cluster_name
from fleetform.engine.check.report import Report
from fleetform.engine.index.index import Index
from fleetform.model.kinds.base import ClusterSelector, ClusterSelectors
from fleetform.syntax.selectors import SelectorError, compile_clusters


def lint_selector(report: Report, selectors: ClusterSelectors | None, known: Index, *path: str | int) -> None:
    if selectors is None:
        return
    try:
        compile_clusters(selectors)
    except SelectorError as error:
        report.error(error.code, error.message, "fix the selector", *path, *error.where)
    in_list = [((*path, index), each) for index, each in enumerate(selectors if isinstance(selectors, list) else ())]
    for place, selector in [(path, selectors)] if isinstance(selectors, ClusterSelector) else in_list:
        labels = selector.label_selector
        if labels is not None and not (labels.match_labels or labels.match_expressions) and selector.cluster_names:
            message = "an empty labelSelector beside clusterNames adds nothing: only the named clusters are selected"
            report.warn("ambiguous-selector", message, "drop the labelSelector, or the names", *place, "labelSelector")
        for field, names in (("clusterNames", selector.cluster_names), ("ignoreClusters", selector.ignore_clusters)):
            for index, name in enumerate(names or []):
                lint_cluster_name(report, name, known, *place, field, index)
