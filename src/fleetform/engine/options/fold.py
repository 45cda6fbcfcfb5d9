"""Fold: the items that concern one value, applied one after the other.

One algorithm serves an option, options of which one lies inside another, and paths that nobody declares. It knows for
each path who decided it last, so that a decision can be read off for every option that has a part in the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from fleetform.engine.options.conclusion import concluded
from fleetform.engine.options.holes import (
    Covered,
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
from fleetform.model.results.bindings import Misfit
from fleetform.model.results.decisions import (
    ABSENT,
    Entry,
    Family,
    Item,
    OptionDecision,
    Part,
    Secret,
    Sides,
    Slot,
    Steps,
)
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

    def meets(self, form: Form) -> bool:
        """Whether it speaks of a path, of what lies inside it, or of what it lies in."""
        own = normal_form(self.inside)
        return own[: len(form)] == form[: len(own)]

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
        # What of each that was heard nothing heard since replaces or removes; kept where somebody asks: of overrides,
        # and of those whose path does not fit, which are there with the reason.
        self._uncovered: dict[int, list[Form]] = {}
        self._misfits: dict[int, Misfit] = {}

    def fold(self, entries: Sequence[Entry]) -> Folding:
        for item, inside in entries:
            self._apply(item, inside)
        for number, mark in self._misfits.items():
            if self._uncovered[number]:
                inside = self._heard[number].inside
                tree = self._with_containers(inside)
                place = inside[: depth_of_misfit(tree, inside)]
                self._tree = with_value(tree, place, Covered(mark, under=get_in(tree, place)))
        return self

    # ---- Applying

    def _apply(self, item: Item, inside: Steps) -> None:
        """Apply one item. One whose path does not fit changes nothing, and is in the way until it is hidden (S59)."""
        if item.strategy == "Remove":
            self._remove(item, inside)
            return
        item, value = self._said(item, inside)
        try:
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
            do = "fix the value where it is set"
            mark = Misfit("value-type", error.message, do, item.at, ref=item.layer.object.ref)
            self._misfits[len(self._heard)] = mark
            self._claim(item, inside, value)
            self._hear(item, inside, value)

    def _said(self, item: Item, inside: Steps) -> tuple[Item, Any]:
        """An item and its value as this version takes it."""
        value = self._value_of(item)
        member = self._members.get(normal_form(inside))
        if member is None or not member.retypes or member.option is None or is_hole(value):
            return item, value
        mark = next(marks_in(value), None)
        if mark is not None:
            # What must be converted as a whole is not known where a part of it is not.
            return item, value if has_type(member.option, value) else Covered(mark, under=value)
        converted = retyped(member.option, member.retypes, value)
        return (
            (item, value)
            if converted is value
            else (structs.replace(item, migrated_from=item.migrated_from or member.name), converted)
        )

    def _set(self, item: Item, inside: Steps, value: Any) -> None:
        self._tree = placed(self._with_containers(inside), inside, value) if inside else value
        self._claim(item, inside, value)
        self._hear(item, inside, value)

    def _merge(self, item: Item, inside: Steps, value: Any) -> None:
        target = get_in(self._tree, inside)
        if isinstance(value, dict) and isinstance(target, dict):
            for path, then, said in list(merge_leaves(value, target, inside)):
                self._tree = with_value(self._tree, path, then)
                self._claim(item, path, said)
        elif hole_above(self._tree, inside) is not ABSENT or is_hole(target):
            then = merged_into(value, target) if is_hole(target) else value
            self._tree = placed(self._tree, inside, then, merges=not is_hole(target)) if inside else then
            # It decides what it says, and not the rest of what is not known.
            for path, said in deep_leaves(value, inside):
                self._claim(item, path, said)
        elif is_hole(value) and isinstance(target, dict):
            then = merged_into(value, target)
            self._tree = with_value(self._tree, inside, then) if inside else then
            self._claim(item, inside, value)
        else:
            self._tree = placed(self._with_containers(inside), inside, value) if inside else value
            self._claim(item, inside, value)
        self._hear(item, inside, value)

    def _remove(self, item: Item, inside: Steps) -> None:
        """As if no layer but the default had set it (S18)."""
        remaining = get_in(self._default_tree, inside)
        if not inside:
            self._tree = remaining
        elif remaining is ABSENT:
            self._tree = cleared(self._tree, inside)
        elif depth_of_misfit(self._tree, inside) == len(inside):
            self._tree = placed(self._tree, inside, remaining)
        self._claim(item, inside, remaining)
        self._hear(item, inside, ABSENT)

    def _with_containers(self, inside: Steps) -> Any:
        """The tree to put a path into: an option on the way that is a map or a list is one before it has a value."""
        tree = self._tree
        form = normal_form(inside)
        for length in range(len(form)):
            member = self._members.get(form[:length])
            kind = member.option.type if member is not None and member.option is not None else ""
            if kind in ("map", "list") and get_in(tree, inside[:length]) is ABSENT:
                tree = placed(tree, inside[:length], {} if kind == "map" else [])
        return tree

    def _hear(self, item: Item, inside: Steps, value: Any) -> None:
        """Note what an item said: a Merge speaks of the leaves of its map, and an empty one hides nothing (R0-18)."""
        said = [(inside, value)]
        if item.strategy == "Merge" and value.__class__ is dict:
            said = list(deep_leaves(value, inside))
        if self._uncovered:
            hides = [normal_form(path) for path, each in said if item.strategy != "Merge" or each != {}]
            for number, forms in self._uncovered.items():
                if number != len(self._heard):
                    left = [each for each in forms if not any(each[: len(one)] == one for one in hides)]
                    self._uncovered[number] = left
        if item.layer.rank or len(self._heard) in self._misfits:
            self._uncovered[len(self._heard)] = [normal_form(path) for path, _ in said]
        self._heard.append(Contribution(item, inside, value))

    def _claim(self, item: Item, path: Steps, value: Any) -> None:
        """The item decides the path from here on; what was said about it before is hidden."""
        form = normal_form(path)
        for below in [each for each in self._parts if each[: len(form)] == form]:
            del self._parts[below]
        hidden = tuple(self._heard_of(path, form, len(self._heard)))
        self._parts[form] = Part(path, value, item, hidden, self._find_tie(item, path, value))
        self._since[form] = len(self._heard)

    def _heard_of(self, path: Steps, form: Form, first: int) -> Iterator[Item]:
        """Who spoke of a path among the first of those heard, the last one first."""
        return (each.item for each in reversed(self._heard[:first]) if each.at(path, form) is not NOTHING)

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
        known = concluded(slot, value)
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
            tuple([each.item for number in self._misfits if (each := self._heard[number]).meets(form)]),
            known.unresolved,
            known.partial,
            self._sides(form),
        )

    def _sides(self, form: Form) -> Sides | None:
        """The overrides' items that concern a path: those of which something is left, and those that others hide."""
        concerned = [
            (self._heard[number].item, bool(left))
            for number, left in self._uncovered.items()
            if self._heard[number].item.layer.rank and self._heard[number].meets(form)
        ]
        if not concerned:
            return None
        won, lost = (tuple([item for item, stands in concerned if stands is which]) for which in (True, False))
        return Sides(won, lost)

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
    return not same_value(said, get_in(value, heard.inside[len(path) :]))


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
