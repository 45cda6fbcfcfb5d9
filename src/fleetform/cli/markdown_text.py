"""Text of others inside Markdown: it reads as it was written, and can do nothing.

A comment on a pull request is rendered with the rights of a bot: a name or a changelog must not mention people, close
issues, load images or bring HTML of its own.
"""

from __future__ import annotations

import html
import re

from fleetform.syntax.addresses import with_masked_logins
from fleetform.syntax.printable import escaped, printable

_SPECIAL = re.compile(r"[\\`*_\[\]<>#!|~$&]")
_REFERENCE = re.compile(r"[@#](?=\w)|(?<=\bGH)-(?=\d)", re.IGNORECASE)
_TICKS = re.compile("`+")
# A blank of no width, as an entity: what stands on both sides of it is no mention and no reference.
_APART = "&#8203;"


def inline(text: str, longest: int = 1_000) -> str:
    """A text inside a line or a cell of a table."""
    plain = " ".join(printable(with_masked_logins(text), longest).split())
    parts = _REFERENCE.split(plain)
    marks = _REFERENCE.findall(plain)
    safe = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts]
    return safe[0] + "".join(f"{_mark(mark)}{_APART}{part}" for mark, part in zip(marks, safe[1:], strict=True))


def code(text: str, longest: int = 60) -> str:
    """A text as code inside a line or a cell of a table."""
    plain = printable(" ".join(with_masked_logins(text).split()), longest)
    fence = "`" * (max(map(len, _TICKS.findall(plain)), default=0) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") or not plain else ""
    return f"{fence}{pad}{plain.replace('|', chr(92) + '|')}{pad}{fence}"


def fenced(text: str, longest: int = 8_000, language: str = "text") -> str:
    """A text of several lines as a block of code."""
    plain = escaped(with_masked_logins(text)).rstrip()
    plain = plain if len(plain) <= longest else plain[:longest].rstrip() + "…"
    fence = "`" * max(3, max(map(len, _TICKS.findall(plain)), default=0) + 1)
    return f"{fence}{language}\n{plain}\n{fence}"


def summary(text: str) -> str:
    """A text inside of an HTML element, which Markdown does not read."""
    plain = html.escape(" ".join(printable(with_masked_logins(text)).split()))
    return re.sub(r"@(?=\w)", f"@{_APART}", plain)


def _mark(mark: str) -> str:
    return f"\\{mark}" if mark == "#" else mark
