"""Semantic versions: spelling, order, the newest one."""

from __future__ import annotations

import pytest

from fleetform.syntax.versions import VersionError, parse_version, same_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.2.0", "1.2.0"),
        ("v1.2.0", "1.2.0"),
        ("1.2", "1.2.0"),
        ("v1", "1.0.0"),
        ("1.2.3-rc.1+build.5", "1.2.3-rc.1+build.5"),
    ],
)
def test_a_version_is_read(text: str, version: str) -> None:
    assert str(parse_version(text)) == version


@pytest.mark.parametrize(
    "text", ["", "x", "vv1", "V1.2.0", "1.2.3.4", "1.2.3-01", "1.2.x", "^1.2.0", " 1.2.0", "1.2.0 "]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(VersionError, match="is not a semantic version"):
        parse_version(text)


@pytest.mark.rule("R2-43")
@pytest.mark.parametrize("other", ["v1.2.0", "1.2.0", "1.2", "v1.2"])
def test_spellings_of_one_version_are_the_same(other: str) -> None:
    assert same_version("1.2.0", other)


@pytest.mark.parametrize("other", ["1.2.1", "1.2.0-rc.1", "2.2.0"])
def test_other_versions_are_not_the_same(other: str) -> None:
    assert not same_version("1.2.0", other)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [("1.9.0", "1.10.0"), ("1.0.0-rc.1", "1.0.0"), ("1.0.0-rc.2", "1.0.0-rc.10"), ("1.0.0-1", "1.0.0-a")],
)
def test_versions_are_ordered_by_number_not_by_text(lower: str, higher: str) -> None:
    assert parse_version(lower) < parse_version(higher)
