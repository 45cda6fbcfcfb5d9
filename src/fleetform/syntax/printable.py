"""Text of others, made fit to be shown: it must not steer a terminal."""

from __future__ import annotations

_KEPT = "\n\t"


def printable(text: str, longest: int = 1_000) -> str:
    """A text whose control characters are written as escapes, and that ends in time."""
    if not text.isprintable():
        text = "".join(each if each.isprintable() or each in _KEPT else _escaped(each) for each in text)
    return text if len(text) <= longest else text[:longest].rstrip() + "…"


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
