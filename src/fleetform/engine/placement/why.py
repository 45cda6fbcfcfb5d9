"""Why a placement does not choose a cluster, in words."""

from __future__ import annotations

from functools import cached_property

from fleetform.engine.placement.choice import Choice, expressions_of, requirements_of
from fleetform.engine.placement.facts import Cluster, claims_of
from fleetform.engine.placement.pool import DEFAULT_SET, SET_LABEL, Group
from fleetform.engine.placement.spread import Ranked, Spread
from fleetform.engine.placement.taints import tolerated_until
from fleetform.model.kinds.fleet import Taint
from fleetform.model.kinds.placement import RequiredClusterSelector
from fleetform.syntax.cel import ExpressionError
from fleetform.syntax.selectors import Labels, Requirement, SelectorError
from fleetform.syntax.times import time_text


class Reasons:
    """Why a choice leaves clusters out: the first of its steps that a cluster does not pass."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice

    def of(self, name: str) -> str | None:
        """The reason for one cluster; None where it is chosen."""
        choice, found = self._choice, self._choice.pool.find(name)
        if found is None:
            return "there is no such cluster"
        cluster, bit = found
        if bit & choice.chosen:
            return None
        if not bit & choice.allowed:
            return _no_set(choice, cluster)
        if not bit & choice.matching:
            return _no_predicate(choice, cluster)
        if not bit & choice.qualifying:
            return _taints_text(
                choice, cluster, ("NoSelect",) if bit & choice.before else ("NoSelect", "NoSelectIfNew")
            )
        return self._no_place(cluster, bit)

    def of_all(self) -> dict[str, str]:
        """The reasons for all clusters that are not chosen, by name."""
        left_out = self._choice.pool.members(self._choice.pool.everyone & ~self._choice.chosen)
        return {each.ref.name: self.of(each.ref.name) or "" for each in left_out}

    def _no_place(self, cluster: Cluster, bit: Group) -> str:
        choice, name = self._choice, cluster.ref.name
        if choice.places == 0:
            return "the placement asks for no cluster"
        is_shy, score = bool(bit & choice.tainted.reluctant), choice.scores[name]
        last = self._last_kept if bit & choice.kept else self._last_newcomer
        if self._spread is not None and (self._is_forbidden(name) or (last and self._outranks((is_shy, name), last))):
            return f"spread: {_unevenness(self._spread, name)}"
        if last is None:
            return f"score {score}, but clusters that were chosen earlier keep their places"
        if is_shy and not last[0]:
            return f"{_taints_text(choice, cluster, ('PreferNoSelect',))}, and there are enough others"
        if choice.scores[last[1]] == score:
            return f"score {score}, as the last chosen, {last[1]}, which comes first by name"
        return f"score {score}, the last chosen has {choice.scores[last[1]]}"

    @cached_property
    def _last_kept(self) -> Ranked | None:
        ranked = self._choice.ranked(self._choice.chosen & self._choice.kept)
        return ranked[-1] if ranked else None

    @cached_property
    def _last_newcomer(self) -> Ranked | None:
        ranked = self._choice.ranked(self._choice.chosen & ~self._choice.kept)
        return ranked[-1] if ranked else None

    @cached_property
    def _spread(self) -> Spread | None:
        return self._choice.spread(self._choice.chosen)

    def _is_forbidden(self, name: str) -> bool:
        return self._spread is not None and self._spread.forbids(self._spread.excess(self._spread.values[name]))

    def _outranks(self, left: Ranked, right: Ranked) -> bool:
        scores = self._choice.scores
        return (left[0], -scores[left[1]], left[1]) < (right[0], -scores[right[1]], right[1])


def _no_set(choice: Choice, cluster: Cluster) -> str:
    names = choice.sets.eligible(choice.spec.cluster_sets)
    if not names:
        return "no set of the placement holds it: none of them is bound"
    own = cluster.labels.get(SET_LABEL) or DEFAULT_SET
    return f"no set of the placement holds it: it is in {own}, the placement chooses from {', '.join(names)}"


# ---- Predicates


def _no_predicate(choice: Choice, cluster: Cluster) -> str:
    reasons = [
        _unsatisfied(choice, each.required_cluster_selector or RequiredClusterSelector(), cluster)
        for each in choice.spec.predicates or []
    ]
    return f"no predicate holds: {'; '.join(dict.fromkeys(reasons))}"


def _unsatisfied(choice: Choice, required: RequiredClusterSelector, cluster: Cluster) -> str:
    try:
        by_label, by_claim = requirements_of(required)
    except SelectorError as error:
        return f"a selector cannot be read: {error.message}"
    claims = claims_of(cluster)
    for kind, requirements, values in (("label", by_label, cluster.labels), ("claim", by_claim, claims)):
        for requirement in requirements:
            if not requirement.matches(values):
                return f"{kind} {_asked(requirement)}, and {_given(requirement, values)}"
    return next(filter(None, (_disagreement(choice, each, cluster) for each in expressions_of(required))), "")


def _asked(requirement: Requirement) -> str:
    values = " or ".join(sorted(requirement.values))
    how = {"In": f"be {values}", "NotIn": f"not be {values}", "Exists": "be there", "DoesNotExist": "not be there"}
    return f"{requirement.key} must {how[requirement.operator]}"


def _given(requirement: Requirement, values: Labels) -> str:
    value = values.get(requirement.key)
    return "it is missing" if value is None else f"it is {value}"


def _disagreement(choice: Choice, expression: str, cluster: Cluster) -> str | None:
    try:
        return None if choice.pool.judge(expression, cluster) else f"{expression} does not hold"
    except ExpressionError as error:
        return f"{expression} fails: {error}"


# ---- Taints


def _taints_text(choice: Choice, cluster: Cluster, effects: tuple[str, ...]) -> str:
    """The taints with these effects that the placement does not tolerate, or no longer."""
    texts = []
    for taint in cluster.spec.taints or []:
        until = tolerated_until(taint, choice.spec.tolerations or ())
        if taint.effect in effects and (until is None or until <= choice.at):
            texts.append(_taint_text(taint) + (f", tolerated until {time_text(until)}" if until else ""))
    return "; ".join(texts)


def _taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"taint {taint.key}{value} ({taint.effect})"


# ---- Spread


def _unevenness(spread: Spread, name: str) -> str:
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
