"""Placements: predicates, tolerations, scores and groups that can be read and mean something."""

from __future__ import annotations

from fleetform.engine.check.report import Report
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.index.index import Index
from fleetform.engine.placement.choice import expressions_of
from fleetform.engine.placement.expressions import compile_condition
from fleetform.engine.placement.pool import claim_requirements
from fleetform.model.kinds.base import LabelSelector
from fleetform.model.kinds.placement import ClaimSelector, PlacementSpec, Prioritizers, RequiredClusterSelector
from fleetform.model.objects import Path
from fleetform.model.shape import did_you_mean
from fleetform.syntax.cel import ExpressionError
from fleetform.syntax.selectors import SelectorError, compile_labels

BUILT_IN = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory")


def lint_placement(report: Report, spec: PlacementSpec, known: Index) -> None:
    for index, predicate in enumerate(spec.predicates or []):
        if predicate.required_cluster_selector is not None:
            path: Path = ("spec", "predicates", index, "requiredClusterSelector")
            _lint_required(report, predicate.required_cluster_selector, path)
    for index, each in enumerate(spec.tolerations or []):
        path = ("spec", "tolerations", index)
        if not each.key and each.operator != "Exists":
            message = "a toleration without a key tolerates nothing unless its operator is Exists"
            report.error("bad-value", message, "name a key, or write operator: Exists", *path)
        if each.operator == "Exists" and each.value:
            report.error("bad-value", "with Exists a value has no effect", "drop the value", *path, "value")
    _lint_scores(report, spec)
    groups = spec.decision_groups
    for index, group in enumerate((groups.decision_groups if groups is not None else None) or []):
        path = ("spec", "decisionGroups", "decisionGroups", index, "groupClusterSelector")
        lint_selector(report, group.group_cluster_selector, known, *path)
        if group.group_cluster_selector is not None:
            _lint_claims(report, group.group_cluster_selector.claim_selector, path)


def _lint_required(report: Report, required: RequiredClusterSelector, path: Path) -> None:
    try:
        compile_labels(required.label_selector or LabelSelector())
    except SelectorError as error:
        report.error("bad-selector", error.message, "fix the selector", *path, "labelSelector", *error.where)
    _lint_claims(report, required.claim_selector, path)
    for index, text in enumerate(expressions_of(required)):
        try:
            compile_condition(text)
        except ExpressionError as error:
            message = f"the expression cannot be read: {error}"
            hint = "it is CEL over cluster and organization, or over managedCluster"
            report.error("bad-expression", message, hint, *path, "celSelector", "celExpressions", index)


def _lint_claims(report: Report, selector: ClaimSelector | None, path: Path) -> None:
    try:
        claim_requirements(selector)
    except SelectorError as error:
        report.error("bad-selector", error.message, "fix the selector", *path, "claimSelector", *error.where)


def _lint_scores(report: Report, spec: PlacementSpec) -> None:
    written = spec.prioritizers
    given = written.configurations if isinstance(written, Prioritizers) else written
    inner = ("configurations",) if isinstance(written, Prioritizers) else ()
    for index, each in enumerate(given or []):
        path, score = ("spec", "prioritizers", *inner, index, "scoreCoordinate"), each.score_coordinate
        if score.type == "AddOn":
            if score.add_on is None:
                report.error("missing-field", "a score of type AddOn needs addOn", "name the resource and score", *path)
        elif score.built_in is None:
            message, hint = "a score of type BuiltIn needs builtIn", f"write one of {', '.join(BUILT_IN)}"
            report.error("missing-field", message, hint, *path)
        elif score.built_in not in BUILT_IN:
            hint = did_you_mean(score.built_in, list(BUILT_IN), f"there are {', '.join(BUILT_IN)}")
            report.error("bad-value", f"there is no score {score.built_in}", hint, *path, "builtIn")
