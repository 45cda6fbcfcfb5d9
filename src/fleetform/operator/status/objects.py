"""What all other objects tell: whether anything is wrong with them, and what follows from them in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_objects import list_catalogs
from fleetform.app.listing.list_overrides import OverrideReport, override_reports
from fleetform.app.listing.list_revisions import list_revisions
from fleetform.app.scope import Scope
from fleetform.dialects.native.revisions import DEFINITION
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.listed_objects import ListedCatalog, ListedRevision
from fleetform.model.kinds import KINDS
from fleetform.model.kinds.status import (
    CatalogStatus,
    ClusterStatus,
    Condition,
    DefinitionStatus,
    OverrideStatus,
    PlacementStatus,
    RevisionStatus,
    Status,
)
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.operator.status.conditions import condition, sentence
from fleetform.operator.status.wanted import MANAGED_BY, MANAGER, Generated, Wanted
from fleetform.syntax.names import label_value, object_name_of
from fleetform.syntax.times import time_text

_EVERYTHING = Scope(None)
_MOST_FINDINGS = 5


class Validity:
    """What is wrong with objects, by reference: what was found in what was accepted, or why it was refused."""

    def __init__(self, found: Iterable[Diagnostic], refused: Sequence[Finding] = ()) -> None:
        self._told: dict[str, list[tuple[str, str, str]]] = {}
        for each in found:
            if each.object is not None and each.severity != "info":
                self._add(str(each.object), each.severity, each.code, sentence([each.message, each.hint]))
        self._refused = {each.object for each in refused if each.object is not None}
        for name in self._refused:
            self._told.pop(name, None)
        for finding in refused:
            if finding.object is not None:
                self._add(finding.object, finding.severity, finding.code, sentence([finding.message, finding.hint]))

    def _add(self, name: str, severity: str, code: str, message: str) -> None:
        told = (severity, code, message)
        here = self._told.setdefault(name, [])
        if told not in here:
            here.append(told)

    @property
    def refused(self) -> Iterator[Ref]:
        """Native objects among those that were refused."""
        for name in self._refused:
            kind, _, rest = name.partition("/")
            home, _, own = rest.partition("/")
            if kind in KINDS and own:
                yield Ref(kind, home, own)

    def was_refused(self, ref: Ref) -> bool:
        return str(ref) in self._refused

    def of(self, ref: Ref) -> Condition:
        found = sorted(self._told.get(str(ref), ()), key=lambda each: each[0] != "error")
        if not found:
            return condition("Valid", True, "Valid", "nothing is wrong with it")
        severity, code, _ = found[0]
        more = f"and {len(found) - _MOST_FINDINGS} more" if len(found) > _MOST_FINDINGS else ""
        message = sentence([*(f"{each[1]}: {each[2]}" for each in found[:_MOST_FINDINGS]), more])
        if severity == "error":
            return condition("Valid", False, reason_of(code), message)
        return condition("Valid", True, "Warnings", message)


def reason_of(code: str) -> str:
    """A finding's code as the reason of a condition: TwoOwners."""
    return "".join(word.capitalize() for word in code.split("-"))


def objects_told(fleet: Fleet, validity: Validity, heard: Container[Ref]) -> Iterator[Wanted]:
    """All native objects but plugins, presets and what Fleetform makes. heard are clusters that have answered."""
    snapshot = fleet.snapshot
    numbers = _Numbers(fleet, heard)
    for report in override_reports(fleet):
        yield _wanted(report.override, override_status(report, validity), validity)
    for cluster in snapshot.clusters.values():
        if cluster.dialect == "native":
            yield _wanted(cluster, numbers.cluster(cluster, validity), validity)
    for definition in _newest(snapshot.definitions.values()):
        used = DefinitionStatus(plugins=numbers.of_definition[definition], conditions=[validity.of(definition.ref)])
        yield _wanted(definition, used, validity)
    listed = list_catalogs(fleet, _EVERYTHING)
    catalogs = {Ref("Catalog", each.metadata.namespace, each.metadata.name): each for each in listed}
    for object_ in (*snapshot.organizations.values(), *snapshot.others.values()):
        if object_.dialect != "native" or object_.ref.kind not in KINDS or KINDS[object_.ref.kind].written_by_fleetform:
            continue
        conditions = [validity.of(object_.ref)]
        status: Status = Status(conditions=conditions)
        if object_.ref in catalogs:
            status = _catalog(catalogs[object_.ref], conditions)
        elif object_.ref.kind == "Placement":
            placed = fleet.placements.placed(object_.ref)
            chosen = len(placed.chosen) if placed is not None else None
            status = PlacementStatus(number_of_selected_clusters=chosen, conditions=conditions)
        yield _wanted(object_, status, validity)


def override_status(report: OverrideReport, validity: Validity) -> OverrideStatus:
    odd = [*([report.odd] if report.odd else []), *(["tie"] if report.ties else [])]
    return OverrideStatus(
        rank=report.rank,
        plugins=len(report.reached),
        findings=", ".join(odd) or None,
        conditions=[validity.of(report.override.ref)],
    )


def revisions_told(fleet: Fleet) -> Iterator[Wanted]:
    """A PluginDefinitionRevision for each version that is in use, and of others as many as are kept (R2-48)."""
    known = (*fleet.decisions.revisions.items(), *fleet.decisions.retired.items())
    native = {name for name, versions in known if all(each.object.dialect == "native" for each in versions.values())}
    for each in list_revisions(fleet, _EVERYTHING):
        if (each.metadata.namespace, _definition(each)) in native:
            yield structs.replace(_revision(each), is_gone=each.status.prunable)


def _definition(listed: ListedRevision) -> str:
    return listed.metadata.name.removesuffix(f"-{listed.spec.version}")


def _revision(listed: ListedRevision) -> Wanted:
    home = listed.metadata.namespace
    labels = {MANAGED_BY: MANAGER, DEFINITION: label_value(_definition(listed))}
    told = msgspec.to_builtins(listed.spec)
    spec = {name: value for name, value in told.items() if value is not None}
    status = RevisionStatus(
        announced_at=listed.status.announced_at,
        ends_at=listed.status.ends_at,
        plugins=listed.status.plugins,
        offered=listed.status.offered,
        pinned=listed.status.pinned,
    )
    ref = Ref("PluginDefinitionRevision", home, object_name_of(listed.metadata.name))
    return Wanted(ref, status, Generated(spec, labels, is_fixed=True))


def _wanted(object_: Object[Any], status: Status, validity: Validity) -> Wanted:
    generation = None if validity.was_refused(object_.ref) else object_.metadata.generation
    return Wanted(object_.ref, status, generation=generation)


class _Numbers:
    """Plugins by cluster and by definition."""

    def __init__(self, fleet: Fleet, heard: Container[Ref]) -> None:
        self._heard = heard
        self._plugins: Counter[Ref] = Counter()
        self._blocked: Counter[Ref] = Counter()
        self.of_definition: Counter[Object[Any]] = Counter()
        self._silent, self._because = fleet.state.rollouts.silent_since, fleet.state.rollouts.silent_because
        for here in fleet.decisions.clusters.values():
            self._plugins[here.cluster.ref] = len(here.plugins)
            self._blocked[here.cluster.ref] = sum(bool(each.blocked_by) for each in here.plugins.values())
            self.of_definition.update(_definitions(here.plugins.values()))

    def cluster(self, cluster: Object[Any], validity: Validity) -> ClusterStatus:
        silent = self._silent.get(cluster.ref)
        if silent is not None:
            because = self._because.get(cluster.ref)
            why = f": {because}" if because else ""
            reachable = condition("Reachable", False, "Silent", f"it has not answered since {time_text(silent)}{why}")
        elif not self._plugins[cluster.ref]:
            reachable = condition(
                "Reachable", None, "NotAsked", "no plugin is for it, so nobody asks whether it answers"
            )
        elif cluster.ref not in self._heard:
            reachable = condition("Reachable", None, "NotAsked", "nothing was brought to it or read there so far")
        else:
            reachable = condition("Reachable", True, "Answers", "it answers")
        return ClusterStatus(
            plugins=self._plugins[cluster.ref],
            blocked=self._blocked[cluster.ref],
            conditions=[reachable, validity.of(cluster.ref)],
        )


def _definitions(plugins: Iterable[PluginDecision]) -> Iterator[Object[Any]]:
    for plugin in plugins:
        if plugin.target.revision is not None:
            yield plugin.target.revision.object


def _newest(definitions: Iterable[Object[Any]]) -> Iterable[Object[Any]]:
    """One of each name: an API server holds one, and versions beside it are from catalogs."""
    found: dict[Ref, Object[Any]] = {}
    for each in definitions:
        if each.dialect == "native" and (each.ref not in found or each.metadata.uid is not None):
            found[each.ref] = each
    return found.values()


def _catalog(listed: ListedCatalog, conditions: Sequence[Condition]) -> CatalogStatus:
    failures = [f"{each.source}: {each.error}" for each in listed.status.sources if each.error]
    ready = condition("Ready", True, "Read", "every source was read")
    if failures:
        ready = condition("Ready", False, "NotRead", sentence(failures[:_MOST_FINDINGS]))
    return CatalogStatus(definitions=listed.status.definitions, conditions=[ready, *conditions])
