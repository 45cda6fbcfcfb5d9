"""Texts that are alike: what one program says on many clusters differs in counts, addresses and the names of pods."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Kubernetes makes the ends of pods' names of these characters, which make no words. What else varies has a digit in it.
_VARYING = re.compile(r"((?<=-)[bcdfghjklmnpqrstvwxz2456789]{5,10}(?![A-Za-z0-9])|[A-Za-z0-9]*[0-9][A-Za-z0-9]*)")
_LEFT_OUT = "…"


def alike(text: str) -> str:
    """The same for texts that are alike: `pod web-x2x8k restarted 3 times`, `pod web-k7wzq restarted 5 times`."""
    return _VARYING.sub(_LEFT_OUT, text)


def told_as_one(texts: Iterable[str]) -> str:
    """Texts that are alike as one: where they differ, `…` stands."""
    told: list[str] = []
    for parts in zip(*(_VARYING.split(each) for each in dict.fromkeys(texts)), strict=True):
        told.append(parts[0] if len(set(parts)) == 1 else _LEFT_OUT)
    return "".join(told)
