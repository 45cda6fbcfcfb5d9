"""Resolve: what every option is, and why.

Items come in order of application, from generic to specific. The last that speaks of a path wins it; what it hides
stays visible. An item that reaches inside an option's value (a path, or Merge) becomes a part of the option's decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from fleetform.engine.checks import breaks_rules
from fleetform.engine.paths import get_in, normal_form, with_value, without
from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import ABSENT, Entry, Item, OptionDecision, Part, Secret, Settled, Slot, Steps

ValueOf = Callable[[Item], Any]


def written_value(item: Item) -> Any:
    """An item's value where no cluster is needed to know it."""
    if item.secret is not None:
        return Secret(item.secret)
    return item.value


def decide_option(slot: Slot, entries: Sequence[Entry], value_of: ValueOf = written_value) -> OptionDecision:
    """One option's decision from all that is said about it."""
    if not all_plain(entries):
        return _decide_in_parts(slot, entries, value_of)
    if not entries:
        return OptionDecision(slot, ABSENT, None)
    winner = entries[-1][0]
    hidden = tuple([entry[0] for entry in entries[-2::-1]])
    value, problem = _valued(winner, slot.option, value_of)
    tie = tie_between(winner, hidden[0]) if hidden and winner.layer.rank else None
    return OptionDecision(slot, value, winner, hidden, (), tie, None, problem)


def decide_with_own(settled: Settled, own: Sequence[Entry], value_of: ValueOf = written_value) -> OptionDecision:
    """An option's decision where a cluster has items of its own between what is below and above them."""
    if not settled.plain or not all_plain(own) or settled.decision is None:
        return decide_option(settled.slot, (*settled.below, *own, *settled.above), value_of)
    decision, above = settled.decision, len(settled.above)
    hidden = tuple([entry[0] for entry in reversed(own)])
    if above:
        # Above wins as it did without them: they only join what it hides.
        hidden = decision.hidden[: above - 1] + hidden + decision.hidden[above - 1 :]
        return OptionDecision(
            settled.slot, decision.value, decision.winner, hidden, (), decision.tie, None, decision.problem
        )
    below = (decision.winner, *decision.hidden) if decision.winner is not None else ()
    value, problem = _valued(hidden[0], settled.slot.option, value_of)
    return OptionDecision(settled.slot, value, hidden[0], hidden[1:] + below, (), None, None, problem)


def all_plain(entries: Iterable[Entry]) -> bool:
    """Every item replaces the whole value."""
    return not any(inside or item.strategy != "Replace" for item, inside in entries)


def _valued(item: Item, option: Option | None, value_of: ValueOf) -> tuple[Any, str | None]:
    try:
        value = value_of(item)
    except ValueError as error:
        return ABSENT, f"the expression gives no value: {error}"
    return _as_secret(option, value), breaks_rules(option, value) if option is not None else None


def _as_secret(option: Option | None, value: Any) -> Any:
    """A secret option's plain value is secret from here on."""
    if option is not None and option.type == "secret" and not isinstance(value, Secret) and value is not ABSENT:
        return Secret(None, value)
    return value


def tie_between(winner: Item, loser: Item) -> Literal["created", "name"] | None:
    """How two overrides of one rank that disagree were told apart."""
    if loser.layer.name != "override" or winner.layer.rank != loser.layer.rank or _says_the_same(winner, loser):
        return None
    return "created" if winner.layer.created != loser.layer.created else "name"


def _says_the_same(one: Item, other: Item) -> bool:
    return (
        one.layer is other.layer
        or (one.strategy == "Remove" and other.strategy == "Remove")
        or (
            one.strategy == other.strategy
            and one.expression == other.expression
            and one.secret == other.secret
            and same_value(one.value, other.value)
        )
    )


def same_value(one: Any, other: Any) -> bool:
    """Equal as values: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _decide_in_parts(slot: Slot, entries: Sequence[Entry], value_of: ValueOf) -> OptionDecision:
    folding = _Folding(value_of)
    problem = None
    try:
        for item, inside in entries:
            folding.apply(item, inside)
    except ValueError as error:
        problem = str(error)
    value, whole = folding.value, folding.whole
    if problem is None and slot.option is not None and value is not ABSENT:
        problem = breaks_rules(slot.option, value)
    hidden = tuple(reversed(folding.hidden))
    tie = tie_between(whole, hidden[0]) if whole is not None and hidden and whole.layer.rank else None
    shown = _as_secret(slot.option, value)
    return OptionDecision(slot, shown, whole, hidden, folding.made_parts(), tie, folding.removed_by, problem)


class _Folding:
    """The state of one option while its items are applied."""

    def __init__(self, value_of: ValueOf) -> None:
        self._value_of = value_of
        self.value: Any = ABSENT
        self.whole: Item | None = None
        self.default: Item | None = None
        self.hidden: list[Item] = []
        self.removed_by: Item | None = None
        self._parts: dict[tuple[str, ...], Part] = {}

    def apply(self, item: Item, inside: Steps) -> None:
        if item.layer.name == "default":
            self.default = item
        if item.strategy == "Remove":
            self._remove(item, inside)
            return
        try:
            value = self._value_of(item)
        except ValueError as error:
            raise ValueError(f"the expression gives no value: {error}") from error
        target = get_in(self.value, inside) if inside else self.value
        if item.strategy == "Merge" and isinstance(value, dict) and isinstance(target, dict):
            for leaf, leaf_value in _leaves(value, target, inside):
                self._set_part(item, leaf, leaf_value)
        elif inside:
            self._set_part(item, inside, value)
        else:
            self._set_whole(item, value)

    def _set_whole(self, item: Item | None, value: Any) -> None:
        if self.whole is not None:
            self.hidden.append(self.whole)
        for part in self._parts.values():
            self.hidden.extend(each for each in (*reversed(part.hidden), part.winner) if each not in self.hidden)
        self._parts = {}
        self.whole, self.value, self.removed_by = item, value, None

    def _set_part(self, item: Item, inside: Steps, value: Any) -> None:
        self.value = with_value(self.value, inside, value)
        self._claim_part(item, inside, value)

    def _claim_part(self, item: Item, inside: Steps, value: Any) -> None:
        form = normal_form(inside)
        hidden: list[Item] = []
        for other in [each for each in self._parts if each[: len(form)] == form]:
            part = self._parts.pop(other)
            hidden += [each for each in (part.winner, *part.hidden) if each not in hidden and each is not item]
        above = self._speaker_above(inside)
        if above is not None and above not in hidden:
            hidden.append(above)
        tie = tie_between(item, hidden[0]) if hidden else None
        self._parts[form] = Part(inside, value, item, tuple(hidden), tie)

    def _speaker_above(self, inside: Steps) -> Item | None:
        """The whole value's item, if it said something at this path."""
        if self.whole is None or self.whole.expression is not None:
            return None
        return None if get_in(self.whole.value, inside) is ABSENT else self.whole

    def _remove(self, item: Item, inside: Steps) -> None:
        """As if no layer but the default had set it (S18)."""
        default = self.default.value if self.default is not None else ABSENT
        if not inside:
            self._set_whole(self.default, default)
            self.hidden = [each for each in self.hidden if each is not self.default]
            self.removed_by = item
            return
        remaining = get_in(default, inside)
        if remaining is not ABSENT:
            self.value = with_value(self.value, inside, remaining)
        else:
            self.value = without(self.value, inside)
        self._claim_part(item, inside, remaining)

    def made_parts(self) -> tuple[Part, ...]:
        return tuple(self._parts[form] for form in sorted(self._parts))


def _leaves(value: dict[str, Any], target: Any, inside: Steps) -> Iterator[tuple[Steps, Any]]:
    """What Merge sets: maps go deep as far as there is a map to go into, everything else is replaced."""
    for key in sorted(value):
        below = target.get(key, ABSENT)
        if isinstance(value[key], dict) and isinstance(below, dict):
            yield from _leaves(value[key], below, (*inside, key))
        else:
            yield (*inside, key), value[key]
