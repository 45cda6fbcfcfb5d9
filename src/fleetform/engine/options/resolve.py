"""Resolve: what every option is, and why.

Items come in order of application, from generic to specific. The last that speaks of a path wins it; what it hides
stays visible. An item that reaches inside an option's value (a path, or Merge) becomes a part of the option's decision.
Where nothing of that kind is said, which is most of a fleet, the last item is all there is to it: this is the short
way; `fold` is the whole one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fleetform.engine.options.conclusion import concluded
from fleetform.engine.options.fold import NOTHING, Contribution, Folding, ValueOf, tied_with, written_value
from fleetform.model.results.decisions import ABSENT, Entry, Family, Item, OptionDecision, Part, Settled, Slot
from fleetform.syntax.option_paths import normal_form, with_value


def decide_option(
    slot: Slot, entries: Sequence[Entry], value_of: ValueOf = written_value, family: Family | None = None
) -> OptionDecision:
    """One option's decision from all that is said about it, and about those that it lies in or that lie in it."""
    if not is_simple(slot, family) or not all_plain(entries):
        return Folding(family or Family(slot.steps, (slot,)), value_of).fold(entries).decision(slot)
    return filled_outline(outline_of(slot, entries), value_of)


def outline_of(slot: Slot, entries: Sequence[Entry]) -> OptionDecision:
    """Who wins an option and what that hides, of items that replace the whole value; without the value."""
    if not entries:
        return OptionDecision(slot, ABSENT, None)
    winner = entries[-1][0]
    hidden = tuple([entry[0] for entry in entries[-2::-1]])
    tie = tied_with(winner, hidden) if hidden and winner.layer.rank else None
    return OptionDecision(slot, ABSENT, winner, hidden, (), tie)


def filled_outline(outline: OptionDecision, value_of: ValueOf) -> OptionDecision:
    """The decision that an outline becomes with its winner's value."""
    if outline.winner is None:
        return outline
    return _won(outline.slot, outline.winner, outline.hidden, outline.tied_with, value_of)


def _won(
    slot: Slot, winner: Item, hidden: tuple[Item, ...], tied_with: Item | None, value_of: ValueOf
) -> OptionDecision:
    """The decision of an option whose whole value is an item's."""
    known = concluded(slot, value_of(winner))
    return OptionDecision(
        slot, known.value, winner, hidden, (), tied_with, None, known.problem, (), known.unresolved, known.partial
    )


def decide_with_own(
    settled: Settled, decision: OptionDecision, own: Sequence[Entry], value_of: ValueOf = written_value
) -> OptionDecision:
    """An option's decision where a cluster has items of its own between what is below and above them. decision is
    what it is elsewhere."""
    slot, above = settled.slot, len(settled.above)
    if not settled.plain or not all_plain(own):
        if _stands_apart(settled, decision, own):
            return _decide_beside(settled, decision, own, value_of)
        return decide_option(slot, (*settled.below, *own, *settled.above), value_of, settled.family)
    hidden = tuple([entry[0] for entry in reversed(own)])
    if above:
        # Above wins as it did without them: they only join what it hides.
        hidden = decision.hidden[: above - 1] + hidden + decision.hidden[above - 1 :]
        return OptionDecision(
            slot,
            decision.value,
            decision.winner,
            hidden,
            (),
            decision.tied_with,
            None,
            decision.problem,
            (),
            decision.unresolved,
            decision.partial,
        )
    below = (decision.winner, *decision.hidden) if decision.winner is not None else ()
    return _won(slot, hidden[0], hidden[1:] + below, None, value_of)


def _stands_apart(settled: Settled, decision: OptionDecision, own: Sequence[Entry]) -> bool:
    """Whether a cluster's own items only set paths of which nobody above them speaks, nor they of each other's."""
    if not is_simple(settled.slot, settled.family):
        return False
    if decision.removed_by is not None or decision.problem is not None:
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


def _decide_beside(
    settled: Settled, decision: OptionDecision, own: Sequence[Entry], value_of: ValueOf
) -> OptionDecision:
    """The shared decision with a part for each of a cluster's own items: the same as folding all, for far less."""
    slot = settled.slot
    try:
        value = decision.value
        parts = list(decision.parts)
        for item, path in own:
            said = value_of(item)
            value = with_value(value, path, said)
            form = normal_form(path)
            heard = (Contribution(below, inside, value_of(below)) for below, inside in reversed(settled.below))
            hidden = tuple([each.item for each in heard if each.at(path, form) is not NOTHING])
            parts = [each for each in parts if normal_form(each.steps)[: len(form)] != form]
            parts.append(Part(path, said, item, hidden))
    except ValueError:
        return decide_option(slot, (*settled.below, *own, *settled.above), value_of)
    in_order = tuple(sorted(parts, key=lambda part: normal_form(part.steps)))
    known = concluded(slot, value)
    return OptionDecision(
        slot,
        known.value,
        decision.winner,
        decision.hidden,
        in_order,
        decision.tied_with,
        None,
        known.problem,
        (),
        known.unresolved,
        known.partial,
        decision.sides,
    )


def all_plain(entries: Iterable[Entry]) -> bool:
    """Every item replaces the whole value."""
    # Asked of every option of every plugin: a generator would cost more than the loop.
    for item, inside in entries:  # noqa: SIM110
        if inside or item.strategy != "Replace":
            return False
    return True


def is_simple(slot: Slot, family: Family | None) -> bool:
    """Nothing beside what is said of an option makes its value another one."""
    return family is None and not slot.retypes and not slot.secret_inside
