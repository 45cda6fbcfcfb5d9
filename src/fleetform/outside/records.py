"""Records that several threads read at once.

msgspec finds out what a record is made of when it is first read, and two threads that do so at the same time end the
process: the second takes what the first has not finished (msgspec 0.22, a segmentation fault). So whoever starts
threads has that found out before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from threading import Lock

import msgspec
from msgspec import Struct

_preparing = Lock()


def prepare_records() -> None:
    """Finds out what every record is made of that was imported so far. A tenth of a second, the first time."""
    with _preparing:
        for each in set(_derived(Struct)):
            # Some are never read, and could not be.
            with suppress(TypeError, NameError):
                msgspec.json.Decoder(each)


def _derived(base: type[Struct]) -> Iterator[type[Struct]]:
    for each in base.__subclasses__():
        yield each
        yield from _derived(each)
