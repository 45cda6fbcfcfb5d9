"""Settling, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.engine.transform.records import Ignored, Proposal, Response, Settled
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import CRANE, Operation, apply_patch, parse_patch

TREE: dict[str, Any] = {
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"0": "zero", "1": "one"}},
    "spec": {"replicas": 1, "containers": [{"image": "a"}, {"image": "b"}, {"image": "c"}]},
}


def add(path: str, value: Any = 1) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any = 1) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def require(path: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def plugin(name: str, *operations: dict[str, Any], priority: int | None = None) -> Proposal:
    return Proposal(name, Response(parse_patch(list(operations))), priority)


def settled(*proposals: Proposal, tree: Any = TREE) -> Settled:
    return settle(tree, proposals)


def kept(found: Settled) -> list[tuple[str, str]]:
    return [(each.plugin, each.operation.path) for each in found.kept]


def lost(found: Settled) -> list[tuple[str, str, str, str]]:
    return [(each.plugin, each.operation.path, each.reason, each.winner) for each in found.ignored]


def applied(found: Settled, tree: Any = TREE) -> Any:
    return apply_patch(tree, [each.operation for each in found.kept], CRANE)


@pytest.mark.rule("R4-2")
def test_without_priorities_the_first_wins() -> None:
    found = settled(plugin("a", replace("/spec/replicas", 2)), plugin("b", replace("/spec/replicas", 3)))
    assert kept(found) == [("a", "/spec/replicas")]
    assert lost(found) == [("b", "/spec/replicas", "path", "a")]


@pytest.mark.rule("R4-1", "R4-3", "R4-8")
def test_the_lower_number_wins_and_listed_wins_over_unlisted() -> None:
    operations = [replace("/spec/replicas", number) for number in (2, 3, 4)]
    found = settled(
        plugin("a", operations[0]), plugin("b", operations[1], priority=70), plugin("c", operations[2], priority=-5)
    )
    assert kept(found) == [("c", "/spec/replicas")]
    assert [(each.plugin, each.winner) for each in found.ignored] == [("a", "c"), ("b", "c")]


@pytest.mark.rule("R4-3", "R4-7")
def test_of_equal_priorities_and_of_equal_names_the_earliest_wins() -> None:
    one, other = replace("/spec/replicas", 2), replace("/spec/replicas", 3)
    found = settled(plugin("a", one, priority=1), plugin("b", other, priority=1))
    assert found.kept[0].operation.value == 2
    found = settled(plugin("same", one, priority=1), plugin("same", other, priority=1))
    assert found.kept[0].operation.value == 2
    assert found.ignored[0].plugin == found.ignored[0].winner == "same"


@pytest.mark.rule("R4-5")
def test_a_whiteout_leaves_the_object_out_whatever_the_priority() -> None:
    found = settled(plugin("a", add("/a"), priority=0), Proposal("b", Response(whiteout=True), 9))
    assert found == Settled(whiteouts=("b",))


def test_new_resources_come_also_with_a_whiteout_and_know_their_plugin() -> None:
    new = ({"kind": "Build"},)
    found = settled(Proposal("a", Response(whiteout=True, new_resources=new)), Proposal("b", Response((), False, new)))
    assert [(each.plugin, each.tree) for each in found.new_resources] == [("a", {"kind": "Build"}), ("b", new[0])]


@pytest.mark.rule("R4-9")
def test_equal_operations_are_one_that_belongs_to_the_higher_priority() -> None:
    found = settled(plugin("a", add("/a", {"x": 1})), plugin("b", add("/a", {"x": 1.0}), priority=0))
    assert [(each.plugin, each.also) for each in found.kept] == [("b", ("a",))]
    assert found.ignored == ()


@pytest.mark.rule("R4-9")
def test_true_is_not_one_and_large_numbers_are_compared_exactly() -> None:
    for one, other in ((True, 1), (9007199254740992, 9007199254740993)):
        found = settled(plugin("a", add("/a", one)), plugin("b", add("/a", other)))
        assert len(found.ignored) == 1


@pytest.mark.rule("R4-9")
def test_equal_operations_that_lose_are_one_as_well() -> None:
    found = settled(
        plugin("a", add("/a", 1)), plugin("b", add("/a", 1), priority=1), plugin("c", add("/a", 3), priority=0)
    )
    operation = Operation(op="add", path="/a", value=1)
    assert found.ignored == (Ignored("b", operation, "path", "c", ("a",)),)


@pytest.mark.rule("R4-9", "R4-13")
def test_two_that_create_the_same_empty_map_may_both_fill_it() -> None:
    first, second = add("/metadata/annotations", {}), add("/metadata/annotations/x", "1")
    third = add("/metadata/annotations/y", "2")
    for priorities in ((0, 1), (1, 0)):
        found = settled(
            plugin("a", first, second, priority=priorities[0]), plugin("b", first, third, priority=priorities[1])
        )
        assert found.ignored == ()
        assert applied(found)["metadata"]["annotations"] == {"x": "1", "y": "2"}


@pytest.mark.rule("R4-9")
def test_what_follows_a_shared_operation_may_not_undo_it() -> None:
    found = settled(plugin("a", add("/a", 2), add("/a", 1)), plugin("b", add("/a", 2), priority=0))
    assert applied(found)["a"] == 2
    assert lost(found) == [("a", "/a", "path", "b")]


@pytest.mark.rule("R4-11")
def test_kept_operations_stand_in_run_order_also_with_priorities() -> None:
    found = settled(
        plugin("a", add("/z"), add("/b"), priority=9),
        plugin("b", add("/y"), add("/a"), priority=0),
        plugin("c", add("/x")),
    )
    assert kept(found) == [("a", "/z"), ("a", "/b"), ("b", "/y"), ("b", "/a"), ("c", "/x")]


@pytest.mark.rule("R4-12")
def test_one_plugins_operations_at_one_path_are_a_sequence() -> None:
    found = settled(plugin("a", add("/l", []), add("/l/-", 1), add("/l/-", 1), remove("/l/0"), add("/l/-", 2)))
    assert found.ignored == ()
    assert applied(found)["l"] == [1, 2]


@pytest.mark.rule("R4-12")
def test_a_test_that_fails_drops_the_whole_plugin() -> None:
    found = settled(plugin("a", require("/spec/replicas", 7), add("/a")), plugin("b", add("/b")))
    assert kept(found) == [("b", "/b")]
    assert lost(found) == [("a", "/spec/replicas", "test", "a"), ("a", "/a", "test", "a")]


@pytest.mark.rule("R4-12")
def test_a_plugin_with_a_test_that_loses_one_operation_loses_all() -> None:
    found = settled(
        plugin("a", add("/x", 1), priority=0), plugin("b", add("/y"), require("/spec/replicas", 1), add("/x", 2)),
        plugin("c", add("/y", 5)),
    )  # fmt: skip
    # What it gives up is free for others.
    assert kept(found) == [("a", "/x"), ("c", "/y")]
    assert {(each.plugin, each.reason) for each in found.ignored} == {("b", "path"), ("b", "test")}


@pytest.mark.rule("R4-12")
def test_a_test_sees_what_its_own_plugin_did_before() -> None:
    found = settled(plugin("a", replace("/spec/replicas", 2), require("/spec/replicas", 2), add("/a")))
    assert len(found.kept) == 3


@pytest.mark.rule("R4-12")
def test_what_one_plugin_tests_another_may_test_but_not_change() -> None:
    tested = require("/spec/replicas", 1)
    found = settled(
        plugin("a", tested, add("/a")), plugin("b", tested, add("/b")), plugin("c", replace("/spec/replicas", 5))
    )
    assert {each.plugin for each in found.kept} == {"a", "b"}
    assert lost(found) == [("c", "/spec/replicas", "path", "a")]


@pytest.mark.rule("R4-13")
@pytest.mark.parametrize("priority", [None, 0])
def test_above_and_below_are_a_conflict(priority: int | None) -> None:
    above, below = (
        plugin("a", replace("/metadata/labels", {})),
        plugin("b", add("/metadata/labels/x"), priority=priority),
    )
    found = settled(above, below)
    winner, loser = ("a", "b") if priority is None else ("b", "a")
    assert [each.plugin for each in found.kept] == [winner]
    assert [(each.plugin, each.reason, each.winner) for each in found.ignored] == [(loser, "overlaps", winner)]


@pytest.mark.rule("R4-13")
def test_names_that_begin_alike_are_no_conflict() -> None:
    found = settled(plugin("a", add("/a", {})), plugin("b", add("/ab", 1), add("/a-b", 1)))
    assert found.ignored == ()


@pytest.mark.rule("R4-13")
def test_moving_something_away_is_a_conflict_with_changing_it() -> None:
    moving = {"op": "move", "from": "/spec/replicas", "path": "/spec/count"}
    found = settled(plugin("a", moving), plugin("b", replace("/spec/replicas", 3)), plugin("c", add("/spec/count", 3)))
    assert [(each.plugin, each.reason) for each in found.ignored] == [("b", "overlaps"), ("c", "path")]


@pytest.mark.rule("R4-14", "S42")
@pytest.mark.parametrize(
    "other",
    [remove("/spec/containers/2"), replace("/spec/containers/1/image", "x"), replace("/spec/containers/0", {}),
     add("/spec/containers/-", {}), add("/spec/containers/2/env", [])],
)  # fmt: skip
@pytest.mark.parametrize("shift", [add("/spec/containers/0", {}), remove("/spec/containers/0")])
def test_inserting_or_removing_items_is_a_conflict_with_all_in_that_list(
    shift: dict[str, Any], other: dict[str, Any]
) -> None:
    for one, two in ((shift, other), (other, shift)):
        found = settled(plugin("a", one), plugin("b", two))
        assert [each.plugin for each in found.kept] == ["a"]
        assert [each.reason for each in found.ignored] == ["array"]


@pytest.mark.rule("R4-14", "S42")
def test_changing_different_items_is_none_and_neither_is_a_number_that_is_a_key() -> None:
    images = [replace(f"/spec/containers/{number}/image", "x") for number in (0, 1)]
    assert settled(plugin("a", images[0]), plugin("b", images[1])).ignored == ()
    found = settled(plugin("a", remove("/metadata/labels/0")), plugin("b", replace("/metadata/labels/1", "x")))
    assert found.ignored == ()


@pytest.mark.rule("R4-14", "S42")
def test_what_follows_an_insertion_that_lost_is_lost_with_it_and_what_came_before_is_not() -> None:
    found = settled(
        plugin("a", replace("/spec/containers/2/image", "x")),
        plugin("b", replace("/spec/containers/0/image", "y"), remove("/spec/containers/0"),
               replace("/spec/containers/0/image", "z"), add("/b")),
    )  # fmt: skip
    assert kept(found) == [("a", "/spec/containers/2/image"), ("b", "/spec/containers/0/image"), ("b", "/b")]
    assert [each.reason for each in found.ignored] == ["array", "array"]
    assert [each["image"] for each in applied(found)["spec"]["containers"]] == ["y", "b", "x"]


@pytest.mark.rule("R4-14", "S42")
def test_a_removal_that_lost_takes_nothing_with_it_from_another_list_of_that_name() -> None:
    canary = {"containers": [{"image": "c"}]}
    tree = {"kind": "Deployment", "spec": {"containers": [{"image": "a"}, {"image": "b"}], "canary": canary}}
    found = settled(
        plugin("a", require("/kind", "Deployment"), replace("/spec/containers/1/image", "x")),
        plugin("b", remove("/spec/containers/0"), replace("/spec/canary/containers/0/image", "y")),
        tree=tree,
    )
    assert lost(found) == [("b", "/spec/containers/0", "array", "a")]
    assert applied(found, tree)["spec"]["canary"]["containers"] == [{"image": "y"}]


@pytest.mark.rule("R4-9", "R4-14")
def test_two_that_append_the_same_append_it_once() -> None:
    both = [add("/spec/tolerations/-", {"key": "a"}), add("/spec/tolerations/-", {"key": "b"})]
    found = settled(plugin("a", *both), plugin("b", *both))
    assert [each.also for each in found.kept] == [("b",), ("b",)]
    assert applied(found)["spec"]["tolerations"] == [{"key": "a"}, {"key": "b"}]


@pytest.mark.rule("R4-10")
def test_what_is_ignored_stands_in_the_order_in_which_it_was_met() -> None:
    found = settled(
        plugin("a", add("/a", 1), add("/b", 1), priority=2), plugin("b", add("/b", 2), add("/c", 2), priority=1),
        plugin("c", add("/c", 3), add("/a", 3), priority=0),
    )  # fmt: skip
    assert [(each.plugin, each.operation.path) for each in found.ignored] == [("a", "/b"), ("b", "/c"), ("a", "/a")]
