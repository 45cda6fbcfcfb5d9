"""Option names make trees as Helm's --set does; paths are read, compared and followed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import read_file
from fleetform.model.results.decisions import ABSENT, Steps
from fleetform.ports.inputs import Document
from fleetform.syntax.option_paths import (
    MAX_INDEX,
    IndexPastEndError,
    PathError,
    get_in,
    normal_form,
    parse_inside,
    parse_path,
    readable_text_of,
    set_in_tree,
    text_of,
    with_value,
    without,
)

# Helm's parser goes on after a JSON value: `1,b=2` sets a second option, `1,` and `[1][2]` lose their ends, a blank
# is null. Here a value is one JSON value, read before any name is looked at.
NOT_JSON = (146, 165, 167, 168, 169, 170, 171, 172, 173, 180, 181, 182, 189, 190, 191, 192, 194, 196, 241)
REFUSED_HERE = {
    **{f"strvals-{number}": "not valid JSON" for number in NOT_JSON},
    # Names that Helm cuts short without a word.
    "strvals-033": "an empty step",
    "strvals-076": "an empty step",
    "strvals-085": "is not closed",
    "strvals-242": "is not closed",
    # Duplicate keys are errors wherever they stand.
    "strvals-123": "duplicate key b",
    "strvals-124": "duplicate key b",
    "strvals-125": "duplicate key b",
    # One option never silently replaces what another one set.
    "strvals-228": "another option has set something else",
}
# Helm reads all numbers as floats and rounds this one; here 64-bit integers stay what they are.
EXACT_HERE: dict[str, Any] = {"strvals-101": {"k": 12345678901234567890}}
# A number that no float can hold is read from JSON as infinity.
NOT_YET = "strvals-099"


def value_of(raw: str) -> Any:
    """A JSON text as it is read from a manifest."""
    (found,) = read_file(
        InputFile(
            "value.json", f'{{"kind": "Plugin", "apiVersion": "fleetform.dev/v1alpha1", "value": {raw}}}'.encode()
        ),
        FileLocator(),
    )
    if not isinstance(found, Document):
        raise PathError(found.message)
    return found.tree["value"]


def tree_of(given: dict[str, Any]) -> Any:
    tree = copy.deepcopy(given.get("start", {}))
    for name, raw in given["options"]:
        set_in_tree(tree, parse_path(name), value_of(raw))
    return tree


@pytest.mark.parametrize("row", rows_of("strvals", without={*REFUSED_HERE, *EXACT_HERE, NOT_YET}))
def test_option_names_make_the_tree_that_helm_makes(row: Row) -> None:
    if "tree" in row.answer:
        assert tree_of(row.given) == row.answer["tree"]
    else:
        with pytest.raises(PathError):
            tree_of(row.given)


@pytest.mark.parametrize("row", rows_named("strvals", REFUSED_HERE))
def test_options_that_only_fleetform_refuses(row: Row) -> None:
    assert "tree" in row.answer
    with pytest.raises(PathError, match=REFUSED_HERE[row.id]):
        tree_of(row.given)


@pytest.mark.parametrize("row", rows_named("strvals", EXACT_HERE))
def test_whole_numbers_of_64_bits_stay_exact(row: Row) -> None:
    assert row.answer["tree"] != EXACT_HERE[row.id]
    assert tree_of(row.given) == EXACT_HERE[row.id]


@pytest.mark.parametrize("row", rows_named("strvals", [NOT_YET]))
def test_a_number_that_no_float_can_hold_is_refused(row: Row) -> None:
    with pytest.raises(PathError):
        tree_of(row.given)


# ---- Reading paths


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("cert-manager.extraArgs[0]", ("cert-manager", "extraArgs", 0)),
        ("a[0][1].b", ("a", 0, 1, "b")),
        (r"a\.b.c", ("a.b", "c")),
        (r"a\,b\=c\[0]", ("a,b=c[0]",)),
        ("a.0", ("a", "0")),
        ("/a/b/0", ("a", "b", 0)),
        ("/a~1b/~0", ("a/b", "~")),
        ("/01", ("01",)),
        ("a[+1]", ("a", 1)),
        ("a[65536]", ("a", 65536)),
    ],
)
def test_a_path_has_these_steps(text: str, steps: Steps) -> None:
    assert parse_path(text) == steps


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "a path must not be empty", 1),
        ("a..b", "an empty step in 'a..b'", 3),
        ("a.", "an empty step in 'a.'", 3),
        (".a", "an empty step in '.a'", 1),
        ("[0]", "an empty step in '[0]'", 1),
        ("a[0", "the [ in 'a[0' is not closed", 2),
        ("a[x]", "'x' in 'a[x]' is not an index", 3),
        ("a[-1]", "'-1' in 'a[-1]' is not an index", 3),
        ("a[++1]", "'++1' in 'a[++1]' is not an index", 3),
        ("a[+]", "'+' in 'a[+]' is not an index", 3),
        ("a[1+]", "'1+' in 'a[1+]' is not an index", 3),
        ("a[]", "'' in 'a[]' is not an index", 3),
        ("a[٣]", "'٣' in 'a[٣]' is not an index", 3),
        ("a[65537]", "index 65537 is greater than 65536", 3),
        ("a[0]b", "unexpected 'b' in 'a[0]b'", 5),
        ("a,b", "',' in 'a,b' must be escaped with \\", 2),
        ("a=b", "'=' in 'a=b' must be escaped with \\", 2),
        ("a\\", "nothing after the \\ in 'a\\\\'", 2),
    ],
)
def test_a_broken_path_says_what_is_wrong_and_where(text: str, message: str, column: int) -> None:
    with pytest.raises(PathError) as caught:
        parse_path(text)
    assert (caught.value.message, caught.value.column) == (message, column)


@pytest.mark.rule("R0-7")
def test_a_dotted_path_and_a_pointer_have_one_normal_form() -> None:
    assert normal_form(parse_path("a.b[0]")) == normal_form(parse_path("/a/b/0"))
    assert normal_form(parse_path("a.b")) != normal_form(parse_path(r"a\.b"))


_STEPS = st.lists(st.text(min_size=1) | st.integers(0, MAX_INDEX), max_size=4)


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1).filter(lambda text: not text.startswith("/")), _STEPS)
def test_the_text_of_any_path_reads_back_as_that_path(first: str, rest: list[str | int]) -> None:
    steps = (first, *rest)
    assert parse_path(text_of(steps)) == steps


# ---- Following paths

TREE = {"a": {"b": [1, 2]}, "0": "zero"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b[1]", 2),
        ("/a/b/0", 1),
        ("/0", "zero"),
        ("a.b[2]", ABSENT),
        ("a.x", ABSENT),
        ("a.b.c", ABSENT),
        ("a.b[0].c", ABSENT),
    ],
)
def test_what_stands_at_a_path(path: str, value: Any) -> None:
    assert get_in(TREE, parse_path(path)) == value


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("a.b[1]", {"a": {"b": [1, "new"]}, "0": "zero"}),
        ("a.x.y", {"a": {"b": [1, 2], "x": {"y": "new"}}, "0": "zero"}),
        ("/0", {"a": {"b": [1, 2]}, "0": "new"}),
        ("n[0].x", {"a": {"b": [1, 2]}, "0": "zero", "n": [{"x": "new"}]}),
    ],
)
def test_a_value_is_put_at_a_path(path: str, changed: Any) -> None:
    assert with_value(TREE, parse_path(path), "new") == changed


@pytest.mark.rule("S18")
def test_the_next_index_of_a_list_appends() -> None:
    assert with_value([1, 2], (2,), 3) == [1, 2, 3]


@pytest.mark.rule("S18")
def test_an_index_past_the_next_one_is_an_error() -> None:
    with pytest.raises(IndexPastEndError, match="index 3 is past the end: the list has 2 items, so 2 is next"):
        with_value([1, 2], (3,), 3)


@pytest.mark.parametrize(
    ("path", "message"), [("a.b.c", "there is no c in a list"), ("a.b[0].c", "there is no c in a single value")]
)
def test_a_value_cannot_be_put_inside_something_of_another_kind(path: str, message: str) -> None:
    with pytest.raises(PathError, match=message):
        with_value(TREE, parse_path(path), "new")


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("a.b[0]", {"a": {"b": [2]}, "0": "zero"}),
        ("a.b", {"a": {}, "0": "zero"}),
        ("/0", {"a": {"b": [1, 2]}}),
        ("a.x.y", TREE),
        ("a.b[1]", {"a": {"b": [1]}, "0": "zero"}),
        ("a.b[2]", TREE),
    ],
)
def test_what_stands_at_a_path_is_taken_away(path: str, left: Any) -> None:
    assert without(TREE, parse_path(path)) == left


def test_what_stands_inside_an_item_of_a_list_is_taken_away() -> None:
    tree = [{"a": 1}, {"a": 2, "b": 3}, {"a": 4}]
    assert without(tree, (1, "a")) == [{"a": 1}, {"b": 3}, {"a": 4}]
    assert without(tree, (1,)) == [{"a": 1}, {"a": 4}]
    assert with_value(tree, (1, "a"), 9) == [{"a": 1}, {"a": 9, "b": 3}, {"a": 4}]
    with pytest.raises(IndexPastEndError, match="index 2 is past the end: the list has 1 item, so 1 is next"):
        with_value([1], (2,), 3)


def test_changing_a_tree_leaves_the_original_as_it_was() -> None:
    before = copy.deepcopy(TREE)
    with_value(TREE, ("a", "b", 0), "new")
    without(TREE, ("a", "b", 0))
    assert before == TREE


def test_a_name_of_more_than_31_steps_is_refused_as_helm_does() -> None:
    longest = ".".join("a" * 31)
    assert len(parse_path(longest)) == 31
    with pytest.raises(PathError, match="more than 31 steps, which Helm refuses"):
        parse_path(f"{longest}.a")


def test_a_path_inside_a_value_may_begin_with_an_index_or_hold_an_empty_key() -> None:
    assert parse_inside("[1].name") == (1, "name")
    assert parse_inside("a.b") == ("a", "b")
    for steps in ((1, "name"), ("a", "", "b"), ("/a", "~"), ("a", 0)):
        assert normal_form(parse_inside(readable_text_of(steps))) == normal_form(steps)
