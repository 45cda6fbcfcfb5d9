"""JSON patch: the tables of what Go's json-patch and Crane's applier answer, and RFC 6902 where they depart from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.syntax.json_patch import (
    CRANE,
    STRICT,
    FailedTestError,
    Operation,
    PatchError,
    Relaxations,
    apply_patch,
    apply_text,
    parse_patch,
    parse_pointer,
    pointer_to,
    read_patch,
    write_patch,
)

# Rows that we answer otherwise on purpose: the answer, or None for an error, and the reason.
NEGATIVE = "RFC 6901 has no negative indices"
ZERO = "RFC 6901 has no leading zeros and no signs"
POINTER = "a pointer begins with /, and ~ is followed by 0 or 1"
WHOLE = "the whole document may become any value, and cannot be removed"
NO_VALUE = "a test without a value is refused"
NO_DOCUMENT = "no text is no document"
NOTHING = "the parent is no map and no list"
DIFFERENT: dict[str, str] = {
    **dict.fromkeys(
        ("jsonpatch-011", "jsonpatch-013", "jsonpatch-015", "jsonpatch-030", "jsonpatch-147", "jsonpatch-150",
         "jsonpatch-151", "jsonpatch-189", "jsonpatch-270"), NEGATIVE),
    **dict.fromkeys(("jsonpatch-018", "jsonpatch-019", "jsonpatch-021", "jsonpatch-203"), ZERO),
    **dict.fromkeys(("jsonpatch-090", "jsonpatch-196", "jsonpatch-197"), POINTER),
    **dict.fromkeys(("jsonpatch-191", "jsonpatch-192"), WHOLE),
    **dict.fromkeys(("jsonpatch-319", "jsonpatch-320", "jsonpatch-321"), NO_VALUE),
    **dict.fromkeys(
        ("jsonpatch-418", "jsonpatch-419", "jsonpatch-422", "jsonpatch-423", "jsonpatch-424", "jsonpatch-425"),
        NO_DOCUMENT),
    "jsonpatch-102": NOTHING,
}  # fmt: skip
# Rows with an answer of our own: the document, and why.
ANSWERED: dict[str, tuple[Any, str]] = {
    "jsonpatch-099": (1, WHOLE),
    "jsonpatch-273": (1, WHOLE),
    "jsonpatch-286": (1, WHOLE),
    "jsonpatch-104": ("created", "an empty key is a key: its parent is created as any other"),
    "jsonpatch-231": ("unchanged", "RFC 6902 compares numbers as numbers: 1.0 is 1"),
}


def relaxed_as_in(row: Row) -> Relaxations:
    return Relaxations(row.given["ensurePathExistsOnAdd"], row.given["allowMissingPathOnRemove"])


@pytest.mark.parametrize("row", rows_of("jsonpatch", without={*DIFFERENT, *ANSWERED}))
def test_a_patch_gives_what_it_gives_there(row: Row) -> None:
    if "result" in row.answer:
        applied = apply_text(row.given["doc"], row.given["patch"], relaxed_as_in(row))
        assert json.loads(applied) == json.loads(row.answer["result"])
        return
    with pytest.raises(PatchError):
        apply_text(row.given["doc"], row.given["patch"], relaxed_as_in(row))


@pytest.mark.parametrize("row", rows_named("jsonpatch", DIFFERENT))
def test_what_is_no_rfc_6902_is_refused(row: Row) -> None:
    assert "result" in row.answer, DIFFERENT[row.id]
    with pytest.raises(PatchError):
        apply_text(row.given["doc"], row.given["patch"], relaxed_as_in(row))


@pytest.mark.parametrize("row", rows_named("jsonpatch", ANSWERED))
def test_what_rfc_6902_allows_is_done(row: Row) -> None:
    answer = ANSWERED[row.id][0]
    expected = json.loads(row.given["doc"]) if answer in ("unchanged", "created") else answer
    if answer == "created":
        expected["b"][""] = {"": 1}
    assert json.loads(apply_text(row.given["doc"], row.given["patch"], relaxed_as_in(row))) == expected
    assert row.answer.get("result") is None or json.loads(row.answer["result"]) != expected


# Crane answers with an object or an error; these we answer otherwise.
EXACT = "crane_apply-038"
# Checked where objects are read and written: what has no kind, no name or no apiVersion is no object.
NO_OBJECT = ("crane_apply-027", "crane_apply-028", "crane_apply-029")


@pytest.mark.parametrize("row", rows_of("crane_apply", without={EXACT, *NO_OBJECT}))
def test_a_transform_file_is_applied_as_crane_applies_it(row: Row) -> None:
    if "result" in row.answer:
        applied = apply_text(row.given["doc"], row.given["patch"], CRANE)
        assert json.loads(applied) == json.loads(row.answer["result"])
        return
    with pytest.raises(PatchError):
        apply_text(row.given["doc"], row.given["patch"], CRANE)


@pytest.mark.parametrize("row", rows_named("crane_apply", [EXACT]))
def test_large_numbers_stay_exact(row: Row) -> None:
    assert json.loads(apply_text(row.given["doc"], row.given["patch"], CRANE))["spec"]["big"] == 12345678901234567890


def test_the_tree_before_is_as_it_was_and_shares_what_did_not_change() -> None:
    tree = {"a": {"b": [1, {"c": 2}]}, "z": {"y": 1}}
    before = json.dumps(tree)
    patched = apply_patch(tree, parse_patch([{"op": "add", "path": "/a/b/1/d", "value": 3}]))
    assert patched == {"a": {"b": [1, {"c": 2, "d": 3}]}, "z": {"y": 1}}
    assert json.dumps(tree) == before
    assert patched["z"] is tree["z"]


def test_a_value_of_the_patch_is_not_changed_by_later_operations() -> None:
    patch = parse_patch(
        [{"op": "add", "path": "/a", "value": {}}, {"op": "add", "path": "/a/b", "value": 1},
         {"op": "copy", "from": "/a", "path": "/c"}, {"op": "replace", "path": "/c/b", "value": 2}]
    )  # fmt: skip
    assert apply_patch({}, patch) == apply_patch({}, patch) == {"a": {"b": 1}, "c": {"b": 2}}
    assert patch[0].value == {}


def test_an_error_says_which_operation_it_was() -> None:
    with pytest.raises(PatchError, match=r"nothing is at /b/c: there is no 'b'") as met:
        apply_patch({"a": 1}, read_patch('[{"op":"remove","path":"/a"},{"op":"remove","path":"/b/c"}]'))
    assert met.value.number == 1


def test_a_failed_test_is_an_error_of_its_own() -> None:
    with pytest.raises(FailedTestError):
        apply_patch({"a": True}, parse_patch([{"op": "test", "path": "/a", "value": 1}]))


def test_each_relaxation_is_switched_on_by_itself() -> None:
    add = parse_patch([{"op": "add", "path": "/a/b", "value": 1}])
    remove = parse_patch([{"op": "remove", "path": "/a/b"}])
    assert apply_patch({}, add, Relaxations(create_missing_parents=True)) == {"a": {"b": 1}}
    assert apply_patch({}, remove, Relaxations(ignore_missing_on_remove=True)) == {}
    for patch, relaxed in (
        (add, STRICT),
        (remove, STRICT),
        (add, Relaxations(ignore_missing_on_remove=True)),
        (remove, Relaxations(create_missing_parents=True)),
    ):
        with pytest.raises(PatchError):
            apply_patch({}, patch, relaxed)


@pytest.mark.parametrize("path", ["/a/-/b", "/l/-/b"])
def test_no_parent_is_created_behind_the_end_of_a_list(path: str) -> None:
    with pytest.raises(PatchError):
        apply_patch({"l": [1]}, parse_patch([{"op": "add", "path": path, "value": 1}]), CRANE)


def test_a_small_patch_cannot_fill_the_memory() -> None:
    for path in ("/a/999999999", "/l/999999999/x"):
        with pytest.raises(PatchError, match="too far past the end"):
            apply_patch({"l": []}, parse_patch([{"op": "add", "path": path, "value": 1}]), CRANE)


def test_pointers_are_escaped_and_read_back() -> None:
    steps = ("metadata", "annotations", "a~b/c", "", "~1", 0)
    assert pointer_to(*steps) == "/metadata/annotations/a~0b~1c//~01/0"
    assert parse_pointer(pointer_to(*steps)) == [str(step) for step in steps]


def test_a_patch_is_written_as_go_writes_it() -> None:
    patch = (Operation(op="move", from_="/a", path="/b"), Operation(op="add", path="/c", value=None))
    written = write_patch(patch)
    assert written == b'[{"from":"/a","op":"move","path":"/b"},{"op":"add","path":"/c","value":null}]'
    assert read_patch(written) == patch
