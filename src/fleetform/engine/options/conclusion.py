"""Conclusion: what a folded value comes to: a value that keeps the option's rules, or why there is none."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fleetform.engine.options.holes import is_hole, marks_in, without_holes
from fleetform.model.results.bindings import Failure, Unresolved
from fleetform.model.results.decisions import ABSENT, Secret, Slot
from fleetform.syntax.option_paths import get_in, with_value
from fleetform.syntax.option_rules import breaks_rules

_SINGLE = frozenset({str, int, bool, float, Secret})


class Known(Struct, frozen=True, eq=False, gc=False):
    """A value, or what is known of it, and what is wrong with it."""

    value: Any
    problem: str | None = None
    unresolved: tuple[Unresolved, ...] = ()
    partial: Any = ABSENT


def concluded(slot: Slot, tree: Any) -> Known:
    """What an option's folded value comes to."""
    if tree is ABSENT:
        return Known(ABSENT)
    if tree.__class__ in _SINGLE:
        problem = breaks_rules(slot.option, tree, slot.secret) if slot.option is not None else None
        return Known(Secret(None, tree) if slot.secret and tree.__class__ is not Secret else tree, problem)
    marks = list(marks_in(tree))
    if any(isinstance(each, Unresolved) and not each.gate for each in marks):
        # An optional variable leaves out what refers to it (S37).
        tree = without_holes(tree, lambda mark: isinstance(mark, Unresolved) and not mark.gate)
        marks = list(marks_in(tree))
    if slot.secret_inside:
        tree = _with_secrets(slot, tree)
    if marks:
        failure = next((each for each in marks if isinstance(each, Failure)), None)
        problem = message_of(failure, slot) if failure is not None else None
        unresolved = tuple(each for each in marks if each.__class__ is Unresolved)
        return Known(ABSENT, problem, unresolved, tree)
    problem = None
    if slot.option is not None and tree is not ABSENT:
        problem = breaks_rules(slot.option, tree, slot.secret)
    if slot.secret and tree is not ABSENT and tree.__class__ is not Secret:
        # A secret option's plain value is secret from here on.
        tree = Secret(None, tree)
    return Known(tree, problem)


def message_of(failure: Failure, slot: Slot) -> str:
    """Why a part is not known; an expression's error may quote what a secret option's is made of."""
    return "the expression gives no value" if slot.secret and failure.__class__ is Failure else failure.message


def _with_secrets(slot: Slot, tree: Any) -> Any:
    """The value with what any version declares secret inside it marked as that."""
    for steps in slot.secret_inside:
        found = get_in(tree, steps)
        if found is not ABSENT and not isinstance(found, Secret) and not is_hole(found):
            tree = with_value(tree, steps, Secret(None, found))
    return tree
