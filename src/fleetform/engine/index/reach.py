"""Which of many selectors reach a cluster.

Selectors are indexed by one label they ask for, so that a cluster is only held against selectors that can match it,
and clusters that agree on every label any selector names are matched once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from fleetform.engine.index.clusters import Cluster, anchor
from fleetform.engine.layers.overrides import Override
from fleetform.syntax.selectors import ClusterMatcher, Labels, Matchers

Numbers = tuple[int, ...]
Answer = TypeVar("Answer")


class _Match(NamedTuple, Generic[Answer]):
    """Selectors that match a cluster, and the answer that follows."""

    numbers: Numbers
    answer: Answer


class SelectorIndex(Generic[Answer]):
    """Answers what follows for a cluster from which of numbered selectors match it.

    answer_of makes that of their numbers, which are ascending. Where they are the same, so is the answer. It must not
    hold who asks: what a pass makes forms no cycles.
    """

    def __init__(self, selectors: Iterable[Matchers], answer_of: Callable[[Numbers], Answer]) -> None:
        self._answer_of = answer_of
        self._everywhere: list[tuple[int, ClusterMatcher]] = []
        self._by_name: dict[str, list[int]] = {}
        self._by_label: dict[tuple[str, str], list[tuple[int, ClusterMatcher]]] = {}
        self._unanchored: list[tuple[int, ClusterMatcher]] = []
        self._keys: set[str] = set()
        self._matches: dict[Numbers, _Match[Answer]] = {}
        self._by_projection: dict[tuple[str | None, ...], _Match[Answer]] = {}
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

    def of(self, cluster: Cluster) -> Answer:
        """What follows for a cluster."""
        name, labels = cluster.ref.name, cluster.labels
        if name in self._ignored:
            numbers = {number for number, matcher in self._candidates(labels) if matcher.matches(name, labels)}
            return self._match(numbers.union(self._by_name.get(name, ()))).answer
        by_labels = self._matching(labels)
        named = self._by_name.get(name)
        return (by_labels if not named else self._match({*by_labels.numbers, *named})).answer

    def _matching(self, labels: Labels) -> _Match[Answer]:
        projection = tuple(map(labels.get, self._key_order))
        found = self._by_projection.get(projection)
        if found is None:
            # "" is no cluster's name: only labels decide here.
            numbers = {number for number, matcher in self._candidates(labels) if matcher.matches("", labels)}
            found = self._by_projection[projection] = self._match(numbers)
        return found

    def _candidates(self, labels: Labels) -> Iterable[tuple[int, ClusterMatcher]]:
        yield from self._everywhere
        yield from self._unanchored
        for label in labels.items():
            yield from self._by_label.get(label, ())

    def _match(self, numbers: set[int]) -> _Match[Answer]:
        in_order = tuple(sorted(numbers))
        found = self._matches.get(in_order)
        if found is None:
            found = self._matches[in_order] = _Match(in_order, self._answer_of(in_order))
        return found


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
        in_order = sorted(overrides, key=lambda each: each.order)
        self._selectors = SelectorIndex(
            [each.matchers for each in in_order],
            lambda numbers: Reach(tuple([in_order[number] for number in numbers])),
        )

    def reach(self, cluster: Cluster) -> Reach:
        return self._selectors.of(cluster)
