"""Progress, on the terminal of a person who waits: what is going on, and how far it has come."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeVar

import click

from fleetform.cli.terminal import moves_cursor, own
from fleetform.syntax.printable import one_line

T = TypeVar("T")
_PATIENCE = 1.0
_SECONDS_BETWEEN = 0.2


class Progress:
    """What is going on. Whoever does the work reports counts as often as it likes: they are only kept."""

    def __init__(self, doing: str, noun: str) -> None:
        self._doing, self._noun = doing, noun
        self._done = self._total = 0

    def report(self, done: int, total: int) -> None:
        self._done, self._total = done, total

    def counting(self, items: Iterable[T], total: int) -> Iterator[T]:
        """The items one by one, each counted when the next is asked for."""
        for done, item in enumerate(items):
            self.report(done, total)
            yield item

    def __str__(self) -> str:
        """`reading 4,100 of 10,000 files…`"""
        counts = f" {self._done:,} of {self._total:,} {self._noun}" if self._total else ""
        return f"{self._doing}{counts}…"


@contextmanager
def progress(doing: str, noun: str = "", quiet: bool = False, patience: float = _PATIENCE) -> Iterator[Progress]:
    """Says on a terminal what is going on, if it takes longer than so many seconds; takes it back at the end."""
    said = Progress(doing, noun)
    if quiet or not moves_cursor(sys.stderr):
        yield said
        return
    done = Event()
    teller = Thread(target=_tell, args=(said, done, patience), daemon=True)
    teller.start()
    try:
        yield said
    finally:
        done.set()
        teller.join()


def _tell(said: Progress, done: Event, patience: float) -> None:
    shown = 0
    wait = patience
    while not done.wait(wait):
        text = one_line(str(said), shutil.get_terminal_size().columns - 1)
        click.echo(f"{own(chr(13))}{text.ljust(shown)}", nl=False, err=True)
        shown, wait = len(text), _SECONDS_BETWEEN
    if shown:
        click.echo(own(f"\r{' ' * shown}\r"), nl=False, err=True)
