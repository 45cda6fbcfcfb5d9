"""Cells in memory that behave as an API server's, with faults where a test wants them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from fleetform.outside.kubernetes.errors import BusyError
from fleetform.store.cells import Cell, TakenError, UncertainError


class MemoryCells:
    """fault is asked before each write, by its number: "lost" writes and loses the answer, "refused" does not write and
    answers nothing, "ended" ends the process before it writes, "ended after" afterwards; "" lets it pass.

    reachable False: nothing answers any more.
    """

    def __init__(self, fault: Callable[[int], str] = lambda _: "") -> None:
        self.content: dict[str, Cell] = {}
        self.fault, self.reachable = fault, True
        self.writes = self.reads = 0
        self._versions = count(1)

    def all(self, prefix: str) -> list[Cell]:
        self._read()
        return [each for name, each in sorted(self.content.items()) if name.startswith(prefix)]

    def names(self, prefix: str) -> list[str]:
        return [each.name for each in self.all(prefix)]

    def get(self, name: str) -> Cell | None:
        self._read()
        return self.content.get(name)

    def create(self, name: str, content: bytes) -> str:
        def write() -> str:
            if name in self.content:
                raise TakenError(name)
            return self._put(name, content)

        return self._write(write)

    def replace(self, cell: Cell) -> str:
        def write() -> str:
            found = self.content.get(cell.name)
            if found is None or found.version != cell.version:
                raise TakenError(cell.name)
            return self._put(cell.name, cell.content)

        return self._write(write)

    def delete(self, name: str) -> None:
        def write() -> str:
            self.content.pop(name, None)
            return ""

        try:
            self._write(write)
        except UncertainError as error:
            raise BusyError(str(error)) from error

    def _put(self, name: str, content: bytes) -> str:
        version = str(next(self._versions))
        self.content[name] = Cell(name, content, version)
        return version

    def _read(self) -> None:
        self.reads += 1
        if not self.reachable:
            raise BusyError("the server does not answer")

    def _write(self, write: Callable[[], str]) -> str:
        if not self.reachable:
            raise UncertainError("the server does not answer")
        self.writes += 1
        fault = self.fault(self.writes)
        if fault == "ended":
            raise Ended
        if fault == "refused":
            raise UncertainError("no answer")
        version = write()
        if fault == "ended after":
            raise Ended
        if fault == "lost":
            raise UncertainError("no answer")
        return version


class Ended(BaseException):
    """The process ended here."""
