"""Kubernetes' quantities: amounts of cpu, memory and the like."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

_QUANTITY = re.compile(
    r"(?P<number>[-+]?([0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?\Z"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=65_536)
def parse_quantity(text: str) -> Decimal:
    """A Kubernetes quantity such as 500m, 1.5Gi or 1e3. ValueError if it is none."""
    match = _QUANTITY.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m or 2Gi")
    suffix = match.group("suffix") or ""
    try:
        number = Decimal(match.group("number"))
        if suffix in _BINARY:
            return number * Decimal(2) ** _BINARY[suffix]
        return number.scaleb(_DECIMAL.get(suffix) or int(suffix[1:] or 0))
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is out of range") from error
