"""Which of many selectors reach a cluster.

Selectors are indexed by one label they ask for, so that a cluster is only held against selectors that can match it,
and clusters that agree on every label any selector names are matched once.
"""

from __future__ import annotations

from collections.abc import Iterable

from fleetform.engine.index.clusters import Cluster, anchor
from fleetform.engine.layers.overrides import Override
from fleetform.syntax.selectors import ClusterMatcher, Labels, Matchers

Numbers = tuple[int, ...]


class SelectorIndex:
    """Answers which of numbered selectors match a cluster. Equal answers are the same tuple."""

    def __init__(self, selectors: Iterable[Matchers]) -> None:
        self._everywhere: list[tuple[int, ClusterMatcher]] = []
        self._by_name: dict[str, list[int]] = {}
        self._by_label: dict[tuple[str, str], list[tuple[int, ClusterMatcher]]] = {}
        self._unanchored: list[tuple[int, ClusterMatcher]] = []
        self._keys: set[str] = set()
        self._interned: dict[Numbers, Numbers] = {}
        self._by_projection: dict[tuple[str | None, ...], Numbers] = {}
        self._ignored: set[str] = set()
        for number, matchers in enumerate(selectors):
            for matcher in matchers:
                self._add(number, matcher)
        self._key_order = sorted(self._keys)

    def _add(self, number: int, matcher: ClusterMatcher) -> None:
        self._ignored |= matcher.ignored
        for name in matcher.names - matcher.ignored:
            self._by_name.setdefault(name, []).append(number)
        if matcher.everything:
            self._everywhere.append((number, matcher))
        elif matcher.requirements is not None:
            self._keys.update(requirement.key for requirement in matcher.requirements)
            label = anchor(matcher.requirements)
            if label is None:
                self._unanchored.append((number, matcher))
                return
            for value in label.values:
                self._by_label.setdefault((label.key, value), []).append((number, matcher))

    def reaching(self, cluster: Cluster) -> Numbers:
        """The numbers of the selectors that match a cluster, ascending."""
        name, labels = cluster.ref.name, cluster.labels
        if name in self._ignored:
            numbers = {number for number, matcher in self._candidates(labels) if matcher.matches(name, labels)}
            return self._intern(numbers.union(self._by_name.get(name, ())))
        by_labels = self._matching(labels)
        named = self._by_name.get(name)
        return by_labels if not named else self._intern({*by_labels, *named})

    def _matching(self, labels: Labels) -> Numbers:
        projection = tuple([labels.get(key) for key in self._key_order])
        found = self._by_projection.get(projection)
        if found is None:
            # "" is no cluster's name: only labels decide here.
            numbers = {number for number, matcher in self._candidates(labels) if matcher.matches("", labels)}
            found = self._by_projection[projection] = self._intern(numbers)
        return found

    def _candidates(self, labels: Labels) -> Iterable[tuple[int, ClusterMatcher]]:
        yield from self._everywhere
        yield from self._unanchored
        for label in labels.items():
            yield from self._by_label.get(label, ())

    def _intern(self, numbers: set[int]) -> Numbers:
        in_order = tuple(sorted(numbers))
        return self._interned.setdefault(in_order, in_order)


class Reach:
    """The overrides that reach a cluster, in order of application."""

    __slots__ = ("_by_definition", "overrides")

    def __init__(self, overrides: tuple[Override, ...]) -> None:
        self.overrides = overrides
        self._by_definition: dict[str, tuple[Override, ...]] = {}

    def of_definition(self, name: str) -> tuple[Override, ...]:
        found = self._by_definition.get(name)
        if found is None:
            found = tuple([each for each in self.overrides if not each.definitions or name in each.definitions])
            self._by_definition[name] = found
        return found


class OverrideIndex:
    """Answers which of an organization's overrides reach a cluster. Clusters with the same ones share one answer."""

    def __init__(self, overrides: Iterable[Override]) -> None:
        self._overrides = sorted(overrides, key=lambda each: each.order)
        self._selectors = SelectorIndex(each.matchers for each in self._overrides)
        self._reaches: dict[Numbers, Reach] = {}

    def reach(self, cluster: Cluster) -> Reach:
        numbers = self._selectors.reaching(cluster)
        found = self._reaches.get(numbers)
        if found is None:
            found = self._reaches[numbers] = Reach(tuple([self._overrides[number] for number in numbers]))
        return found
