"""A program that is kept alive and answers line by line, within bounds of time, memory and output (B20)."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Self

from fleetform.outside.errors import OutsideError
from fleetform.outside.processes import Limits, Programs, TooMuchOutputError, TooSlowError

_CHUNK = 1 << 16
# What is kept of its log: the end, where the reason of a failure is.
_LOG = 1 << 16
_LEAVE = 1.0


class EndedError(OutsideError):
    """It ended before it answered; stderr is what it said last."""

    def __init__(self, message: str, stderr: bytes) -> None:
        super().__init__(message, "run it by hand with the same input")
        self.stderr = stderr


class Stream:
    """One running program: lines in, a line out for each. It serves one thread; after an error it is of no use."""

    def __init__(self, programs: Programs, command: list[str], scratch: str, limits: Limits) -> None:
        self._name, self._limits = os.path.basename(command[0]), limits
        self._held = ExitStack()
        self._process = self._held.enter_context(programs.opened(command, scratch))
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe is not None)
        for number in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(number, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._log = bytearray()
        self._log_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """The lines that it answers to lines, in order. It gets them all at once, and each answer has its own time."""
        left = memoryview(b"".join(lines))
        read = bytearray()
        for _ in lines:
            deadline = time.monotonic() + self._limits.seconds
            while (end := read.find(b"\n")) < 0:
                left = left[self._write(left) :] if left else left
                self._await(deadline, bool(left))
                self._drain_log()
                read += self._read()
                if len(read) > self._limits.output and b"\n" not in read:
                    amount = f"{self._limits.output / 1_000_000:,g} MB"
                    raise TooMuchOutputError(f"{self._name} printed more than {amount}", "let it print less")
            yield bytes(read[:end])
            del read[: end + 1]
        if read:
            raise EndedError(f"{self._name} printed more lines than it had requests", bytes(self._log))

    def _read(self) -> bytes:
        try:
            part = os.read(self._stdout, _CHUNK)
        except BlockingIOError:
            return b""
        if not part:
            raise self._ended()
        return part

    def _await(self, deadline: float, has_more: bool) -> None:
        """Wait until there is something to read, or room to write."""
        if has_more:
            self._poll.register(self._stdin, select.POLLOUT)
        try:
            if not self._poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
                message = f"{self._name} took longer than {self._limits.seconds:g} s"
                raise TooSlowError(message, "let it do less at once")
        finally:
            if has_more:
                self._poll.unregister(self._stdin)

    def _write(self, left: memoryview) -> int:
        try:
            return os.write(self._stdin, left)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise self._ended() from None

    def _drain_log(self) -> None:
        if self._log_ended:
            return
        try:
            part = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return
        if not part:
            self._log_ended = True
            self._poll.unregister(self._stderr)
        self._log += part
        del self._log[:-_LOG]

    def _ended(self) -> EndedError:
        # It may be between its last word and its end.
        end = time.monotonic() + _LEAVE
        while self._process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        self._drain_log()
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended by {_signal(code)}" if code < 0 else f"ended with {code}"
        return EndedError(f"{self._name} {how} before it answered", bytes(self._log))

    def close(self) -> None:
        """End it, with all that it started."""
        self._held.close()


def _signal(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
