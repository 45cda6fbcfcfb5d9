"""Select: which overrides reach which cluster.

Selectors are indexed by one label they ask for, so that a cluster is only held against selectors that can match it,
and clusters that agree on every label any selector mentions are matched once.
"""

from __future__ import annotations

from collections.abc import Iterable

from fleetform.engine.index.layers import Override
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.syntax.selectors import ClusterMatcher, Labels, Requirement


class Reach:
    """The overrides that reach a cluster, in order of application. Equal ones are the same object (see ReachIndex)."""

    __slots__ = ("_by_definition", "overrides")

    def __init__(self, overrides: tuple[Override, ...]) -> None:
        self.overrides = overrides
        self._by_definition: dict[str, tuple[Override, ...]] = {}

    def of_definition(self, name: str) -> tuple[Override, ...]:
        found = self._by_definition.get(name)
        if found is None:
            found = tuple(each for each in self.overrides if not each.definitions or name in each.definitions)
            self._by_definition[name] = found
        return found


class ReachIndex:
    """Answers which of an organization's overrides reach a cluster."""

    def __init__(self, overrides: Iterable[Override]) -> None:
        self.overrides = sorted(overrides, key=lambda each: each.order)
        self._everywhere: list[tuple[int, ClusterMatcher]] = []
        self._by_name: dict[str, list[int]] = {}
        self._by_label: dict[tuple[str, str], list[tuple[int, ClusterMatcher]]] = {}
        self._unanchored: list[tuple[int, ClusterMatcher]] = []
        self._keys: set[str] = set()
        self._interned: dict[tuple[int, ...], Reach] = {}
        self._numbers: dict[Reach, tuple[int, ...]] = {}
        self._by_projection: dict[tuple[str | None, ...], Reach] = {}
        self._ignored: set[str] = set()
        for number, override in enumerate(self.overrides):
            for matcher in override.matchers:
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
            anchor = _anchor(matcher.requirements)
            if anchor is None:
                self._unanchored.append((number, matcher))
                return
            for value in anchor.values:
                self._by_label.setdefault((anchor.key, value), []).append((number, matcher))

    def reach(self, cluster: Object[ClusterSpec]) -> Reach:
        name, labels = cluster.ref.name, cluster.labels
        if name in self._ignored:
            numbers = {number for number, matcher in self._candidates(labels) if matcher.matches(name, labels)}
            return self._intern(numbers | set(self._by_name.get(name, ())))
        by_labels = self._by_labels(labels)
        named = self._by_name.get(name)
        return by_labels if not named else self._intern({*self._numbers[by_labels], *named})

    def _by_labels(self, labels: Labels) -> Reach:
        projection = tuple([labels.get(key) for key in self._key_order]) if self._key_order else ()
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

    def _intern(self, numbers: set[int]) -> Reach:
        in_order = tuple(sorted(numbers))
        found = self._interned.get(in_order)
        if found is None:
            found = self._interned[in_order] = Reach(tuple(self.overrides[number] for number in in_order))
            self._numbers[found] = in_order
        return found


def _anchor(requirements: tuple[Requirement, ...]) -> Requirement | None:
    """The requirement to index by: one that names values, and the fewer the better."""
    naming = [each for each in requirements if each.operator == "In"]
    return min(naming, key=lambda each: (len(each.values), each.key), default=None)
