"""The way out: everything a command prints passes a guard, so that text of others cannot steer a terminal.

Names, values, changelogs and errors of tools reach messages on many paths. They are not escaped one by one, which one
path would forget, but where they all end. Control sequences of our own carry a mark that nobody else knows.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, TextIO, cast

from fleetform.syntax.addresses import without_logins
from fleetform.syntax.printable import escaped, is_plain

_MARK = f"\0{token_hex(8)}"
_OWN = re.compile(f"{_MARK}(.*?){_MARK}", re.DOTALL)


def own(sequence: str) -> str:
    """A control sequence of ours, which the guard lets pass."""
    return f"{_MARK}{sequence}{_MARK}"


def exact(text: str) -> str:
    """Text of a file that has to stay as it is, as in a patch; a terminal is guarded all the same."""
    return text if sys.stdout.isatty() else own(text)


def guarded(text: str) -> str:
    """A text as it may be printed: our own sequences, and everything else with escapes."""
    if _MARK not in text:
        return text if is_plain(text) else escaped(text)
    parts = _OWN.split(text)
    return "".join(part if place % 2 else guarded(part) for place, part in enumerate(parts))


class _Guarded:
    """A stream of text that guards what is written to it."""

    # A stream that can only write ASCII escapes the rest itself; a library that opens it anew would pass the guard by.
    encoding = "utf-8"

    def __init__(self, stream: TextIO, is_prose: bool) -> None:
        self._stream, self._is_prose = stream, is_prose

    def write(self, text: str) -> int:
        self._stream.write(guarded(without_logins(text) if self._is_prose else text))
        return len(text)

    def writelines(self, texts: list[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Guards stdout and stderr. What goes to stderr is never data, so it has no logins of addresses either."""
    before = sys.stdout, sys.stderr
    sys.stdout = cast(TextIO, _Guarded(sys.stdout, is_prose=False))
    sys.stderr = cast(TextIO, _Guarded(sys.stderr, is_prose=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def wants_color(stream: TextIO) -> bool:
    """Whether colours are welcome there: on a terminal that has them, unless the user said no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int | None:
    """How many columns a terminal has; None if it is none: files and pipes take lines of any length."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def moves_cursor(stream: TextIO) -> bool:
    """Whether a line there can be taken back."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
