"""Text of others, made fit to be shown: it must not steer a terminal, nor hide what it says.

Escaped is what Python does not call printable: control characters, marks that turn the direction of text, characters
of no width, blanks that are no blank. Everything that is printed passes here (`cli/terminal`).
"""

from __future__ import annotations

_KEPT = "\n\t"


def printable(text: str, longest: int = 1_000) -> str:
    """A text whose control characters are written as escapes, and that ends in time."""
    text = escaped(text[: longest + 1])
    return text if len(text) <= longest else text[:longest].rstrip() + "…"


def one_line(text: str, longest: int = 1_000) -> str:
    """The same, with its line breaks as escapes: a name cannot pretend to be another line of an answer."""
    return printable(text, longest).replace("\n", "\\n").replace("\t", "\\t")


def escaped(text: str) -> str:
    """A text of any length with escapes for all but printable characters, line breaks and tabs."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in _KEPT else _escape(each) for each in text)


def escaped_json(text: str) -> str:
    """A JSON text with escapes that JSON has: the same document."""
    if text.isascii() and "\x7f" not in text:
        return text
    lines = (line if line.isprintable() else _escaped_json_line(line) for line in text.split("\n"))
    return "\n".join(lines)


def visible(text: str) -> str:
    """A text in which each such character takes one column, so that what stands below it stays in place."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "�" for each in text)


def is_plain(text: str) -> bool:
    """Whether nothing in a text, line breaks and tabs aside, needs an escape."""
    return text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()


def _escaped_json_line(line: str) -> str:
    return "".join(each if each.isprintable() else _json_escape(each) for each in line)


def _json_escape(character: str) -> str:
    # JSON writes what is beyond 16 bits as two halves.
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
