"""Spread: chosen clusters evenly over regions, or whatever a label or claim tells apart.

Open Cluster Management declares this and leaves it undone. As in Kubernetes' topology spread constraints, the skew of a
value is how many of the chosen have it, less the fewest that any value among the qualifying clusters has; and a cluster
without a value satisfies no constraint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from fleetform.engine.placement.facts import Cluster, claims_of
from fleetform.model.kinds.placement import SpreadConstraint

# A cluster's values, one for each constraint.
Values = tuple[str | None, ...]
# A cluster's name, and before it whether it comes after all for which this is false.
Ranked = tuple[bool, str]
# Ranked clusters of the same values, each with its rank.
Queue = deque[tuple[bool, int, str]]
# What decides which values are next: the first of their queue, and by how much they exceed.
Key = tuple[bool, tuple[float, ...], int]


class SpreadCounts:
    """How many of the chosen have which values, and which cluster is to be chosen next."""

    def __init__(self, constraints: Sequence[SpreadConstraint], qualifying: Iterable[Cluster]) -> None:
        self.constraints = constraints
        self.values: dict[str, Values] = {}
        reads_claims = any(each.topology_key_type == "Claim" for each in constraints)
        for cluster in qualifying:
            claims = claims_of(cluster) if reads_claims else {}
            self.values[cluster.ref.name] = tuple(
                (claims if each.topology_key_type == "Claim" else cluster.labels).get(each.topology_key)
                for each in constraints
            )
        present = zip(*self.values.values(), strict=True) if self.values else ((),) * len(constraints)
        self.counts = [dict.fromkeys(sorted({each for each in column if each is not None}), 0) for column in present]
        self._fewest = [0] * len(constraints)
        self._least_common = [len(each) for each in self.counts]

    def add(self, name: str) -> bool:
        """Counts a cluster among the chosen; true if that raises the fewest of some constraint."""
        rose = False
        for index, value in enumerate(self.values[name]):
            if value is None:
                continue
            counts, fewest = self.counts[index], self._fewest[index]
            self._least_common[index] -= counts[value] == fewest
            counts[value] += 1
            if self._least_common[index] == 0:
                self._fewest[index] = min(counts.values(), default=0)
                self._least_common[index] = sum(each == self._fewest[index] for each in counts.values())
                rose = True
        return rose

    def take(self, ranked: Sequence[Ranked], most: int, *, strict: bool) -> list[str]:
        """The names of the next clusters, at most so many; strict: without those that DoNotSelect forbids."""
        waiting = _Waiting(ranked, self.values)
        # Clusters of equal values differ in rank only, so that the first of each queue stands for all of it. A cluster
        # that is taken changes the excess of values that share one with it, or of all if the fewest rose.
        keys: dict[Values, Key] = {}
        changed: Iterable[Values] = list(waiting.queues)
        taken: list[str] = []
        while len(taken) < most:
            for values in changed:
                keys.pop(values, None)
                queue, excess = waiting.queues[values], self.excess(values)
                if queue and not (strict and self.forbids(excess)):
                    last, rank, _ = queue[0]
                    keys[values] = (last, excess, rank)
            if not keys:
                break
            values = min(keys, key=keys.__getitem__)
            taken.append(waiting.pop(values))
            changed = waiting.queues if self.add(taken[-1]) else waiting.akin(values)
        return taken

    def excess(self, values: Values) -> tuple[float, ...]:
        """By how much one more cluster with these values would exceed the skew that each constraint allows."""
        return tuple(
            inf if value is None else max(0, counts[value] + 1 - fewest - constraint.max_skew)
            for value, counts, fewest, constraint in zip(
                values, self.counts, self._fewest, self.constraints, strict=True
            )
        )

    def forbids(self, excess: tuple[float, ...]) -> bool:
        return any(
            each > 0 and constraint.when_unsatisfiable == "DoNotSelect"
            for each, constraint in zip(excess, self.constraints, strict=True)
        )


class _Waiting:
    """Ranked clusters that are not yet chosen, by their values."""

    def __init__(self, ranked: Sequence[Ranked], values_of: Mapping[str, Values]) -> None:
        self.queues: dict[Values, Queue] = {}
        self._akin: dict[tuple[int, str], set[Values]] = {}
        for rank, (last, name) in enumerate(ranked):
            self.queues.setdefault(values_of[name], deque()).append((last, rank, name))
        for values in self.queues:
            for place in _places(values):
                self._akin.setdefault(place, set()).add(values)

    def pop(self, values: Values) -> str:
        return self.queues[values].popleft()[2]

    def akin(self, values: Values) -> set[Values]:
        """All values that share one with these, and these."""
        return {values}.union(*(self._akin[place] for place in _places(values)))


def _places(values: Values) -> list[tuple[int, str]]:
    return [(index, value) for index, value in enumerate(values) if value is not None]
