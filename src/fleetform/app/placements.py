"""Placements: which clusters each chooses, in which groups, and why others are not among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.errors import AmbiguousError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.objects import object_view
from fleetform.app.scope import Scope
from fleetform.app.views import object_ref
from fleetform.engine.placement.place import Placed
from fleetform.engine.placement.placements import Placements
from fleetform.model.kinds.placement import PlacementSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.shape import did_you_mean
from fleetform.syntax.times import time_text

View = dict[str, Any]


def placement_views(fleet: Fleet, scope: Scope) -> Iterator[View]:
    placements = fleet.placements
    for ref, object_ in sorted(placements.objects.items()):
        if scope.holds(ref):
            yield _placement_view(placements, object_)


def _placement_view(placements: Placements, object_: Object[PlacementSpec]) -> View:
    placed = placements.placed(object_.ref)
    assert placed is not None
    status = {
        "numberOfSelectedClusters": len(placed.chosen),
        "decisionGroups": _groups(placed),
        "notSelected": _not_selected(placements, object_.ref),
        "lookAgainAt": time_text(placed.look_again_at) if placed.look_again_at is not None else None,
    }
    view = object_view(object_, status)
    if object_.dialect == "ocm":
        # There a placement has a namespace, which is part of its name here.
        namespace, _, name = object_.ref.name.rpartition("/")
        view["metadata"] |= {"name": name, "namespace": namespace or object_.ref.organization}
    return view


def _groups(placed: Placed) -> list[View]:
    return [
        {
            "decisionGroupIndex": index,
            "decisionGroupName": each.name,
            "clusters": [one.ref.name for one in each.clusters],
        }
        for index, each in enumerate(placed.groups)
    ]


def _not_selected(placements: Placements, ref: Ref) -> list[View]:
    """Clusters that are not chosen, by the reason."""
    reasons: dict[str, list[str]] = {}
    for cluster, reason in sorted(placements.why_not_others(ref).items()):
        reasons.setdefault(reason, []).append(cluster)
    return [{"reason": reason, "clusters": clusters} for reason, clusters in sorted(reasons.items())]


def explain_placement(fleet: Fleet, scope: Scope, name: str, cluster: str | None) -> View:
    """Whether a placement chooses a cluster, or which it chooses, and why not."""
    object_ = _find(fleet, scope, name)
    placed = fleet.placements.placed(object_.ref)
    assert placed is not None
    names = sorted(each.name for each in fleet.snapshot.clusters if each.organization == object_.ref.organization)
    wanted = [each for each in names if cluster in (None, each)]
    reasons = fleet.placements.why_not_others(object_.ref) if cluster is None else {}
    group_of = {one.ref.name: index for index, each in enumerate(placed.groups) for one in each.clusters}
    return {
        "kind": "PlacementExplanation",
        "placement": object_ref(object_, fleet.input.locator),
        "items": [
            {
                "cluster": each,
                "chosen": each in group_of,
                "decisionGroup": group_of.get(each),
                "reason": reasons.get(each) if cluster is None else fleet.placements.why_not(object_.ref, each),
            }
            for each in wanted
        ],
        "diagnostics": [],
    }


def _find(fleet: Fleet, scope: Scope, name: str) -> Object[PlacementSpec]:
    known = {ref: each for ref, each in fleet.placements.objects.items() if scope.holds(ref)}
    found = [each for ref, each in sorted(known.items()) if name in (ref.name, ref.name.rpartition("/")[2])]
    if not found:
        names = sorted(ref.name for ref in known)
        raise NotFoundError(
            f"there is no placement {name}", did_you_mean(name, names, "see `fleetform get placements`")
        )
    if len(found) > 1:
        choices = [f"{each.ref.organization} {each.ref.name}" for each in found]
        raise AmbiguousError(f"{len(found)} placements are called {name}", choices, "name its namespace, or give -n")
    return found[0]
