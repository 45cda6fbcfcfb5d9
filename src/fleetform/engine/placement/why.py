"""Why a placement does not choose a cluster, in words."""

from __future__ import annotations

from functools import cached_property

from fleetform.engine.placement.choice import PlacementChoice, expressions_of, requirements_of
from fleetform.engine.placement.facts import Cluster, claims_of
from fleetform.engine.placement.pool import DEFAULT_SET, SET_LABEL, Group
from fleetform.engine.placement.spread import Ranked, SpreadCounts
from fleetform.engine.placement.taints import tolerated_until
from fleetform.model.kinds.placement import RequiredClusterSelector
from fleetform.syntax.cel import ExpressionError
from fleetform.syntax.selectors import SelectorError
from fleetform.syntax.times import time_text


class Reasons:
    """Why a choice leaves clusters out: the first of its steps that a cluster does not pass."""

    def __init__(self, choice: PlacementChoice) -> None:
        self._choice = choice
        self._lasts: dict[bool, Ranked | None] = {}

    def of(self, name: str) -> str | None:
        """The reason for one cluster; None if it is chosen."""
        choice, found = self._choice, self._choice.pool.find(name)
        if found is None:
            return "there is no such cluster"
        cluster, bit = found
        if bit & choice.chosen:
            return None
        if choice.spec.suspend:
            return "the placement is suspended, and had not chosen it"
        if bit & choice.pool.going:
            return "it is being deleted"
        if not bit & choice.allowed:
            names = choice.sets.eligible(choice.spec.cluster_sets)
            if not names:
                return "no set of the placement holds it: none of them is bound"
            own = cluster.labels.get(SET_LABEL) or DEFAULT_SET
            return f"no set of the placement holds it: it is in {own}, the placement chooses from {', '.join(names)}"
        if not bit & choice.matching:
            required = [each.required_cluster_selector for each in choice.spec.predicates or []]
            reasons = [_unsatisfied(choice, each or RequiredClusterSelector(), cluster) for each in required]
            return f"no predicate holds: {'; '.join(dict.fromkeys(reasons))}"
        if not bit & choice.qualifying:
            effects = ("NoSelect",) if bit & choice.before else ("NoSelect", "NoSelectIfNew")
            return _taints_text(choice, cluster, effects)
        return self._outranked(cluster, bit)

    def of_all(self) -> dict[str, str]:
        """The reasons for all clusters that are not chosen, by name."""
        left_out = self._choice.pool.members(self._choice.pool.everyone & ~self._choice.chosen)
        return {each.ref.name: self.of(each.ref.name) or "" for each in left_out}

    def _outranked(self, cluster: Cluster, bit: Group) -> str:
        """Why a cluster that qualifies is not chosen: others come first, or spread forbids it."""
        choice, name = self._choice, cluster.ref.name
        if choice.places == 0:
            return "the placement asks for no cluster"
        is_reluctant, score = bool(bit & choice.tainted.reluctant), choice.scores[name]
        last = self._last(kept=bool(bit & choice.kept))
        if self._spread is not None:
            forbidden = self._spread.forbids(self._spread.excess(self._spread.values[name]))
            ahead = last is not None and (is_reluctant, -score, name) < (last[0], -choice.scores[last[1]], last[1])
            if forbidden or ahead:
                return f"spread: {_unevenness(self._spread, name)}"
        if last is None:
            return f"score {score}, but clusters that were chosen earlier keep their places"
        if is_reluctant and not last[0]:
            return f"{_taints_text(choice, cluster, ('PreferNoSelect',))}, and there are enough others"
        if choice.scores[last[1]] == score:
            return f"score {score}, as the last chosen, {last[1]}, which comes first by name"
        return f"score {score}, the last chosen has {choice.scores[last[1]]}"

    def _last(self, kept: bool) -> Ranked | None:
        """The last of those that were chosen before and stay, or of the newcomers."""
        if kept not in self._lasts:
            group = self._choice.chosen & (self._choice.kept if kept else ~self._choice.kept)
            self._lasts[kept] = next(reversed(self._choice.ranked(group)), None)
        return self._lasts[kept]

    @cached_property
    def _spread(self) -> SpreadCounts | None:
        return self._choice.spread(self._choice.chosen)


def _unsatisfied(choice: PlacementChoice, required: RequiredClusterSelector, cluster: Cluster) -> str:
    """The first requirement of a predicate that a cluster does not meet."""
    try:
        by_label, by_claim = requirements_of(required)
    except SelectorError as error:
        return f"a selector cannot be read: {error.message}"
    for kind, requirements, values in (("label", by_label, cluster.labels), ("claim", by_claim, claims_of(cluster))):
        for each in requirements:
            if not each.matches(values):
                allowed, value = " or ".join(sorted(each.values)), values.get(each.key)
                must = {"In": f"be {allowed}", "NotIn": f"not be {allowed}", "Exists": "be there"}
                must |= {"DoesNotExist": "not be there", "Gt": f"be above {allowed}", "Lt": f"be below {allowed}"}
                found = "it is missing" if value is None else f"it is {value}"
                return f"{kind} {each.key} must {must[each.operator]}, and {found}"
    for expression in expressions_of(required):
        try:
            if not choice.pool.judge(expression, cluster):
                return f"{expression} does not hold"
        except ExpressionError as error:
            return f"{expression} fails: {error}"
    return ""


def _taints_text(choice: PlacementChoice, cluster: Cluster, effects: tuple[str, ...]) -> str:
    """The taints with these effects that the placement does not tolerate, or no longer."""
    texts = []
    for taint in cluster.spec.taints or []:
        until = tolerated_until(taint, choice.spec.tolerations or ())
        if taint.effect in effects and (until is None or until <= choice.at):
            value = f"={taint.value}" if taint.value else ""
            ended = f", tolerated until {time_text(until)}" if until else ""
            texts.append(f"taint {taint.key}{value} ({taint.effect}){ended}")
    return "; ".join(texts)


def _unevenness(spread: SpreadCounts, name: str) -> str:
    texts = []
    for constraint, value, counts in zip(spread.constraints, spread.values[name], spread.counts, strict=True):
        key = f"{constraint.topology_key_type.lower()} {constraint.topology_key}"
        others = [(count, other) for other, count in counts.items() if other != value]
        if value is None:
            texts.append(f"it has no {key}")
        elif others:
            fewest, other = min(others)
            skew = f"maxSkew {constraint.max_skew}"
            texts.append(f"{key}: {counts[value]} of the chosen have {value}, {fewest} {other} ({skew})")
    return "; ".join(texts)
