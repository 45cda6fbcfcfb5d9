"""The public library: plugins, a runner, and what a run gives."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from data.oracles.tables import Row, rows_named
from fleetform.transform import (
    Answer,
    Operation,
    PatchError,
    PluginError,
    Response,
    Runner,
    TransformError,
    add,
    operations_between,
    plain,
    pointer_to,
    read_only,
    remove,
    replace,
    require,
    thaw,
)

TREE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "a", "image": "x"}], "nodeName": "n1"},
}


class Says:
    """A plugin that always answers the same, or fails."""

    def __init__(self, name: str, answer: Answer | BaseException = None) -> None:
        self.name, self._answer = name, answer

    def run(self, resource: Mapping[str, Any]) -> Answer:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


def test_plugins_are_asked_and_their_operations_settled() -> None:
    one = Says("one", [remove("/spec/nodeName"), add("/metadata/labels/team", "a")])
    two = Says("two", Response((add("/metadata/labels/team", "b"),)))
    outcome = Runner([one, two], ["two"]).run(TREE)
    assert [(each.plugin, each.operation.path) for each in outcome.kept] == [
        ("one", "/spec/nodeName"), ("two", "/metadata/labels/team"),
    ]  # fmt: skip
    assert [(each.plugin, each.reason, each.winner) for each in outcome.ignored] == [("one", "path", "two")]
    found = outcome.transformed()
    assert found is not None
    assert found["metadata"]["labels"] == {"team": "b"}
    assert "nodeName" in TREE["spec"]


@pytest.mark.rule("R4-3", "R4-17")
def test_priorities_are_a_map_or_a_list_and_belong_to_the_run() -> None:
    plugins = [Says("a", [add("/x", 1)]), Says("b", [add("/x", 2)])]
    for priorities, winner in (({}, "a"), ({"b": 10}, "b"), ({"a": -1, "b": -2}, "b"), (["a", "b"], "a"), (["b"], "b")):
        assert Runner(plugins, priorities).run(TREE).kept[0].plugin == winner
    assert Runner(plugins, ["c"]).unknown == ("c",)


@pytest.mark.parametrize(
    "answer",
    [
        [{"op": "add", "path": "/x", "value": 1}],
        {"version": "v1", "patches": [{"op": "add", "path": "/x", "value": 1}]},
        Response((add("/x", 1),)),
        Response(({"op": "add", "path": "/x", "value": 1},)),  # type: ignore[arg-type]
        (add("/x", 1),),
    ],
)
def test_an_answer_may_have_any_of_its_forms(answer: Answer) -> None:
    assert [each.operation for each in Runner([Says("a", answer)]).run(TREE).kept] == [add("/x", 1)]


@pytest.mark.rule("R4-5")
def test_a_failure_beats_a_whiteout_and_names_its_plugin() -> None:
    plugins = [Says("a", [add("/x", 1)]), Says("b", Response(whiteout=True)), Says("c", PluginError("no such thing"))]
    outcome = Runner(plugins).run(TREE)
    assert [tuple(each) for each in outcome.failures] == [("c", "no such thing")]
    assert (outcome.kept, outcome.ignored, outcome.whiteouts) == ((), (), ("b",))
    with pytest.raises(TransformError, match=r"^c failed: no such thing$"):
        outcome.transformed()


@pytest.mark.rule("R4-5")
@pytest.mark.parametrize("row", rows_named("crane", ["crane-142", "crane-143", "crane-145"]))
def test_failures_are_as_in_crane(row: Row) -> None:
    plugins = [
        Says(
            each["name"],
            PluginError(each["error"])
            if "error" in each
            else {"patches": json.loads(each["patches"] or "[]"), "isWhiteOut": each.get("whiteout", False)},
        )
        for each in row.given["plugins"]
    ]
    outcome = Runner(plugins, row.given["priorities"]).run(TREE)
    assert [each.message for each in outcome.failures] == [row.answer["error"]]
    assert bool(outcome.whiteouts) == row.answer["haveWhiteOut"]
    assert list(outcome.kept) == row.answer["kept"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ValueError("bad \x1b[31mthing"), r"ValueError: bad \x1b[31mthing"),
        (SystemExit(1), "SystemExit: 1"),
        ([{"op": "put", "path": "/x"}], "op is 'put'; there are add, remove, replace, move, copy, test"),
        ({"patches": [{"op": "remove", "path": "x"}]}, "patches[0] in its reply: 'x' is not a JSON pointer: it begins"),
        ({"isWhiteOut": "yes"}, "its reply cannot be read: Expected `bool | null`, got `str` - at `$.isWhiteOut`"),
        (Response(({"op": "put"},)), "op is 'put'"),  # type: ignore[arg-type]
        (Response((Operation(op="add", path="/x"),)), "add /x has no value"),
        (Response((Operation(op="move", path="/x"),)), "move /x has no from"),
        ([add("/x", {1})], "it answers with a value that JSON does not have: {1}"),
        (Response((Operation(op="add", path="/x", value={1: 2}),)), "it answers with a value that JSON does not have"),
        (Response(new_resources=({"kind": object},)), "it answers with a value that JSON does not have"),
        (7, "TypeError: 'int' object is not iterable"),
    ],
)
def test_whatever_a_plugin_does_wrong_is_its_failure_alone(answer: Any, message: str) -> None:
    outcome = Runner([Says("bad", answer), Says("good", [add("/x", 1)])]).run(TREE)
    (failure,) = outcome.failures
    assert failure.plugin == "bad"
    assert failure.message.startswith(message)


def test_operations_are_checked_when_they_are_written() -> None:
    mistakes: list[Callable[[], object]] = [
        lambda: add("x", 1),
        lambda: remove("/~2"),
        lambda: replace("a/b", 1),
        lambda: require("x", 1),
    ]
    for wrong in mistakes:
        with pytest.raises(PatchError):
            wrong()
    assert add(pointer_to("metadata", "annotations", "a/b"), 1).path == "/metadata/annotations/a~1b"


def test_a_plugin_sees_the_object_and_cannot_change_it() -> None:
    before = copy.deepcopy(TREE)
    view = read_only(TREE)
    assert view == TREE
    assert view["spec"]["containers"][0]["image"] == "x"
    assert view.get("status", {}) == {}
    assert [each["name"] for each in view["spec"]["containers"]] == ["a"]
    assert list(view) == list(TREE)
    assert "kind" in view
    assert {"name": "a", "image": "x"} in view["spec"]["containers"]
    changes: list[Callable[[], object]] = [
        lambda: view.__setitem__("kind", "x"),
        lambda: view["spec"].pop("nodeName"),
        lambda: view["spec"]["containers"].append(1),
        lambda: view["spec"]["containers"][0].update(image="y"),
        lambda: next(iter(view["spec"]["containers"])).clear(),
        lambda: view["spec"]["containers"][:][0].update(image="y"),
    ]
    for change in changes:
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert before == TREE
    assert plain(view) is TREE


def test_a_changed_copy_becomes_operations() -> None:
    changed = thaw(read_only(TREE))
    changed["spec"]["nodeName"] = "n2"
    del changed["spec"]["containers"][0]["image"]
    operations = operations_between(read_only(TREE), changed)
    assert {(each.op, each.path) for each in operations} == {
        ("replace", "/spec/nodeName"), ("remove", "/spec/containers/0/image"),
    }  # fmt: skip


def test_a_part_of_the_object_may_be_a_value() -> None:
    class Copies:
        name = "copies"

        def run(self, resource: Mapping[str, Any]) -> Answer:
            containers = resource["spec"]["containers"]
            return [add("/spec/copy", containers), {"op": "add", "path": "/spec/first", "value": [containers[0]]}]

    found = Runner([Copies()]).run(TREE).transformed()
    assert found is not None
    assert found["spec"]["copy"] == found["spec"]["first"] == TREE["spec"]["containers"]
    assert type(found["spec"]["first"][0]) is dict
