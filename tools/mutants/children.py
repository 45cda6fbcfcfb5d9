"""Children of a process that has imported pytest once: each starts at once, is bounded, and ends whole."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_MEMORY = 4 << 30


class Child:
    """A piece of work in a process of its own, with a folder for what it writes; it may say something."""

    def __init__(self, work: Callable[[int, Path], None], seconds: float) -> None:
        self._read, write = os.pipe()
        self._deadline = time.monotonic() + seconds
        self._scratch = Path(tempfile.mkdtemp(prefix="mutant-"))
        self.said = b""
        self.seconds = 0.0
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._read)
            _work(work, write, self._scratch)
        os.close(write)

    @staticmethod
    def ended(children: Iterable[Child]) -> list[Child]:
        """Waits until some have ended; those beyond their time are ended first."""
        waiting = list(children)
        while True:
            patience = max(0.0, min(each._deadline for each in waiting) - time.monotonic())
            ready, _, _ = select.select([each._read for each in waiting], [], [], patience)
            ended = [each for each in waiting if each._read in ready and each._take()]
            ended += [each for each in waiting if each not in ended and each._deadline <= time.monotonic()]
            if ended:
                for each in ended:
                    each._end()
                return ended

    def _take(self) -> bool:
        """Takes what it says; true once it says no more."""
        piece = os.read(self._read, 65536)
        self.said += piece
        return not piece

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        *_, used = os.wait4(self._pid, 0)
        self.seconds = used.ru_utime + used.ru_stime
        os.close(self._read)
        shutil.rmtree(self._scratch, ignore_errors=True)


def _work(work: Callable[[int, Path], None], write: int, scratch: Path) -> None:
    """In the child; never returns. Its own children belong to its group, and do not hold the pipe."""
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        (scratch / "tmp").mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch / "tmp")
        # What one mutant read must not be found by the next.
        os.environ["FLEETFORM_CACHE_DIR"] = str(scratch / "cache")
        work(write, scratch)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


@contextlib.contextmanager
def quietly(log: Path) -> Iterator[None]:
    """What is printed goes to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as target:
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
        yield
