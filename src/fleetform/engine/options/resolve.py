"""Resolve: what every option is, and why.

Items come in order of application, from generic to specific. The last that speaks of a path wins it; what it hides
stays visible. An item that reaches inside an option's value (a path, or Merge) becomes a part of the option's decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import ABSENT, Entry, Item, OptionDecision, Part, Secret, Settled, Slot, Steps
from fleetform.syntax.option_paths import PathError, get_in, normal_form, with_value, without
from fleetform.syntax.option_rules import breaks_rules
from fleetform.syntax.trees import same_value

ValueOf = Callable[[Item], Any]


class UnresolvedError(ValueError):
    """An item mentions a name that cannot be resolved here."""

    def __init__(self, missing: Unresolved) -> None:
        super().__init__(missing.message)
        self.missing = missing


def written_value(item: Item) -> Any:
    """An item's value where no cluster is needed to know it."""
    if item.secret is not None:
        return Secret(item.secret)
    return item.value


def decide_option(slot: Slot, entries: Sequence[Entry], value_of: ValueOf = written_value) -> OptionDecision:
    """One option's decision from all that is said about it."""
    if not all_plain(entries):
        return _Folding(slot, value_of).fold(entries)
    return filled_outline(outline_of(slot, entries), value_of)


def outline_of(slot: Slot, entries: Sequence[Entry]) -> OptionDecision:
    """Who wins an option and what that hides, of items that replace the whole value; without the value."""
    if not entries:
        return OptionDecision(slot, ABSENT, None)
    winner = entries[-1][0]
    hidden = tuple([entry[0] for entry in entries[-2::-1]])
    tied_with = _tied_with(winner, hidden) if hidden and winner.layer.rank else None
    return OptionDecision(slot, ABSENT, winner, hidden, (), tied_with)


def filled_outline(outline: OptionDecision, value_of: ValueOf) -> OptionDecision:
    """The decision that an outline becomes with its winner's value."""
    winner = outline.winner
    if winner is None:
        return outline
    value, problem, missing = _valued(winner, outline.slot, value_of)
    return OptionDecision(
        outline.slot, value, winner, outline.hidden, (), outline.tied_with, None, problem, None, missing
    )


def decide_with_own(settled: Settled, own: Sequence[Entry], value_of: ValueOf = written_value) -> OptionDecision:
    """An option's decision where a cluster has items of its own between what is below and above them."""
    if not settled.plain or not all_plain(own) or settled.decision is None:
        if _stands_apart(settled, own):
            return _decide_beside(settled, own, value_of)
        return decide_option(settled.slot, (*settled.below, *own, *settled.above), value_of)
    decision, above = settled.decision, len(settled.above)
    hidden = tuple([entry[0] for entry in reversed(own)])
    if above:
        # Above wins as it did without them: they only join what it hides.
        hidden = decision.hidden[: above - 1] + hidden + decision.hidden[above - 1 :]
        return OptionDecision(
            settled.slot,
            decision.value,
            decision.winner,
            hidden,
            (),
            decision.tied_with,
            None,
            decision.problem,
            None,
            decision.unresolved,
        )
    below = (decision.winner, *decision.hidden) if decision.winner is not None else ()
    value, problem, missing = _valued(hidden[0], settled.slot, value_of)
    return OptionDecision(settled.slot, value, hidden[0], hidden[1:] + below, (), None, None, problem, None, missing)


def _stands_apart(settled: Settled, own: Sequence[Entry]) -> bool:
    """Whether a cluster's own items only set paths of which nobody above them speaks, nor they of each other's."""
    decision = settled.decision
    if decision is None or decision.removed_by is not None or decision.problem is not None:
        return False
    if decision.unresolved is not None:
        return False
    if not isinstance(decision.value, dict):
        return False
    forms: list[tuple[str, ...]] = []
    for item, inside in (*settled.above, *own):
        if not inside or item.strategy != "Replace":
            return False
        forms.append(normal_form(inside))
    first_own = len(settled.above)
    return all(
        form[: len(other)] != other[: len(form)]
        for number, form in enumerate(forms[first_own:], start=first_own)
        for other in forms[:number]
    )


def _decide_beside(settled: Settled, own: Sequence[Entry], value_of: ValueOf) -> OptionDecision:
    """The shared decision with a part for each of a cluster's own items: the same as folding all, for far less."""
    decision, slot = settled.decision, settled.slot
    assert decision is not None
    try:
        value = decision.value
        parts = list(decision.parts)
        for item, path in own:
            said = value_of(item)
            value = with_value(value, path, said)
            form = normal_form(path)
            heard = (_Contribution(below, inside, value_of(below)) for below, inside in reversed(settled.below))
            hidden = tuple([each.item for each in heard if each.at(path, form) is not _NOTHING])
            parts = [each for each in parts if normal_form(each.steps)[: len(form)] != form]
            parts.append(Part(path, said, item, hidden))
    except ValueError:
        return decide_option(slot, (*settled.below, *own, *settled.above), value_of)
    in_order = tuple(sorted(parts, key=lambda part: normal_form(part.steps)))
    return OptionDecision(
        slot, value, decision.winner, decision.hidden, in_order, decision.tied_with, None, _problem(slot, value)
    )


def all_plain(entries: Iterable[Entry]) -> bool:
    """Every item replaces the whole value."""
    return not any(inside or item.strategy != "Replace" for item, inside in entries)


def _valued(item: Item, slot: Slot, value_of: ValueOf) -> tuple[Any, str | None, Unresolved | None]:
    try:
        value = value_of(item)
    except UnresolvedError as error:
        return ABSENT, None, error.missing
    except ValueError as error:
        return ABSENT, _no_value(error, slot), None
    return _as_secret(slot, value), _problem(slot, value), None


def _problem(slot: Slot, value: Any) -> str | None:
    return breaks_rules(slot.option, value, slot.secret) if slot.option is not None else None


def _no_value(error: ValueError, slot: Slot) -> str:
    # Of a secret not even the words of a mistake are shown.
    return f"the expression gives no value{'' if slot.secret else f': {error}'}"


def _as_secret(slot: Slot, value: Any) -> Any:
    """A secret option's plain value is secret from here on."""
    if slot.secret and not isinstance(value, Secret) and value is not ABSENT:
        return Secret(None, value)
    return value


# ---- Ties


def _tied_with(winner: Item, hidden: Iterable[Item]) -> Item | None:
    """The first of the hidden that has the winner's rank and says something else about the whole value."""
    for item in hidden:
        if item.layer.rank != winner.layer.rank:
            return None
        if not _says_the_same(winner, item):
            return item
    return None


def _says_the_same(one: Item, other: Item) -> bool:
    return (
        one.layer is other.layer
        or one.value is other.value is not ABSENT
        or (one.expression == other.expression and one.secret == other.secret and same_value(one.value, other.value))
    )


# ---- Options of which parts are decided on their own


class _Contribution(Struct, frozen=True, eq=False):
    """What an item said, while an option is folded: its path inside the option, and the value (ABSENT: removed)."""

    item: Item
    inside: Steps
    value: Any

    def at(self, path: Steps, form: tuple[str, ...]) -> Any:
        """What it says at or below a path (given in normal form, too); nothing where it does not speak of it."""
        own = normal_form(self.inside)
        if own[: len(form)] == form:
            return self.value if self.item.strategy != "Remove" else ABSENT
        if form[: len(own)] != own:
            return _NOTHING
        if self.item.strategy == "Remove":
            return ABSENT
        said = get_in(self.value, path[len(own) :])
        return _NOTHING if said is ABSENT else said


class _Nothing:
    """Not spoken of, which is not the same as removed."""


_NOTHING = _Nothing()


class _Folding:
    """The state of one option while its items are applied, in order."""

    def __init__(self, slot: Slot, value_of: ValueOf) -> None:
        self._slot = slot
        self._value_of = value_of
        self._value: Any = ABSENT
        self._heard: list[_Contribution] = []
        self._winner: Item | None = None
        self._default: Item | None = None
        self._hidden: tuple[Item, ...] = ()
        self._removed_by: Item | None = None
        self._tied_with: Item | None = None
        self._problem: str | None = None
        self._at_fault: Item | None = None
        # Names that cannot be resolved, by the path of what mentions them.
        self._missing: dict[tuple[str, ...], Unresolved] = {}
        self._parts: dict[tuple[str, ...], Part] = {}

    def fold(self, entries: Sequence[Entry]) -> OptionDecision:
        for item, inside in entries:
            self._apply(item, inside)
        missing = next(iter(self._missing.values()), None)
        value, problem = self._value if missing is None else ABSENT, self._problem
        if problem is None and value is not ABSENT:
            problem = _problem(self._slot, value)
        return OptionDecision(
            self._slot,
            _as_secret(self._slot, value),
            self._winner,
            self._hidden,
            tuple(self._parts[form] for form in sorted(self._parts)),
            self._tied_with,
            self._removed_by,
            problem,
            self._at_fault,
            missing,
        )

    def _apply(self, item: Item, inside: Steps) -> None:
        """Apply one item. One that cannot be applied is a problem until a whole value hides it."""
        if item.layer.name == "default":
            self._default = item
        try:
            value = ABSENT if item.strategy == "Remove" else self._value_of(item)
        except ValueError as error:
            if not inside:
                self._set_whole(item, ABSENT)
            if isinstance(error, UnresolvedError):
                self._hide(normal_form(inside))
                self._missing[normal_form(inside)] = error.missing
            else:
                self._problem = _no_value(error, self._slot)
            return
        try:
            self._apply_value(item, inside, value)
        except PathError as error:
            self._problem, self._at_fault = error.message, item

    def _apply_value(self, item: Item, inside: Steps, value: Any) -> None:
        target = get_in(self._value, inside)
        if item.strategy == "Remove":
            self._remove(item, inside)
        elif item.strategy == "Merge" and isinstance(value, dict) and isinstance(target, dict):
            self._set_parts(item, inside, value, list(_leaves(value, target, inside)))
        elif inside:
            self._set_parts(item, inside, value, [(inside, value)])
        else:
            self._set_whole(item, value)

    def _set_whole(self, item: Item, value: Any) -> None:
        self._hidden = tuple(each.item for each in reversed(self._heard))
        self._tied_with = self._find_tie(item, (), value)
        self._value, self._winner, self._removed_by = value, item, None
        self._forget()
        self._heard.append(_Contribution(item, (), value))

    def _forget(self) -> None:
        """What was wrong with parts is hidden with them."""
        self._parts, self._problem, self._at_fault, self._missing = {}, None, None, {}

    def _hide(self, form: tuple[str, ...]) -> None:
        """What was said at or below a path is decided anew."""
        for decided in (self._parts, self._missing):
            for below in [each for each in decided if each[: len(form)] == form]:
                del decided[below]

    def _set_parts(self, item: Item, inside: Steps, value: Any, leaves: Sequence[tuple[Steps, Any]]) -> None:
        changed = self._value
        if changed is ABSENT and self._slot.option is not None:
            # A number is a key in a map, an index in a list: the option says which this is.
            changed = {"map": {}, "list": []}.get(self._slot.option.type, ABSENT)
        for path, leaf in leaves:
            changed = with_value(changed, path, leaf)
        self._value = changed
        for path, leaf in leaves:
            self._claim(item, path, leaf)
        if leaves:
            self._heard.append(_Contribution(item, inside, value))

    def _claim(self, item: Item, path: Steps, value: Any) -> None:
        """The item decides the path from here on; what was said about it before is hidden."""
        form = normal_form(path)
        self._hide(form)
        hidden = [each.item for each in reversed(self._heard) if each.at(path, form) is not _NOTHING]
        self._parts[form] = Part(path, value, item, tuple(hidden), self._find_tie(item, path, value))

    def _remove(self, item: Item, inside: Steps) -> None:
        """As if no layer but the default had set it (S18)."""
        default = self._default.value if self._default is not None else ABSENT
        if not inside:
            self._hidden = tuple(each.item for each in reversed(self._heard) if each.item is not self._default)
            self._tied_with = self._find_tie(item, (), ABSENT)
            self._value, self._winner, self._removed_by = default, self._default, item
            self._forget()
        else:
            remaining = get_in(default, inside)
            if remaining is ABSENT:
                self._value = without(self._value, inside)
            else:
                self._value = with_value(self._value, inside, remaining)
            self._claim(item, inside, remaining)
        self._heard.append(_Contribution(item, inside, ABSENT))

    def _find_tie(self, item: Item, path: Steps, value: Any) -> Item | None:
        """The latest of those of the item's rank that said something else about the path."""
        for heard in reversed(self._heard):
            if heard.item.layer.rank != item.layer.rank or not item.layer.rank:
                return None
            if heard.item.layer is not item.layer and self._disagrees(heard, item, path, value):
                return heard.item
        return None

    def _disagrees(self, heard: _Contribution, item: Item, path: Steps, value: Any) -> bool:
        said = heard.at(path, normal_form(path))
        if isinstance(said, _Nothing):
            return False
        if item.strategy == "Remove" or said is ABSENT:
            return (item.strategy == "Remove") != (said is ABSENT)
        below = heard.inside[len(path) :] if len(heard.inside) > len(path) else ()
        return not same_value(said, get_in(value, below))


def _leaves(value: dict[str, Any], target: Any, inside: Steps) -> Iterator[tuple[Steps, Any]]:
    """What Merge sets: maps go deep as far as there is a map to go into, everything else is replaced."""
    for key in sorted(value):
        below = target.get(key, ABSENT)
        if isinstance(value[key], dict) and isinstance(below, dict):
            yield from _leaves(value[key], below, (*inside, key))
        else:
            yield (*inside, key), value[key]
