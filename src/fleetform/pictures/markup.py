"""Markup: elements as text. Whatever comes from outside is escaped here, once."""

from __future__ import annotations

from fleetform.syntax.addresses import without_logins
from fleetform.syntax.printable import visible

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Markup(str):
    """Text that is markup already, and is put in as it is."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text as content or in an attribute; what nobody can print becomes a visible mark."""
    return Markup(visible(without_logins(text)).translate(_ESCAPES))


def element(name: str, *children: str, **attributes: object) -> Markup:
    """An element. Underscores in attributes are dashes, but for the last one; None leaves an attribute out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = joined(*children)
    return Markup(f"<{name}{written}>{inner}</{name}>" if inner or name not in _EMPTY else f"<{name}{written}/>")


_EMPTY = frozenset({"rect", "path", "circle", "use", "meta", "line"})


def joined(*children: str) -> Markup:
    return Markup("".join(each if isinstance(each, Markup) else escaped(each) for each in children))


def _text(value: object) -> str:
    """Numbers with as many digits as a picture needs."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return str(value)
