"""Kubernetes' quantities, suffix by suffix."""

from __future__ import annotations

from decimal import Decimal

import pytest

from fleetform.syntax.quantities import parse_quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1", "1"),
        ("0", "0"),
        ("1.5", "1.5"),
        ("1.", "1"),
        (".5", "0.5"),
        ("-2", "-2"),
        ("+2", "2"),
        ("1n", "0.000000001"),
        ("1u", "0.000001"),
        ("500m", "0.5"),
        ("1k", "1000"),
        ("1M", "1000000"),
        ("1G", "1000000000"),
        ("1T", "1000000000000"),
        ("1P", "1000000000000000"),
        ("1E", "1000000000000000000"),
        ("1Ki", "1024"),
        ("1Mi", "1048576"),
        ("1.5Gi", "1610612736"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e-3", "0.001"),
        ("1e+2", "100"),
        ("1e0", "1"),
    ],
)
def test_a_quantity_is_an_amount(text: str, amount: str) -> None:
    assert parse_quantity(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "m", "1K", "1 Gi", "1gi", "0x1", "1e", "1e1000", "1Gi ", "1\n", "one", "1.5.2"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity such as 500m or 2Gi"):
        parse_quantity(text)
