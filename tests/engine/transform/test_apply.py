"""What becomes of an object, and that it stays the object it is."""

from __future__ import annotations

from typing import Any

import pytest

from data.oracles.tables import Row, rows_named
from fleetform.engine.transform.apply import apply_settled, as_object, set_by
from fleetform.engine.transform.records import Kept, Proposal, Response, Settled, TransformError
from fleetform.engine.transform.report import group_conflicts
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import CRANE, apply_patch, parse_patch, read_patch
from fleetform.syntax.yaml_in import read_one

TREE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "a"},
    "spec": {"type": "ClusterIP"},
}


def settled(*operations: dict[str, Any], changes_identity: bool = False) -> Settled:
    response = Response(parse_patch(list(operations)), changes_identity=changes_identity)
    return settle(TREE, [Proposal("mover", response), Proposal("other", Response(parse_patch([])))])


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def test_an_object_is_transformed_and_the_one_before_stays() -> None:
    found = apply_settled(TREE, settled(replace("/spec/type", "NodePort"), {"op": "remove", "path": "/status"}))
    assert found is not None
    assert found["spec"] == {"type": "NodePort"}
    assert TREE["spec"] == {"type": "ClusterIP"}


@pytest.mark.rule("R4-5")
def test_an_object_that_is_left_out_is_none() -> None:
    assert apply_settled(TREE, settle(TREE, [Proposal("a", Response(whiteout=True))])) is None


@pytest.mark.parametrize(
    "operation",
    [
        replace("/metadata/name", "db"),
        replace("/metadata/namespace", "b"),
        replace("/kind", "Route"),
        replace("/apiVersion", "v2"),
        replace("/metadata", {"name": "web"}),
        {"op": "remove", "path": "/metadata/namespace"},
        {"op": "move", "from": "/metadata/namespace", "path": "/spec/from"},
    ],
)
def test_a_transform_must_not_change_what_an_object_is_unless_it_says_so(operation: dict[str, Any]) -> None:
    with pytest.raises(TransformError, match=r"^mover changes /.* of Service/a/web"):
        apply_settled(TREE, settled(operation))
    assert apply_settled(TREE, settled(operation, changes_identity=True)) is not None


def test_writing_the_same_name_again_is_no_change() -> None:
    assert apply_settled(TREE, settled(replace("/metadata/name", "web"))) == TREE


def test_an_operation_that_cannot_be_applied_names_its_plugin() -> None:
    with pytest.raises(TransformError, match=r"^mover cannot replace /spec/no/such of Service/a/web: nothing is at"):
        apply_settled(TREE, settled(replace("/spec/no/such", 1)))


@pytest.mark.parametrize("row", rows_named("crane_apply", ["crane_apply-027", "crane_apply-028", "crane_apply-029"]))
def test_what_has_no_kind_no_api_version_or_no_name_is_no_object(row: Row) -> None:
    """Crane refuses the first; the others it writes, and no cluster would take them."""
    tree = apply_patch(read_one(row.given["doc"]), read_patch(row.given["patch"]), CRANE)
    with pytest.raises(TransformError, match=r"^Pod/x has no (kind|apiVersion|metadata\.name)$"):
        as_object(tree, "Pod/x")


def test_a_field_is_traced_to_the_last_operation_that_reached_it() -> None:
    kept = settled(replace("/spec", {"type": "x"}), replace("/spec/type", "y"), replace("/specials", 1)).kept
    assert set_by(kept, "/spec/type") == kept[1]
    assert set_by(kept, "/spec/ports") == kept[0]
    assert set_by(kept, "/spec") == kept[1]
    assert set_by(kept, "/status") is None


def test_the_same_conflict_of_many_objects_is_one() -> None:
    def conflict(number: int) -> Settled:
        answers = [Response(parse_patch([replace("/a", value)])) for value in (number, number + 1)]
        return settle(TREE, [Proposal("x", answers[0]), Proposal("y", answers[1])])

    groups = group_conflicts([(f"r{number}", conflict(number).ignored) for number in range(3)])
    assert [tuple(group) for group in groups] == [("y", "x", "path", "replace", "/a", ("r0", "r1", "r2"))]


def test_kept_operations_name_their_plugin() -> None:
    assert settled(replace("/spec/type", "x")).kept == (Kept("mover", parse_patch([replace("/spec/type", "x")])[0]),)
