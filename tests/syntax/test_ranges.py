"""Version ranges, held to what Masterminds/semver (Helm's) answers, but for `^…x`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.versions import VersionError

# There a hyphen range takes its lower bound from the alternative before it; here each alternative is its own.
HYPHEN_BEHIND_ALTERNATIVE = {"semver-838"}
# R2-41: there the x behind a caret says nothing; here the range ends at it. `^x` admits nothing there, and all here.
CARET_WITH_WILDCARD = {
    **dict.fromkeys(("semver-151", "semver-167", "semver-175", "semver-1361", "semver-1368"), False),
    **dict.fromkeys(("semver-196", "semver-197", "semver-198", "semver-199", "semver-202", "semver-203"), True),
    **dict.fromkeys(("semver-205", "semver-206", "semver-209"), True),
}


def answer(constraint: str, version: str) -> bool | str:
    try:
        return parse_range(constraint).admits(version)
    except RangeError:
        return "constraintError"
    except VersionError:
        return "versionError"


@pytest.mark.rule("S25", "R2-40")
@pytest.mark.parametrize("row", rows_of("semver", without={*HYPHEN_BEHIND_ALTERNATIVE, *CARET_WITH_WILDCARD}))
def test_a_range_admits_what_helms_admits(row: Row) -> None:
    expected = row.answer.get("matches", next(iter(row.answer)))
    assert answer(row.given["constraint"], row.given["version"]) == expected


@pytest.mark.parametrize("row", rows_named("semver", HYPHEN_BEHIND_ALTERNATIVE))
def test_a_hyphen_range_behind_an_alternative_is_read(row: Row) -> None:
    assert answer(row.given["constraint"], row.given["version"]) is True


@pytest.mark.rule("R2-41")
@pytest.mark.parametrize("row", rows_named("semver", CARET_WITH_WILDCARD))
def test_a_range_with_an_x_behind_a_caret_is_answered_otherwise(row: Row) -> None:
    assert answer(row.given["constraint"], row.given["version"]) is CARET_WITH_WILDCARD[row.id]
    assert row.answer["matches"] is not CARET_WITH_WILDCARD[row.id]


@pytest.mark.rule("R2-41", "S25")
@pytest.mark.parametrize(
    ("constraint", "admitted", "refused"),
    [
        ("^v1.1.x", ["1.1.0", "1.1.9"], ["1.2.0", "1.0.9", "2.0.0", "1.1.9-rc.1"]),
        ("^1.x", ["1.0.0", "1.9.0"], ["2.0.0", "0.9.0"]),
        ("^0.0.x", ["0.0.1", "0.0.9"], ["0.1.0", "1.0.0"]),
        ("^1.2.*", ["1.2.0"], ["1.3.0"]),
        ("^x", ["0.1.0", "7.0.0"], ["1.0.0-rc.1"]),
        ("^1.1", ["1.1.0", "1.9.9"], ["2.0.0", "1.0.9"]),
    ],
)
def test_an_x_behind_a_caret_says_where_the_range_ends(
    constraint: str, admitted: list[str], refused: list[str]
) -> None:
    found = parse_range(constraint)
    assert [version for version in admitted + refused if found.admits(version)] == admitted


@pytest.mark.parametrize(
    ("constraint", "column"),
    [
        ("abc", 1),
        (">=1.2.3 #x", 9),
        ("^1 || ", 7),
        ("1.2.3 - >2", 9),
        ("=1.2.3-01", 2),
        (">=1.2.3,", 9),
        ("1.2.3.4", 6),
    ],
)
def test_an_error_points_at_its_column(constraint: str, column: int) -> None:
    with pytest.raises(RangeError) as caught:
        parse_range(constraint)
    assert caught.value.column == column
    assert str(caught.value) == caught.value.message


@pytest.mark.rule("R2-43")
def test_a_pin_names_one_version_and_a_leading_v_does_not_count() -> None:
    assert parse_range("v1.2.3").exact == parse_range("=1.2.3").exact == "1.2.3"
    assert parse_range("1.2").exact is None


def column_of_error(text: str) -> int | None:
    try:
        parse_range(text)
    except RangeError as error:
        return error.column
    return None


@given(st.text(alphabet="0123456789.xX*^~<>=!|, -+vab", max_size=30))
def test_whatever_is_written_gives_an_answer_or_an_error_with_a_column(text: str) -> None:
    column = column_of_error(text)
    if column is None:
        assert parse_range(text).admits("1.2.3") in (True, False)
    else:
        assert 1 <= column <= len(text) + 1
