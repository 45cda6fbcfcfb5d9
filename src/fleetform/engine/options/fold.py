"""Fold: the items that concern one value, applied one after the other.

One algorithm serves an option, options of which one lies inside another, and paths that nobody declares. It knows for
each path who decided it last, so that a decision can be read off for every option that has a part in the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, structs

from fleetform.engine.options.conclusion import concluded
from fleetform.engine.options.holes import (
    cleared,
    deep_leaves,
    depth_of_misfit,
    hole_above,
    is_hole,
    marks_in,
    merge_leaves,
    merged_into,
    placed,
)
from fleetform.engine.versions.migrations import retyped
from fleetform.model.results.decisions import ABSENT, Entry, Family, Item, OptionDecision, Part, Secret, Slot, Steps
from fleetform.syntax.option_paths import PathError, get_in, normal_form, with_value
from fleetform.syntax.option_rules import has_type
from fleetform.syntax.trees import same_value

# What an item says on one cluster; a part that is not known there is a hole.
ValueOf = Callable[[Item], Any]
Form = tuple[str, ...]


def written_value(item: Item) -> Any:
    """An item's value where no cluster is needed to know it."""
    if item.secret is not None:
        return Secret(item.secret)
    return item.value


class _Nothing:
    """Not spoken of, which is not the same as removed."""


NOTHING: Final = _Nothing()


class Contribution(Struct, frozen=True, eq=False):
    """What an item said: its path, and the value (ABSENT: removed)."""

    item: Item
    inside: Steps
    value: Any

    def at(self, path: Steps, form: Form) -> Any:
        """What it says at or below a path (given in normal form, too); NOTHING where it does not speak of it."""
        own = normal_form(self.inside)
        if own[: len(form)] == form:
            return self.value if self.item.strategy != "Remove" else ABSENT
        if form[: len(own)] != own:
            return NOTHING
        if self.item.strategy == "Remove":
            return ABSENT
        rest = path[len(own) :]
        said = get_in(self.value, rest)
        if said is ABSENT:
            # What is not known may speak of it.
            said = hole_above(self.value, rest)
        return NOTHING if said is ABSENT else said


class _Fault(NamedTuple):
    """An item that could not be applied, and why."""

    message: str
    item: Item


class Folding:
    """One value while items are applied to it, in order. Paths start where the family does."""

    def __init__(self, family: Family, value_of: ValueOf) -> None:
        self._start = len(family.steps)
        self._members: dict[Form, Slot] = {normal_form(each.steps[self._start :]): each for each in family.members}
        self._value_of = value_of
        self._tree: Any = ABSENT
        # What defaults alone make, and the items that do: a removal brings it back.
        self._default_tree: Any = ABSENT
        self._defaults: list[Contribution] = []
        self._heard: list[Contribution] = []
        # Who decides a path, by its normal form; the whole value's is the empty one.
        self._parts: dict[Form, Part] = {}
        # How much was heard before that was decided.
        self._since: dict[Form, int] = {}
        self._faults: dict[Form, _Fault] = {}

    def fold(self, entries: Sequence[Entry]) -> Folding:
        for item, inside in entries:
            self._apply(item, inside)
        return self

    # ---- Applying

    def _apply(self, item: Item, inside: Steps) -> None:
        """Apply one item. One that cannot be applied is a fault at the place where its path ends (S59).

        It stays one until that place, or something above it, is replaced or removed.
        """
        value: Any = ABSENT
        try:
            if item.strategy == "Remove":
                self._remove(item, inside)
                return
            item, value = self._said(item, inside)
            if item.strategy == "Merge" and (isinstance(value, dict) or is_hole(value)):
                self._merge(item, inside, value)
            elif item.strategy == "Merge" and item.migrated_from and get_in(self._tree, inside) is not ABSENT:
                raise PathError(
                    "layers merge its value part by part, and a migration makes something else of each part: "
                    "write it as this version takes it, in one of them"
                )
            else:
                self._set(item, inside, value)
            if item.layer.name == "default":
                self._default_tree = with_value(self._default_tree, inside, value)
                self._defaults.append(self._heard[-1])
        except PathError as error:
            end = depth_of_misfit(self._with_containers(inside), inside)
            self._faults[normal_form(inside[:end])] = _Fault(error.message, item)
            # Whoever mends it hides it.
            self._heard.append(Contribution(item, inside, value))

    def _said(self, item: Item, inside: Steps) -> tuple[Item, Any]:
        """An item and its value as this version takes it."""
        value = self._value_of(item)
        member = self._members.get(normal_form(inside))
        if member is None or not member.retypes or member.option is None or is_hole(value):
            return item, value
        mark = next(marks_in(value), None)
        if mark is not None:
            # What must be converted as a whole is not known where a part of it is not.
            return item, value if has_type(member.option, value) else mark
        converted = retyped(member.option, member.retypes, value)
        return (
            (item, value)
            if converted is value
            else (structs.replace(item, migrated_from=item.migrated_from or member.name), converted)
        )

    def _set(self, item: Item, inside: Steps, value: Any) -> None:
        self._tree = placed(self._with_containers(inside), inside, value) if inside else value
        self._claim(item, inside, value)
        self._heard.append(Contribution(item, inside, value))

    def _merge(self, item: Item, inside: Steps, value: Any) -> None:
        target = get_in(self._tree, inside)
        if isinstance(value, dict) and isinstance(target, dict):
            leaves = list(merge_leaves(value, target, inside))
            below = [(path, self._cleared_by(path) if isinstance(said, dict) else None) for path, _, said in leaves]
            for path, then, _ in leaves:
                self._tree = with_value(self._tree, path, then)
            for (path, _, said), (_, cleared_by) in zip(leaves, below, strict=True):
                self._claim(item, path, said, cleared_by, merges=isinstance(said, dict))
            if not leaves:
                return
        elif hole_above(self._tree, inside) is not ABSENT or is_hole(target):
            then = merged_into(value, target) if is_hole(target) else value
            self._tree = placed(self._tree, inside, then, merges=not is_hole(target)) if inside else then
            # It decides what it says, and not the rest of what is not known.
            for path, said in deep_leaves(value, inside):
                self._claim(item, path, said, merges=True)
        elif is_hole(value) and isinstance(target, dict):
            then = merged_into(value, target)
            self._tree = with_value(self._tree, inside, then) if inside else then
            self._claim(item, inside, value)
        else:
            cleared_by, apart = self._cleared_by(inside), self._apart_from(value, inside) if target is ABSENT else {}
            self._tree = placed(self._with_containers(inside), inside, value) if inside else value
            self._claim(item, inside, value, cleared_by, merges=True)
            self._parts.update(apart)
        self._heard.append(Contribution(item, inside, value))

    def _apart_from(self, value: Any, inside: Steps) -> dict[Form, Part]:
        """Removals below a path of which a map that is merged there does not speak: they stand."""
        form = normal_form(inside)
        leaves = [normal_form(path) for path, said in deep_leaves(value, inside) if said != {}]
        return {
            each: part
            for each, part in self._parts.items()
            if len(each) > len(form)
            and each[: len(form)] == form
            and not any(each[: len(one)] == one for one in leaves)
        }

    def _remove(self, item: Item, inside: Steps) -> None:
        """As if no layer but the default had set it (S18)."""
        remaining = get_in(self._default_tree, inside)
        if not inside:
            self._tree = remaining
        elif remaining is ABSENT:
            self._tree = cleared(self._tree, inside)
        else:
            self._tree = placed(self._tree, inside, remaining)
        self._claim(item, inside, remaining)
        form = normal_form(inside)
        for default in self._defaults:
            below = normal_form(default.inside)
            if len(below) > len(form) and below[: len(form)] == form:
                self._parts[below] = Part(default.inside, default.value, default.item)
                self._since[below] = 0
        self._heard.append(Contribution(item, inside, ABSENT))

    def _with_containers(self, inside: Steps) -> Any:
        """The tree to put a path into: a map on the way is one before it has a value, so that a number is a key."""
        tree = self._tree
        form = normal_form(inside)
        for length in range(len(form)):
            member = self._members.get(form[:length])
            is_map = member is not None and member.option is not None and member.option.type == "map"
            if is_map and get_in(tree, inside[:length]) is ABSENT:
                tree = placed(tree, inside[:length], {})
        return tree

    def _claim(self, item: Item, path: Steps, value: Any, cleared_by: Item | None = None, merges: bool = False) -> None:
        """The item decides the path from here on; what was said about it before is hidden.

        A map that is merged into what could not be reached into does not mend that.
        """
        form = normal_form(path)
        for below in [each for each in self._parts if each[: len(form)] == form]:
            del self._parts[below]
        for below in [each for each in self._faults if each[: len(form)] == form and not (merges and each == form)]:
            del self._faults[below]
        hidden = tuple(self._heard_of(path, form, len(self._heard)))
        self._parts[form] = Part(path, value, item, hidden, self._find_tie(item, path, value), cleared_by)
        self._since[form] = len(self._heard)

    def _heard_of(self, path: Steps, form: Form, first: int) -> Iterator[Item]:
        """Who spoke of a path among the first of those heard, the last one first."""
        return (each.item for each in reversed(self._heard[:first]) if each.at(path, form) is not NOTHING)

    def _cleared_by(self, path: Steps) -> Item | None:
        """Who left nothing at a path for a Merge to go into. A Merge above it cleared nothing."""
        part = self._part_over(normal_form(path))
        if part is None or (part.winner.strategy == "Merge" and len(part.steps) < len(path)):
            return None
        return part.winner

    def _part_over(self, form: Form) -> Part | None:
        """What decides a path: the part at it, or the nearest above."""
        return next((self._parts[form[:n]] for n in range(len(form), -1, -1) if form[:n] in self._parts), None)

    # ---- Ties

    def _find_tie(self, item: Item, path: Steps, value: Any) -> Item | None:
        """The latest of those of the item's rank that said something else about the path."""
        for heard in reversed(self._heard):
            if heard.item.layer.rank != item.layer.rank or not item.layer.rank:
                return None
            if heard.item.layer is not item.layer and _disagrees(heard, item, path, value):
                return heard.item
        return None

    # ---- Reading a decision off

    def decision(self, slot: Slot) -> OptionDecision:
        """What the fold decides of one option."""
        path = slot.steps[self._start :]
        form = normal_form(path)
        value = hole_above(self._tree, path)
        if value is ABSENT:
            value = get_in(self._tree, path)
        faults = [each for at, each in self._faults.items() if at[: len(form)] == form or form[: len(at)] == at]
        known = concluded(slot, value, faults[-1].message if faults else None)
        part = self._part_over(form)
        hidden, winner, removed_by = self._voices(path, form, part, value)
        exact = part if part is not None and len(part.steps) == len(path) else None
        return OptionDecision(
            slot,
            known.value,
            winner,
            hidden,
            self._parts_below(form),
            exact.tied_with if exact is not None else None,
            removed_by,
            known.problem,
            tuple(each.item for each in faults),
            known.unresolved,
            known.partial,
            exact.cleared_by if exact is not None else None,
        )

    def _voices(
        self, path: Steps, form: Form, part: Part | None, value: Any
    ) -> tuple[tuple[Item, ...], Item | None, Item | None]:
        """Who is hidden at a path, who won it, and whose removal stands there."""
        if part is None:
            return (), None, None
        hidden = part.hidden
        if len(part.steps) < len(path):
            hidden = tuple(self._heard_of(path, form, self._since[normal_form(part.steps)]))
        if part.winner.strategy == "Remove":
            said = [each for each in self._defaults if each.at(path, form) is not NOTHING]
            default = said[-1].item if said else None
            return tuple(each for each in hidden if each is not default), default, part.winner
        if value is ABSENT and len(part.steps) < len(path):
            # Something above was replaced, and this is not in it any more.
            return hidden, None, part.winner if hidden else None
        return hidden, part.winner, None

    def _parts_below(self, form: Form) -> tuple[Part, ...]:
        below = sorted(each for each in self._parts if len(each) > len(form) and each[: len(form)] == form)
        found = [self._parts[each] for each in below]
        if not form:
            return tuple(found)
        return tuple(structs.replace(each, steps=each.steps[len(form) :]) for each in found)


def _disagrees(heard: Contribution, item: Item, path: Steps, value: Any) -> bool:
    said = heard.at(path, normal_form(path))
    if isinstance(said, _Nothing):
        return False
    if item.strategy == "Remove" or said is ABSENT:
        return (item.strategy == "Remove") != (said is ABSENT)
    below = heard.inside[len(path) :] if len(heard.inside) > len(path) else ()
    return not same_value(said, get_in(value, below))


def tied_with(winner: Item, hidden: Iterable[Item]) -> Item | None:
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
