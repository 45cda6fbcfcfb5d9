"""Scores: how placements rank clusters, normalized from -100 to 100 as Open Cluster Management does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fleetform.engine.placement.pool import ClusterPool
from fleetform.model.kinds.placement import Prioritizers, WeightedScore

# The name of a built-in score, or an add-on's resource and score.
Coordinate = str | tuple[str, str]
Ranking = Prioritizers | list[WeightedScore] | None

HIGHEST = 100
_ALLOCATABLE = {"ResourceAllocatableCPU": "cpu", "ResourceAllocatableMemory": "memory"}


def total_scores(
    ranking: Ranking, names: Sequence[str], pool: ClusterPool, *, earlier: Collection[str], load: Mapping[str, int]
) -> dict[str, int]:
    """The sum of weight × score of each cluster; a score that a cluster lacks, or that does not exist, counts 0."""
    totals = dict.fromkeys(names, 0)
    for coordinate, weight in weights(ranking).items():
        if isinstance(coordinate, tuple):
            scores = {name: pool.scores.get((name, *coordinate), 0) for name in names}
        elif coordinate == "Balance":
            scores = _balance(names, load)
        elif coordinate == "Steady":
            scores = {name: HIGHEST for name in names if name in earlier}
        else:
            scores = _most_allocatable(names, pool.allocatable(_ALLOCATABLE.get(coordinate, "")))
        for name, score in scores.items():
            totals[name] += weight * score
    return totals


def weights(ranking: Ranking) -> dict[Coordinate, int]:
    """The weight of every score that counts; of two weights for one score, the last."""
    policy = ranking if isinstance(ranking, Prioritizers) else Prioritizers(configurations=ranking)
    found: dict[Coordinate, int] = {} if policy.mode == "Exact" else {"Balance": 1, "Steady": 1}
    for each in policy.configurations or []:
        score = each.score_coordinate
        if score.type == "AddOn" and score.add_on is not None:
            found[score.add_on.resource_name, score.add_on.score_name] = each.weight
        else:
            found[score.built_in or ""] = each.weight
    return {coordinate: weight for coordinate, weight in found.items() if weight}


def _balance(names: Sequence[str], load: Mapping[str, int]) -> dict[str, int]:
    """Clusters that other placements chose more often have less."""
    most = max((1, *load.values()))
    # Halves are cut off before they are doubled, as in Open Cluster Management: scores are even.
    by_count = {count: 2 * int(HIGHEST * (0.5 - count / most)) for count in {0, *load.values()}}
    return {name: by_count[load.get(name, 0)] for name in names}


def _most_allocatable(names: Sequence[str], allocatable: Mapping[str, float]) -> dict[str, int]:
    """Clusters that can give more of a resource have more; those that do not say are left out."""
    amounts = {name: allocatable[name] for name in names if name in allocatable}
    if not amounts:
        return {}
    least, most = min(amounts.values()), max(amounts.values())
    if least == most:
        return dict.fromkeys(amounts, HIGHEST)
    return {name: int(((amount - least) / (most - least) - 0.5) * 2.0 * HIGHEST) for name, amount in amounts.items()}
