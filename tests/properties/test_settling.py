"""Laws of settling, on random plugins."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetform.engine.transform.footprints import ITEMS, Footprint, footprint
from fleetform.engine.transform.records import Ignored, Kept, Proposal, Response
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import CRANE, Operation, PatchError, apply_patch, parse_pointer

TREE: dict[str, Any] = {"m": {"x": 1, "y": {"z": 2}}, "l": [{"a": 1}, {"a": 2}, {"a": 3}], "s": 5}
PATHS = (
    "/m",
    "/m/x",
    "/m/y",
    "/m/y/z",
    "/m/n",
    "/l",
    "/l/0",
    "/l/1",
    "/l/-",
    "/l/0/a",
    "/l/1/a",
    "/s",
    "/new",
    "/new/k",
)
NO_END = [path for path in PATHS if path != "/l/-"]


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    op = draw(st.sampled_from(["add", "add", "add", "remove", "replace", "replace", "test", "copy", "move"]))
    path = draw(st.sampled_from(PATHS if op == "add" else NO_END))
    if op in ("add", "replace", "test"):
        return Operation(op=op, path=path, value=draw(st.sampled_from([1, 2, {}, {"z": 2}])))
    return (
        Operation(op=op, path=path)
        if op == "remove"
        else Operation(op=op, path=path, from_=draw(st.sampled_from(NO_END)))
    )


@st.composite
def plugins(draw: st.DrawFn) -> list[Proposal]:
    answers = draw(st.lists(st.lists(operations(), max_size=4), min_size=1, max_size=4))
    priorities = draw(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=4, max_size=4))
    return [
        Proposal(f"p{number}", Response(tuple(answer)), priority)
        for number, (answer, priority) in enumerate(zip(answers, priorities, strict=False))
    ]


def overlap(one: Footprint, other: Footprint) -> bool:
    pairs = [
        *((a, b) for a in one.writes for b in other.writes + other.reads),
        *((a, b) for a in one.reads for b in other.writes),
    ]
    return any(all(x == y for x, y in zip(a, b, strict=False)) for a, b in pairs)


def rank(proposals: list[Proposal], name: str) -> tuple[bool, int, str]:
    found = next(each for each in proposals if each.plugin == name)
    return found.priority is None, found.priority or 0, name


@pytest.mark.rule("R4-8", "R4-13", "R4-14")
@settings(max_examples=400)
@given(plugins())
def test_no_two_plugins_keep_what_overlaps(proposals: list[Proposal]) -> None:
    kept = [({each.plugin, *each.also}, footprint(TREE, each.operation)) for each in settle(TREE, proposals).kept]
    for number, (plugins, reach) in enumerate(kept):
        for others, other in kept[:number]:
            assert plugins & others or not overlap(reach, other)


@given(plugins())
def test_every_operation_is_kept_or_ignored(proposals: list[Proposal]) -> None:
    settled = settle(TREE, proposals)
    asked = Counter((each.plugin, repr(op)) for each in proposals for op in each.response.operations)
    found: Counter[tuple[str, str]] = Counter()
    answers: list[Kept | Ignored] = [*settled.kept, *settled.ignored]
    for each in answers:
        found.update((name, repr(each.operation)) for name in (each.plugin, *each.also))
    assert found == asked


@given(plugins())
def test_whoever_loses_to_another_ranks_below_it(proposals: list[Proposal]) -> None:
    for each in settle(TREE, proposals).ignored:
        assert each.winner == each.plugin or rank(proposals, each.winner) < rank(proposals, each.plugin)


@pytest.mark.rule("R4-9")
@given(plugins())
def test_what_is_shared_belongs_to_the_higher_priority(proposals: list[Proposal]) -> None:
    settled = settle(TREE, proposals)
    answers: list[Kept | Ignored] = [*settled.kept, *settled.ignored]
    for each in answers:
        assert all(rank(proposals, each.plugin) < rank(proposals, other) for other in each.also)


@pytest.mark.rule("R4-12")
@given(plugins())
def test_a_plugin_with_a_test_is_all_or_nothing(proposals: list[Proposal]) -> None:
    settled = settle(TREE, proposals)
    lost = {name for each in settled.ignored for name in (each.plugin, *each.also)}
    kept = {name for each in settled.kept for name in (each.plugin, *each.also)}
    with_test = {each.plugin for each in proposals if any(op.op == "test" for op in each.response.operations)}
    assert not with_test & lost & kept


@given(plugins())
def test_a_plugin_below_changes_nothing_for_those_above(proposals: list[Proposal]) -> None:
    lowest = max(proposals, key=lambda each: rank(proposals, each.plugin))
    with_it, without = settle(TREE, proposals), settle(TREE, [each for each in proposals if each is not lowest])
    assert Counter(
        (each.plugin, repr(each.operation)) for each in with_it.kept if each.plugin != lowest.plugin
    ) == Counter((each.plugin, repr(each.operation)) for each in without.kept)


@pytest.mark.rule("R4-11")
@given(plugins())
def test_kept_operations_stand_in_the_order_of_plugins_and_their_own(proposals: list[Proposal]) -> None:
    names = [each.plugin for each in proposals]
    alone = [each for each in settle(TREE, proposals).kept if not each.also]
    assert [names.index(each.plugin) for each in alone] == sorted(names.index(each.plugin) for each in alone)


def value_at(tree: Any, pointer: str) -> Any:
    for step in parse_pointer(pointer):
        tree = tree[int(step) if isinstance(tree, list) else step]
    return tree


@settings(max_examples=600)
@given(plugins())
def test_the_highest_plugin_has_the_effect_that_it_has_alone(proposals: list[Proposal]) -> None:
    settled = settle(TREE, proposals)
    highest = min(proposals, key=lambda each: rank(proposals, each.plugin))
    try:
        alone = apply_patch(TREE, highest.response.operations, CRANE)
        together = apply_patch(TREE, [each.operation for each in settled.kept], CRANE)
    except PatchError:
        return
    for operation in highest.response.operations:
        if operation.op in ("add", "replace") and footprint(TREE, operation).writes[0][-1] is not ITEMS:
            try:
                expected = value_at(alone, operation.path)
            except (KeyError, IndexError, TypeError, ValueError):
                continue
            if not isinstance(expected, (dict, list)):
                assert value_at(together, operation.path) == expected
