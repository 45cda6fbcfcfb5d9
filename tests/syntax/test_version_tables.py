"""Versions, held to what Masterminds/semver (Helm's) answers."""

from __future__ import annotations

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.syntax.versions import VersionError, parse_version

# There a numeric identifier beyond 64 bits is compared as text; here numbers are numbers.
BEYOND_64_BITS = {"semver_order-098"}


@pytest.mark.rule("R2-43")
@pytest.mark.parametrize("row", rows_of("semver_versions"))
def test_a_version_is_read_as_helm_reads_it(row: Row) -> None:
    answer = row.answer["lenient"]
    if "error" in answer:
        with pytest.raises(VersionError):
            parse_version(row.given["version"])
    else:
        assert str(parse_version(row.given["version"])) == answer["string"]


@pytest.mark.parametrize("row", rows_of("semver_order", without=BEYOND_64_BITS))
def test_versions_are_ordered_as_helm_orders_them(row: Row) -> None:
    one, other = parse_version(row.given["a"]), parse_version(row.given["b"])
    assert one.compare(other) == row.answer["compare"]


@pytest.mark.parametrize("row", rows_named("semver_order", BEYOND_64_BITS))
def test_numbers_beyond_64_bits_are_numbers(row: Row) -> None:
    one, other = parse_version(row.given["a"]), parse_version(row.given["b"])
    assert one.compare(other) == -row.answer["compare"]
