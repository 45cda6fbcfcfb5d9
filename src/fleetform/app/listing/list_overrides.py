"""Overrides, with what they reach and what is odd about them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.answering.references import object_reference
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.layers.overrides import has_expired, override_layer
from fleetform.model.answers.listed_objects import ListedOverride, OverrideFinding, OverrideStatus, ReachedPlugin
from fleetform.model.objects import Object


def list_overrides(fleet: Fleet, scope: Scope) -> Iterator[ListedOverride]:
    effects, locator = fleet.findings.effects, fleet.input.locator
    tied: dict[Object[object], set[Object[object]]] = {}
    for tie in effects.ties():
        tied.setdefault(tie.winner.layer.object, set()).add(tie.loser.layer.object)
        tied.setdefault(tie.loser.layer.object, set()).add(tie.winner.layer.object)
    for override in fleet.snapshot.overrides.values():
        if not scope.holds(override.ref):
            continue
        expired = has_expired(override.spec, fleet.snapshot.at)
        reached = [] if expired else effects.plugins(override)
        findings: list[OverrideFinding] = []
        if expired:
            findings.append(OverrideFinding(finding="expired", at=override.spec.expires))
        elif not reached:
            findings.append(OverrideFinding(finding="dead"))
        elif effects.is_shadowed(override):
            findings.append(OverrideFinding(finding="shadowed"))
        elif effects.is_redundant(override):
            findings.append(OverrideFinding(finding="redundant"))
        for other in sorted(tied.get(override, ()), key=lambda each: each.ref):
            findings.append(OverrideFinding(finding="tie", with_=object_reference(other, locator)))
        plugins = [
            ReachedPlugin(organization=each.organization, cluster=each.cluster.ref.name, name=each.name)
            for each in reached
            if scope.holds_cluster(each.cluster.ref, each.cluster.labels)
        ]
        if plugins or not scope.narrowed:
            rank = override_layer(override).layer.rank
            status = OverrideStatus(rank=rank, plugins=plugins, findings=findings)
            yield ListedOverride(**structs.asdict(listed_object(override, fleet.decisions.index)), status=status)
