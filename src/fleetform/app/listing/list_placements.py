"""Placements: which clusters each chooses, in which groups, and why others are not among them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.answering.references import object_reference
from fleetform.app.errors import AmbiguousError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.model.answers.explanation import PlacementChoice, PlacementExplanation
from fleetform.model.answers.listed_objects import (
    DecisionGroupStatus,
    ListedPlacement,
    NotSelectedClusters,
    PlacementStatus,
)
from fleetform.model.shape import did_you_mean
from fleetform.syntax.times import time_text


def list_placements(fleet: Fleet, scope: Scope) -> Iterator[ListedPlacement]:
    """Placements with the clusters that they choose, in groups, and the others by the reason why not."""
    placements = fleet.placements
    for ref, object_ in sorted(placements.objects.items()):
        if not scope.holds(ref):
            continue
        placed = placements.placed(ref)
        assert placed is not None
        reasons: dict[str, list[str]] = {}
        for cluster, reason in sorted(placements.why_not_others(ref).items()):
            reasons.setdefault(reason, []).append(cluster)
        groups = [
            DecisionGroupStatus(
                decision_group_index=index,
                decision_group_name=each.name,
                clusters=[one.ref.name for one in each.clusters],
            )
            for index, each in enumerate(placed.groups)
        ]
        status = PlacementStatus(
            number_of_selected_clusters=len(placed.chosen),
            decision_groups=groups,
            not_selected=[
                NotSelectedClusters(reason=reason, clusters=clusters) for reason, clusters in sorted(reasons.items())
            ],
            look_again_at=time_text(placed.look_again_at) if placed.look_again_at is not None else None,
        )
        listed = structs.asdict(listed_object(object_))
        if object_.dialect == "ocm":
            # A placement of Open Cluster Management has a namespace, which is part of its name here.
            namespace, _, name = ref.name.rpartition("/")
            listed["metadata"] = structs.replace(listed["metadata"], name=name, namespace=namespace or ref.organization)
        yield ListedPlacement(**listed, status=status)


def explain_placement(fleet: Fleet, scope: Scope, name: str, cluster: str | None) -> PlacementExplanation:
    """Whether a placement chooses a cluster, or which it chooses, and why not."""
    known = {ref: each for ref, each in fleet.placements.objects.items() if scope.holds(ref)}
    found = [each for ref, each in sorted(known.items()) if name in (ref.name, ref.name.rpartition("/")[2])]
    if not found:
        hint = did_you_mean(name, sorted(ref.name for ref in known), "see `fleetform get placements`")
        raise NotFoundError(f"there is no placement {name}", hint)
    if len(found) > 1:
        choices = [f"{each.ref.organization} {each.ref.name}" for each in found]
        raise AmbiguousError(f"{len(found)} placements are called {name}", choices, "name its namespace, or give -n")
    [object_] = found
    placed = fleet.placements.placed(object_.ref)
    assert placed is not None
    names = sorted(each.name for each in fleet.snapshot.clusters if each.organization == object_.ref.organization)
    wanted = [each for each in names if cluster in (None, each)]
    reasons = fleet.placements.why_not_others(object_.ref) if cluster is None else {}
    group_of = {one.ref.name: index for index, each in enumerate(placed.groups) for one in each.clusters}
    items = [
        PlacementChoice(
            cluster=each,
            chosen=each in group_of,
            decision_group=group_of.get(each),
            reason=reasons.get(each) if cluster is None else fleet.placements.why_not(object_.ref, each),
        )
        for each in wanted
    ]
    placement = object_reference(object_, fleet.input.locator)
    return PlacementExplanation(placement=placement, items=items, diagnostics=[])
