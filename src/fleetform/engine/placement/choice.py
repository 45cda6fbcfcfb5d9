"""A placement's choice, step by step: which clusters it may choose, which qualify, which it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cached_property

from fleetform.engine.placement.pool import ClusterPool, Group, Sets, claim_requirements
from fleetform.engine.placement.scores import total_scores
from fleetform.engine.placement.spread import Ranked, SpreadCounts
from fleetform.engine.placement.taints import Tainted, weigh_taints
from fleetform.model.kinds.base import LabelSelector
from fleetform.model.kinds.placement import PlacementSpec, RequiredClusterSelector, SpreadConstraint
from fleetform.syntax.selectors import Requirements, SelectorError, compile_labels

_NO_LOAD: Mapping[str, int] = {}


class PlacementChoice:
    """What a placement chooses from a pool, and how: every step is worked out when it is asked for, and once.

    earlier names what it chose before; load says how many other placements had chosen a cluster, for Balance. Without
    sets, every cluster may be chosen.
    """

    def __init__(
        self,
        spec: PlacementSpec,
        pool: ClusterPool,
        *,
        at: datetime,
        sets: Sets | None = None,
        earlier: Collection[str] = frozenset(),
        load: Mapping[str, int] = _NO_LOAD,
    ) -> None:
        self.spec, self.pool, self.at = spec, pool, at
        self.sets = sets or Sets({})
        self._earlier, self._load = earlier, load

    @cached_property
    def allowed(self) -> Group:
        """Clusters of the placement's sets, less those that are being deleted."""
        return self.sets.allowed(self.spec.cluster_sets, self.pool) & ~self.pool.going

    @cached_property
    def matching(self) -> Group:
        """Those of them that a predicate holds for."""
        if not self.spec.predicates:
            return self.allowed
        matching = 0
        for predicate in self.spec.predicates:
            required = predicate.required_cluster_selector or RequiredClusterSelector()
            try:
                by_label, by_claim = requirements_of(required)
            except SelectorError:
                # Reported by a check; a predicate that cannot be read holds for no cluster.
                continue
            group = self.allowed
            if by_label:
                group &= self.pool.labels.fulfilling(by_label)
            if by_claim:
                group &= self.pool.claims.fulfilling(by_claim)
            for expression in expressions_of(required):
                group = self.pool.agreeing(expression, among=group)
            matching |= group
        return matching

    @cached_property
    def tainted(self) -> Tainted:
        return weigh_taints(self.pool, self.spec.tolerations or (), self.at)

    @cached_property
    def qualifying(self) -> Group:
        """Those of them that no taint keeps away."""
        group = self.matching & ~self.tainted.refused
        if group & self.tainted.refused_if_new:
            group &= ~self.tainted.refused_if_new | self.before
        return group

    @cached_property
    def before(self) -> Group:
        """All that were chosen earlier."""
        return self.pool.named(self._earlier)

    @cached_property
    def kept(self) -> Group:
        """Those that were chosen earlier and qualify still."""
        return self.qualifying & self.before

    @cached_property
    def look_again_at(self) -> datetime | None:
        """When a toleration that lets a cluster qualify ends, the first of them."""
        if self.spec.suspend:
            return None
        return min(
            (
                end.at
                for end in self.tainted.ends
                if end.group & self.qualifying & (~self.before if end.only_if_new else self.pool.everyone)
            ),
            default=None,
        )

    @cached_property
    def chosen(self) -> Group:
        """Those that the placement takes."""
        if self.spec.suspend:
            return self.before
        limited = any(each.when_unsatisfiable == "DoNotSelect" for each in self._constraints)
        if self.places == self.qualifying.bit_count() and not limited:
            return self.qualifying
        left = self.places - self.kept.bit_count()
        if left == 0:
            return self.kept
        if left < 0:
            # What was chosen earlier qualifies, whatever spread says: that only decides which of it are to go.
            return self._best(self.kept, self.places, beside=0, strict=False)
        return self.kept | self._best(self.qualifying & ~self.kept, left, beside=self.kept, strict=True)

    @property
    def places(self) -> int:
        """How many clusters can be chosen."""
        wanted, there_are = self.spec.number_of_clusters, self.qualifying.bit_count()
        return there_are if wanted is None else min(wanted, there_are)

    @cached_property
    def scores(self) -> dict[str, int]:
        """The scores of the qualifying clusters."""
        names = [cluster.ref.name for cluster in self.pool.members(self.qualifying)]
        earlier = frozenset(self._earlier)
        return total_scores(self.spec.prioritizers, names, self.pool, earlier=earlier, load=self._load)

    def ranked(self, group: Group) -> list[Ranked]:
        """A group by rank: those with a taint that prefers others come last; then by score, then by name."""
        scores = self.scores
        last = {each.ref.name for each in self.pool.members(group & self.tainted.reluctant)}
        ranked = [(each.ref.name in last, each.ref.name) for each in self.pool.members(group)]
        return sorted(ranked, key=lambda each: (each[0], -scores[each[1]]))

    def spread(self, chosen: Group) -> SpreadCounts | None:
        """How a group is spread, where the placement asks for it."""
        if not self._constraints:
            return None
        spread = SpreadCounts(self._constraints, self.pool.members(self.qualifying))
        for cluster in self.pool.members(chosen):
            spread.add(cluster.ref.name)
        return spread

    def _best(self, group: Group, most: int, *, beside: Group, strict: bool) -> Group:
        ranked, spread = self.ranked(group), self.spread(beside)
        if spread is None:
            return self.pool.named(name for _, name in ranked[:most])
        return self.pool.named(spread.take(ranked, most, strict=strict))

    @property
    def _constraints(self) -> list[SpreadConstraint]:
        return [] if self.spec.spread is None else self.spec.spread.spread_constraints or []


def requirements_of(required: RequiredClusterSelector) -> tuple[Requirements, Requirements]:
    """What a selector asks of labels and of claims; SelectorError if it cannot be read."""
    return compile_labels(required.label_selector or LabelSelector()), claim_requirements(required.claim_selector)


def expressions_of(required: RequiredClusterSelector) -> list[str]:
    """The conditions in CEL of a selector."""
    return [] if required.cel_selector is None else required.cel_selector.cel_expressions or []
