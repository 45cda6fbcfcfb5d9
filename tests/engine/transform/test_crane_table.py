"""Settling, held to what Crane's own runner answers where it is sound; where it is not, our answer and the rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.engine.transform.records import Proposal, Response, Settled
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import PatchError, parse_patch

# Rows in which Crane's order is random, and everything else as here: the order is that of the plugins (R4-11).
ORDERED = (
    "crane-099", "crane-100", "crane-101", "crane-104", "crane-107", "crane-114", "crane-123", "crane-124",
    "crane-125", "crane-129",
)  # fmt: skip
# Operations that are no RFC 6902: the plugin's reply is refused, and the plugin named.
REFUSED = {
    "crane-076": "add without a value",
    "crane-077": "add without a value",
    "crane-079": "no op",
    "crane-093": "move without from",
    "crane-097": "a path without /",
}
OVERLAPS, ARRAY = "overlaps (R4-13)", "array (R4-14, S42)"
PARENT, CHILD = ("p1", ["p2"]), ("p2", ["p1"])
# Rows that we settle otherwise: the plugin whose operations are kept, those that lose, and the rule.
SETTLED: dict[str, tuple[str, list[str], str]] = {
    "crane-043": (*PARENT, OVERLAPS),
    "crane-044": (*PARENT, OVERLAPS),
    "crane-045": (*CHILD, OVERLAPS),
    "crane-046": (*CHILD, OVERLAPS),
    "crane-047": (*PARENT, OVERLAPS),
    "crane-049": (*CHILD, OVERLAPS),
    "crane-050": (*PARENT, OVERLAPS),
    "crane-052": (*CHILD, OVERLAPS),
    "crane-053": (*CHILD, OVERLAPS),
    "crane-056": (*CHILD, OVERLAPS),
    "crane-098": (*PARENT, OVERLAPS),
    "crane-106": (*PARENT, OVERLAPS),
    "crane-103": (*PARENT, ARRAY),
    "crane-065": (*PARENT, "numbers are compared exactly, not as floats"),
    "crane-095": ("p1", [], "a sequence within a plugin (R4-12)"),
    "crane-111": ("p1", [], "a sequence within a plugin (R4-12)"),
    "crane-115": ("p1", [], "a sequence within a plugin (R4-12)"),
}
# Members that RFC 6902 does not have are read over, and not written.
NOTED = "crane-084"
# Nothing to settle: the runner meets an error before.
FAILED = ("crane-142", "crane-143", "crane-145")


def proposals(row: Row) -> list[Proposal]:
    priorities = row.given["priorities"] or {}
    return [
        Proposal(
            each["name"],
            Response(parse_patch(json.loads(each["patches"] or "[]")), each.get("whiteout", False)),
            priorities.get(each["name"]),
        )
        for each in row.given["plugins"]
    ]


def kept(settled: Settled) -> list[Any]:
    return [plain(each.operation) for each in settled.kept]


def ignored(settled: Settled) -> list[Any]:
    return [{"PluginName": each.plugin, "Operation": plain(each.operation)} for each in settled.ignored]


def plain(operation: Any) -> Any:
    found = {"op": operation.op, "path": operation.path, "value": operation.value, "from": operation.from_}
    return {key: value for key, value in found.items() if type(value).__name__ != "UnsetType"}


@pytest.mark.rule("R4-3", "R4-5", "R4-7", "R4-8", "R4-9", "R4-10")
@pytest.mark.parametrize("row", rows_of("crane", without={*ORDERED, *REFUSED, *SETTLED, NOTED, *FAILED}))
def test_operations_are_settled_as_crane_settles_them(row: Row) -> None:
    if "error" in row.answer or "patchDecodeError" in row.answer:
        with pytest.raises(PatchError):
            proposals(row)
        return
    settled = settle(None, proposals(row))
    assert kept(settled) == row.answer["kept"]
    assert ignored(settled) == row.answer["ignored"]
    assert bool(settled.whiteouts) == row.answer["haveWhiteOut"]


@pytest.mark.rule("R4-11")
@pytest.mark.parametrize("row", rows_named("crane", ORDERED))
def test_where_cranes_order_is_random_ours_is_that_of_the_plugins(row: Row) -> None:
    settled = settle(None, proposals(row))
    assert sorted(kept(settled), key=json.dumps) == sorted(row.answer["keptSet"], key=json.dumps)
    assert ignored(settled) == row.answer["ignored"]
    written = [(each.plugin, plain(op)) for each in proposals(row) for op in each.response.operations]
    assert [written.index((each.plugin, plain(each.operation))) for each in settled.kept] == sorted(
        written.index((each.plugin, plain(each.operation))) for each in settled.kept
    )


@pytest.mark.rule("R4-10")
@pytest.mark.parametrize("row", rows_named("crane", REFUSED))
def test_operations_that_are_none_are_refused(row: Row) -> None:
    with pytest.raises(PatchError):
        proposals(row)


@pytest.mark.rule("R4-12", "R4-13", "R4-14", "S42")
@pytest.mark.parametrize("row", rows_named("crane", SETTLED))
def test_conflicts_that_crane_does_not_see_are_settled(row: Row) -> None:
    winner, losers, why = SETTLED[row.id]
    settled = settle(None, proposals(row))
    assert {each.plugin for each in settled.kept} == {winner}
    assert [each.plugin for each in settled.ignored] == losers
    assert all(each.reason in ("path", why.split()[0]) for each in settled.ignored)
    assert len(settled.kept) == len(next(each for each in proposals(row) if each.plugin == winner).response.operations)


@pytest.mark.parametrize("row", rows_named("crane", [NOTED]))
def test_unknown_members_are_read_over(row: Row) -> None:
    assert kept(settle(None, proposals(row))) == [{"op": "add", "path": "/a", "value": 1}]
