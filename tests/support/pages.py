"""Pages of documentation as steps: the files that a reader is told to write, and the commands with what they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# A longer fence holds what has fences itself.
BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)(?P=fence)$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(
    r"(?P<verb>[Ww]rite|[Aa]ppend to|[Cc]hange) `(?P<name>[\w./-]+\.(?:yaml|json)|[\w./-]+/probe)`(?: to)?:\s*\Z"
)


class Command(NamedTuple):
    """What stands after a `$`, and the lines that follow it."""

    line: int
    text: str
    printed: list[str]


class File(NamedTuple):
    """A file that the reader is told to write."""

    name: str
    text: str
    append: bool


def steps_of(text: str) -> Iterator[Command | File]:
    """What a page tells its reader to do, in order."""
    for block in BLOCK.finditer(text):
        body = re.sub(rf"^{block['indent']}", "", block["text"], flags=re.MULTILINE)
        told = _FILE.search(text[: block.start()])
        if block["language"] == "console":
            yield from _commands(body, text.count("\n", 0, block.start()) + 2)
        elif told is not None:
            yield File(told["name"], body, told["verb"].lower() == "append to")


def _commands(block: str, first_line: int) -> Iterator[Command]:
    command: Command | None = None
    for number, line in enumerate(block.splitlines(), start=first_line):
        if line.startswith("$ "):
            if command is not None:
                yield command
            command = Command(number, line[2:], [])
        elif command is None:
            raise ValueError(f"line {number}: a console block begins with a command")
        else:
            command.printed.append(line.rstrip())
    if command is not None:
        yield command
