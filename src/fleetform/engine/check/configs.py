"""Config references: types that the definition takes, objects within reach, none twice."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.engine.check.report import Report
from fleetform.engine.configs.combine import ConfigIndex
from fleetform.engine.configs.references import default_references, may_use, references_of
from fleetform.engine.index.index import Index
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.preset import ConfigRef
from fleetform.model.objects import At, Object, Path
from fleetform.model.results.configs import ConfigReference, Identity
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean


def lint_configs(
    report: Report, known: Index, definition: str, written: Sequence[ConfigRef] | None, path: Path
) -> None:
    """What is wrong with a list of configs."""
    if not written:
        return
    revisions = known.definitions.of(report.object.ref.organization, definition)
    types = {(each.group, each.resource) for one in revisions for each in one.object.spec.configs or ()}
    seen: dict[Identity, At] = {}
    for index, each in enumerate(references_of(report.object, written, path, 2)):
        at = (*path, index)
        if revisions and each.type not in types and not report.object.conventions.any_config:
            names = sorted(_type_name(one) for one in types)
            listed = f"it takes {', '.join(names)}" if names else "it takes none"
            message = f"{definition} takes no config of type {_type_name(each.type)}"
            report.error("unsupported-config", message, did_you_mean(_type_name(each.type), names, listed), *at)
        if each.identity in seen:
            message = f"the config {_name(each)} is named twice"
            report.warn("repeated-value", message, "keep one of them", *at, related=(seen[each.identity],))
        seen.setdefault(each.identity, report.object.at(*at))
        lint_reach(report, each, known.configs, at)


def lint_default_configs(definition: Object[PluginDefinitionSpec], known: Index) -> list[Diagnostic]:
    """What is wrong with the configs that a definition names itself."""
    report = Report(definition)
    for each in default_references(definition):
        lint_reach(report, each, known.configs, each.path)
    return report.found


def lint_reach(report: Report, reference: ConfigReference, index: ConfigIndex, path: Path) -> None:
    """A config must lie within reach, and should be there; one of somebody else's is no more than not there."""
    if not may_use(report.object, reference.identity):
        own = report.object.ref.organization
        message = f"the config {_name(reference)} is out of reach: configs must be in {own} or fleetform-system"
        report.error("out-of-reach", message, f"keep a copy in {own}", *path)
    elif index.find(reference.identity) is None:
        message = f"there is no config {_name(reference)} in the input"
        report.warn("missing-reference", message, "add it, or fix the name", *path)


def _type_name(type_: tuple[str, str]) -> str:
    group, resource = type_
    return f"{resource}.{group}" if group else resource


def _name(reference: ConfigReference) -> str:
    _, _, namespace, name = reference.identity
    return f"{_type_name(reference.type)} {namespace}{'/' if namespace else ''}{name}"
