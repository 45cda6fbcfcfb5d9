"""Overrides, with what they reach and what is odd about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import UNSET, structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.answering.references import object_reference
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.layers.overrides import has_expired, override_layer
from fleetform.model.answers.listed_objects import ListedOverride, OverrideFinding, OverrideStatus, ReachedPlugin
from fleetform.model.kinds.preset import PluginOverrideSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision


class OverrideReport(NamedTuple):
    """What an override does: the plugins that it reaches, what is odd about it, and whom it ties with."""

    override: Object[PluginOverrideSpec]
    rank: int
    reached: Sequence[PluginDecision]
    odd: Literal["expired", "dead", "shadowed", "redundant"] | None
    ties: Sequence[Object[object]]


def override_reports(fleet: Fleet) -> Iterator[OverrideReport]:
    effects = fleet.findings.effects
    tied: dict[Object[object], set[Object[object]]] = {}
    for tie in effects.ties():
        tied.setdefault(tie.winner.layer.object, set()).add(tie.loser.layer.object)
        tied.setdefault(tie.loser.layer.object, set()).add(tie.winner.layer.object)
    for override in fleet.snapshot.overrides.values():
        expired = has_expired(override.spec, fleet.snapshot.at)
        reached = [] if expired else effects.plugins(override)
        odd: Literal["expired", "dead", "shadowed", "redundant"] | None = None
        if expired:
            odd = "expired"
        elif not reached:
            odd = "dead"
        elif effects.is_shadowed(override):
            odd = "shadowed"
        elif effects.is_redundant(override):
            odd = "redundant"
        ties = sorted(tied.get(override, ()), key=lambda each: each.ref)
        yield OverrideReport(override, override_layer(override).layer.rank, reached, odd, ties)


def list_overrides(fleet: Fleet, scope: Scope) -> Iterator[ListedOverride]:
    for found in override_reports(fleet):
        override = found.override
        plugins = [
            ReachedPlugin(organization=each.organization, cluster=each.cluster.ref.name, name=each.name)
            for each in found.reached
            if scope.holds_cluster(each.cluster.ref, each.cluster.labels)
        ]
        if scope.holds(override.ref) and (plugins or not scope.narrowed):
            status = OverrideStatus(rank=found.rank, plugins=plugins, findings=list(_findings(found, fleet)))
            yield ListedOverride(**structs.asdict(listed_object(override, fleet.decisions.index)), status=status)


def _findings(found: OverrideReport, fleet: Fleet) -> Iterator[OverrideFinding]:
    if found.odd is not None:
        yield OverrideFinding(finding=found.odd, at=found.override.spec.expires if found.odd == "expired" else UNSET)
    for other in found.ties:
        yield OverrideFinding(finding="tie", with_=object_reference(other, fleet.input.locator))
