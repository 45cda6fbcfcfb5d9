"""The clusters that placements choose from, indexed once for all of them.

A group of clusters is a number with one bit for each cluster, by name from the highest. To unite, intersect and count
groups of ten thousand then takes no loop in Python.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress

from fleetform.engine.placement.expressions import compile_condition, holds
from fleetform.engine.placement.facts import Cluster, Scores, allocatable_of, claims_of, context_for
from fleetform.model.kinds.base import LabelSelector
from fleetform.model.kinds.fleet import Taint
from fleetform.model.kinds.placement import ClaimSelector, ClusterSetSpec
from fleetform.syntax.cel import ExpressionError
from fleetform.syntax.selectors import ClusterMatcher, Requirements, SelectorError, compile_labels

Group = int

SET_LABEL = "cluster.open-cluster-management.io/clusterset"
# Every hub has these two.
DEFAULT_SET = "default"
_MADE_BY_THE_HUB = {DEFAULT_SET: ClusterSetSpec(), "global": ClusterSetSpec(label_selector=LabelSelector())}
_AS_TRUTH = bytes.maketrans(b"01", b"\0\1")
_ONE = ord("1")


def _group(size: int, positions: Iterable[int]) -> Group:
    flags = bytearray(b"0") * size
    for position in positions:
        flags[position] = _ONE
    return int(flags or b"0", 2)


def claim_requirements(selector: ClaimSelector | None) -> Requirements:
    """What a selector asks of claims; SelectorError if it cannot be read."""
    return compile_labels(LabelSelector(match_expressions=selector.match_expressions)) if selector is not None else ()


class ValueIndex:
    """Which of many maps of texts fulfil requirements: each value of a key is looked at once."""

    def __init__(self, maps: Sequence[Mapping[str, str]]) -> None:
        self._maps = maps
        self._everyone = (1 << len(maps)) - 1
        self._positions: dict[str, dict[str | None, list[int]]] = {}
        self._groups: dict[tuple[str, str | None], Group] = {}

    def fulfilling(self, requirements: Requirements) -> Group:
        """Those that fulfil all of the requirements, as selectors.matches_all decides."""
        group = self._everyone
        for requirement in requirements:
            key, operator = requirement.key, requirement.operator
            if operator == "In":
                group &= self.valued(key, *requirement.values)
            elif operator == "NotIn":
                group &= ~self.valued(key, *requirement.values)
            elif operator == "Exists":
                group &= ~self.valued(key, None)
            elif operator == "DoesNotExist":
                group &= self.valued(key, None)
            else:
                values = [value for value in self._by_value(key) if value is not None]
                group &= self.valued(key, *(value for value in values if requirement.matches({key: value})))
        return group

    def valued(self, key: str, *values: str | None) -> Group:
        """Those with one of the values under a key; None is no value."""
        group = 0
        for value in values:
            found = self._groups.get((key, value))
            if found is None:
                found = _group(len(self._maps), self._by_value(key).get(value, ()))
                self._groups[key, value] = found
            group |= found
        return group

    def _by_value(self, key: str) -> dict[str | None, list[int]]:
        found = self._positions.get(key)
        if found is None:
            found = self._positions[key] = {}
            for position, values in enumerate(self._maps):
                found.setdefault(values.get(key), []).append(position)
        return found


class ClusterPool:
    """The clusters of an organization, whose names differ, and the valid scores that add-ons published of them.

    Placements of one pass share a pool: what one of them asked of labels, claims and expressions is known to the next.
    """

    def __init__(self, clusters: Iterable[Cluster], scores: Scores | None = None) -> None:
        self.clusters = tuple(sorted(clusters, key=lambda each: each.ref.name))
        self.scores: Scores = scores or {}
        self.everyone: Group = (1 << len(self.clusters)) - 1
        going = [
            position for position, each in enumerate(self.clusters) if each.metadata.deletion_timestamp is not None
        ]
        # Clusters that are being deleted: no placement chooses them any more.
        self.going: Group = _group(len(self.clusters), going) if going else 0
        self.labels = ValueIndex([cluster.labels for cluster in self.clusters])
        self._allocatable: dict[str, dict[str, float]] = {}
        self._judged: dict[str, tuple[Group, Group]] = {}

    @cached_property
    def claims(self) -> ValueIndex:
        return ValueIndex([claims_of(cluster) for cluster in self.clusters])

    @cached_property
    def taints(self) -> dict[Taint, Group]:
        """The clusters of every taint."""
        positions: dict[Taint, list[int]] = {}
        for position, cluster in enumerate(self.clusters):
            for taint in cluster.spec.taints or ():
                positions.setdefault(taint, []).append(position)
        return {taint: _group(len(self.clusters), each) for taint, each in positions.items()}

    def allocatable(self, resource: str) -> Mapping[str, float]:
        """How much each cluster says it can give of a resource, by name; those that do not say are left out."""
        found = self._allocatable.get(resource)
        if found is None:
            amounts = ((cluster.ref.name, allocatable_of(cluster, resource)) for cluster in self.clusters)
            found = self._allocatable[resource] = {name: amount for name, amount in amounts if amount is not None}
        return found

    def members(self, group: Group) -> tuple[Cluster, ...]:
        """The clusters of a group, by name."""
        if group == self.everyone:
            return self.clusters
        flags = f"{group:0{len(self.clusters)}b}".encode().translate(_AS_TRUTH)
        return tuple(compress(self.clusters, flags))

    def find(self, name: str) -> tuple[Cluster, Group] | None:
        """A cluster, and the group that it is alone in."""
        position = self._positions.get(name)
        return None if position is None else (self.clusters[position], 1 << (len(self.clusters) - 1 - position))

    def named(self, names: Iterable[str]) -> Group:
        """Those of the names that there are."""
        known = self._positions
        return _group(len(self.clusters), [known[name] for name in names if name in known])

    def matching(self, matcher: ClusterMatcher) -> Group:
        """What one element of a cluster selector selects."""
        if matcher.everything:
            return self.everyone & ~self.named(matcher.ignored)
        by_labels = 0 if matcher.requirements is None else self.labels.fulfilling(matcher.requirements)
        return (by_labels | self.named(matcher.names)) & ~self.named(matcher.ignored)

    def agreeing(self, expression: str, among: Group) -> Group:
        """Those of a group for which an expression holds; one that fails does not hold."""
        try:
            compile_condition(expression)
        except ExpressionError:
            return 0
        known, agreeing = self._judged.get(expression, (0, 0))
        asked = among & ~known
        if asked:
            names = []
            for cluster in self.members(asked):
                try:
                    if self.judge(expression, cluster):
                        names.append(cluster.ref.name)
                except ExpressionError:
                    continue
            agreeing |= self.named(names)
            self._judged[expression] = (known | asked, agreeing)
        return agreeing & among

    def judge(self, expression: str, cluster: Cluster) -> bool:
        """Whether an expression holds for a cluster; ExpressionError says why it gives no answer."""
        return holds(expression, context_for(cluster, self._scores_by_cluster.get(cluster.ref.name, {})))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {cluster.ref.name: position for position, cluster in enumerate(self.clusters)}

    @cached_property
    def _scores_by_cluster(self) -> dict[str, dict[str, dict[str, int]]]:
        found: dict[str, dict[str, dict[str, int]]] = {}
        for (cluster, resource, name), score in self.scores.items():
            found.setdefault(cluster, {}).setdefault(resource, {})[name] = score
        return found


class Sets:
    """Sets of clusters, as Open Cluster Management has them: by a label that names one set, or by a selector.

    bound names the sets that placements may choose from, of those that exist. If it is None, no binding is needed,
    and a set need not be declared to be named by labels.
    """

    def __init__(self, declared: Mapping[str, ClusterSetSpec], bound: Collection[str] | None = None) -> None:
        self._declared = {**_MADE_BY_THE_HUB, **declared}
        self._bound = None if bound is None else sorted(self._declared.keys() & set(bound))

    def eligible(self, asked: Sequence[str] | None) -> list[str] | None:
        """The names of the sets that a placement which asks for these chooses from; None: from all clusters."""
        if self._bound is None:
            return sorted(set(asked)) if asked else None
        return [name for name in self._bound if not asked or name in asked]

    def allowed(self, asked: Sequence[str] | None, pool: ClusterPool) -> Group:
        """The clusters that a placement which asks for these sets chooses from."""
        names = self.eligible(asked)
        if names is None:
            return pool.everyone
        group = 0
        for name in names:
            declared = self._declared.get(name)
            if declared is None or declared.label_selector is None:
                # A cluster whose label names no set is in the default one.
                group |= pool.labels.valued(SET_LABEL, name, *((None, "") if name == DEFAULT_SET else ()))
                continue
            try:
                group |= pool.labels.fulfilling(compile_labels(declared.label_selector))
            except SelectorError:
                continue
        return group
