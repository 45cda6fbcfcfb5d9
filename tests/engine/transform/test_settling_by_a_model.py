"""Settling, held to a model that compares every operation with every other, on plugins by chance.

The model says the rules over again in the plainest way: no sums of marks, no trees of trails, nothing left out because
it cannot be contested.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest

from fleetform.engine.transform.footprints import ITEMS, Footprint, Trail, footprint
from fleetform.engine.transform.records import Proposal, Response
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import CRANE, END, FailedTestError, Operation, PatchError, apply_patch

TREE: dict[str, Any] = {"m": {"x": 1, "y": {"z": 2}, "0": 3}, "l": [{"a": 1}, {"a": 2}, [1, 2]], "s": 5}
PATHS = (
    *("", "/m", "/m/x", "/m/y", "/m/y/z", "/m/0", "/l", "/l/0", "/l/1", "/l/0/a", "/l/2/0", "/l/2/-", "/l/-"),
    *("/s", "/new", "/new/k", "/new/0"),
)
VALUES: tuple[Any, ...] = (1, 1.0, True, "1", {}, [], {"z": 2}, None)
CHUNKS, EACH = 8, 100


def operation(dice: Random, paths: tuple[str, ...]) -> Operation:
    op = dice.choice(["add", "add", "add", "remove", "replace", "replace", "test", "copy", "move"])
    path = dice.choice(paths)
    if op in ("add", "replace", "test"):
        return Operation(op=op, path=path, value=dice.choice(VALUES))
    if op == "remove":
        return Operation(op=op, path=path)
    return Operation(op=op, path=path, from_=dice.choice(paths))


def plugins(dice: Random) -> list[Proposal]:
    """Few paths and values, so that many meet; every other time without what makes all of it contested."""
    paths = tuple(dice.sample(PATHS, dice.randint(1, 5)))
    plain = dice.random() < 0.5
    found = []
    for number in range(dice.randint(1, 4)):
        answer = [operation(dice, paths) for _ in range(dice.randint(0, 4))]
        if plain:
            answer = [each for each in answer if each.op in ("add", "remove", "replace")]
        response = Response(tuple(answer), whiteout=dice.random() < 0.02, changes_identity=dice.random() < 0.1)
        found.append(Proposal(f"p{number}", response, dice.choice([None, None, 0, 1, 2])))
    return found


@dataclass(eq=False)
class Entry:
    operation: Operation
    owner: int
    reach: Footprint
    before: Counter[int]
    places: dict[int, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.operation.op == "add" and self.operation.value in ({}, [])


def is_above(one: Trail, other: Trail) -> bool:
    return len(one) < len(other) and other[: len(one)] == one


def meet(one: Trail, other: Trail) -> bool:
    return one == other or is_above(one, other) or is_above(other, one)


def pairs(one: Footprint, other: Footprint) -> list[tuple[Trail, Trail]]:
    """Trails of two operations that meet; two that only read do not."""
    crossing = [(a, b) for a in one.writes for b in (*other.writes, *other.reads)]
    crossing += [(a, b) for a in one.reads for b in other.writes]
    return [pair for pair in crossing if meet(*pair)]


def same(one: Operation, other: Operation) -> bool:
    if (one.op, one.path, one.from_) != (other.op, other.path, other.from_):
        return False
    return one.value == other.value and isinstance(one.value, bool) == isinstance(other.value, bool)


class Model:
    """What is kept, by position; and for each operation that is lost, the plugins it may have lost to and why."""

    def __init__(self, tree: Any, proposals: list[Proposal]) -> None:
        self.tree, self.proposals = tree, proposals
        self.entries: list[Entry] = []
        self.equal: list[tuple[str, Counter[int], Entry]] = []
        self.lost: dict[tuple[int, int], set[tuple[str, int]]] = {}
        for plugin in sorted(range(len(proposals)), key=self.rank):
            self.take(plugin)

    def rank(self, plugin: int) -> tuple[bool, int, int]:
        priority = self.proposals[plugin].priority
        return priority is None, priority or 0, plugin

    def take(self, plugin: int) -> None:
        operations = self.proposals[plugin].response.operations
        is_whole = any(each.op == "test" for each in operations)
        if is_whole and self.fails(operations):
            self.lost |= {(plugin, place): {("test", plugin)} for place in range(len(operations))}
            return
        before = list(self.entries)
        gone: list[Footprint] = []
        lost: dict[int, set[tuple[str, int]]] = {}
        for place, each in enumerate(operations):
            reach = footprint(self.tree, each)
            why = self.take_one(plugin, place, each, reach, gone)
            if why is not None:
                # What follows an insertion or a removal that lost loses to whom that lost to.
                lost[place] = why or {("array", winner) for _, winner in list(lost.values())[-1]}
                gone.append(reach)
        if is_whole and lost:
            self.entries = before
            self.equal = [each for each in self.equal if each[2] in before]
            for entry in before:
                entry.places.pop(plugin, None)
            winners = {winner for _, winner in next(iter(lost.values()))}
            lost |= {
                place: {("test", winner) for winner in winners} for place in range(len(operations)) if place not in lost
            }
        self.lost |= {(plugin, place): why for place, why in lost.items()}

    def fails(self, operations: tuple[Operation, ...]) -> bool:
        try:
            apply_patch(self.tree, operations, CRANE)
        except FailedTestError:
            return True
        except PatchError:
            return False
        return False

    def take_one(
        self, plugin: int, place: int, operation: Operation, reach: Footprint, gone: list[Footprint]
    ) -> set[tuple[str, int]] | None:
        """None if it is kept; else why it may have lost, empty where its index would mean another item."""
        asked = Counter(
            {
                id(entry): len(pairs(entry.reach, reach))
                for entry in self.entries
                if plugin in entry.places and pairs(entry.reach, reach)
            }
        )
        others = [
            (entry, one, other)
            for entry in self.entries
            for one, other in pairs(entry.reach, reach)
            if entry.owner != plugin and not (plugin in entry.places and entry.is_empty and is_above(one, other))
        ]
        trails = (*reach.writes, *reach.reads)
        moved = any(
            one[-1] is ITEMS and (one == other or is_above(one, other))
            for each in gone
            for one in (*each.writes, *each.reads)
            if one
            for other in trails
        )
        if not others and not moved:
            entry = Entry(operation, plugin, reach, asked, {plugin: place})
            self.entries.append(entry)
            if not any((path, before) == (operation.path, asked) for path, before, _ in self.equal):
                self.equal.append((operation.path, asked, entry))
            return None
        if not any(meet(one, other) for each in gone for one in (*each.writes, *each.reads) for other in trails):
            alike = [each for path, before, each in self.equal if (path, before) == (operation.path, asked)]
            if alike and plugin not in alike[0].places and same(alike[0].operation, operation):
                alike[0].places[plugin] = place
                return None
        return {(self.reason(entry, one, other, operation), entry.owner) for entry, one, other in others}

    @staticmethod
    def reason(entry: Entry, one: Trail, other: Trail, operation: Operation) -> str:
        """array: they meet in the items of a list, the lower of both there by its index."""
        upper = one if is_above(one, other) else other
        if upper and upper[-1] is ITEMS:
            return "array"
        return "path" if operation.path == entry.operation.path else "overlaps"

    def kept(self) -> list[tuple[str, Operation, tuple[str, ...]]]:
        found = {}
        for entry in self.entries:
            also = tuple(self.proposals[each].plugin for each in sorted(entry.places) if each != entry.owner)
            found[min(entry.places.items())] = (self.proposals[entry.owner].plugin, entry.operation, also)
        return [found[position] for position in sorted(found)]


@pytest.mark.rule("R4-8", "R4-9", "R4-12", "R4-13", "R4-14")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_what_is_kept_and_what_is_lost_to_whom_is_what_the_model_says(chunk: int) -> None:
    for number in range(EACH):
        proposals = plugins(Random(f"{chunk}/{number}"))
        found = settle(TREE, proposals)
        away = tuple(each.plugin for each in proposals if each.response.whiteout)
        assert found.whiteouts == away
        if away:
            assert not found.kept
            assert not found.ignored
            continue
        model = Model(TREE, proposals)
        assert [tuple(each) for each in found.kept] == model.kept(), (chunk, number)
        assert found.changes_identity == tuple(each.plugin for each in proposals if each.response.changes_identity)
        names = {each.plugin: index for index, each in enumerate(proposals)}
        may = [
            (proposals[plugin].plugin, proposals[plugin].response.operations[place], why)
            for (plugin, place), why in model.lost.items()
        ]
        assert sum(1 + len(each.also) for each in found.ignored) == len(may), (chunk, number)
        for each in found.ignored:
            reasons = [why for name, op, why in may if name == each.plugin and same(op, each.operation)]
            assert any((each.reason, names[each.winner]) in why for why in reasons), (chunk, number, each, reasons)


def met_in_turn(proposals: list[Proposal]) -> list[tuple[str, Any]]:
    """What plugins lose as they run: to whom holds the path by then, or to who takes it over."""
    rank = [(each.priority is None, each.priority or 0, number) for number, each in enumerate(proposals)]
    held: dict[str, tuple[int, list[Any]]] = {}
    found = []
    for number, proposal in enumerate(proposals):
        for each in proposal.response.operations:
            holder, values = held.setdefault(each.path, (number, []))
            if rank[holder] < rank[number]:
                found.append((proposal.plugin, each.value))
                continue
            if rank[holder] > rank[number]:
                found += [(proposals[holder].plugin, value) for value in values]
                values = []
            held[each.path] = (number, [*values, each.value])
    return found


@pytest.mark.rule("R4-10")
def test_what_is_ignored_at_its_path_stands_in_the_order_in_which_plugins_met() -> None:
    for seed in range(400):
        dice, values = Random(f"order/{seed}"), count()
        proposals = []
        for number in range(dice.randint(2, 4)):
            paths = [dice.choice(["/s", "/t"]) for _ in range(dice.randint(0, 3))]
            answer = tuple(Operation(op="replace", path=path, value=next(values)) for path in paths)
            proposals.append(Proposal(f"p{number}", Response(answer), dice.choice([None, 0, 1, 2])))
        found = settle({"s": 5, "t": 6}, proposals)
        assert [(each.plugin, each.operation.value) for each in found.ignored] == met_in_turn(proposals), seed


DOTS = [
    ("replace", "/m/x", None, (("m", "x"),), ()),
    ("add", "/m/x", None, (("m", "x"),), ()),
    ("remove", "/m/0", None, (("m", "0"),), ()),
    ("replace", "/l/0", None, (("l", ITEMS, "0"),), ()),
    ("add", "/l/0", None, (("l", ITEMS),), ()),
    ("remove", "/l/0", None, (("l", ITEMS),), ()),
    ("add", "/l/-", None, (("l", ITEMS),), ()),
    ("add", "/l/0/a", None, (("l", ITEMS, "0", "a"),), ()),
    ("add", "/l/2/1", None, (("l", ITEMS, "2", ITEMS),), ()),
    ("replace", "/l/2/1", None, (("l", ITEMS, "2", ITEMS, "1"),), ()),
    ("add", "/l/9/1", None, (("l", ITEMS, "9", ITEMS),), ()),
    ("add", "/l/3/k", None, (("l", ITEMS, "3", "k"),), ()),
    ("add", "/new/0", None, (("new", ITEMS),), ()),
    ("add", "/new/k", None, (("new", "k"),), ()),
    ("add", f"/new/{END}", None, (("new", ITEMS),), ()),
    ("add", "/s/0", None, (("s", ITEMS),), ()),
    ("add", "", None, ((),), ()),
    ("test", "/l/0", None, (), (("l", ITEMS, "0"),)),
    ("move", "/m/x", "/l/0", (("m", "x"), ("l", ITEMS)), ()),
    ("copy", "/l/1", "/l/0", (("l", ITEMS),), (("l", ITEMS, "0"),)),
]


@pytest.mark.rule("R4-13")
@pytest.mark.parametrize(("op", "path", "source", "writes", "reads"), DOTS, ids=lambda each: str(each))
def test_where_an_operation_reaches(
    op: Any, path: str, source: str | None, writes: tuple[Trail, ...], reads: tuple[Trail, ...]
) -> None:
    given = {"from_": source} if source is not None else {}
    assert footprint(TREE, Operation(op=op, path=path, **given)) == Footprint(writes, reads)
