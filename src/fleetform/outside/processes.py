"""Other programs, run within limits of time, memory and output, and in an environment without secrets (B20)."""

from __future__ import annotations

import os
import re
import resource
import select
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from threading import Lock
from typing import IO, NamedTuple, cast

from fleetform.outside.errors import OutsideError

# The bound is on memory that can be written to; Go reserves far more addresses than it uses. Where the system cannot
# bound a process that runs, a shell sets the bound and then becomes the program: a limit set between fork and exec by
# Python itself is not safe among threads.
_BOUNDED = 'ulimit -d "$1" 2>/dev/null; shift; exec "$@"'
_OUT_OF_MEMORY = re.compile(
    rb"^(fatal error: .*(out of memory|cannot allocate|failed to reserve)|runtime: out of memory|MemoryError\b)",
    re.MULTILINE,
)
_CHUNK = 1 << 16
_PATIENCE = 5.0
_GLANCE = 0.1


class Limits(NamedTuple):
    """The most that one run may take: seconds, bytes of memory, and bytes of each of its outputs."""

    seconds: float = 60.0
    memory: int = 2_000_000_000
    output: int = 100_000_000


DEFAULT_LIMITS = Limits()


class Finished(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    stdout: bytes
    stderr: bytes


class ProcessError(OutsideError):
    """A program did not end by itself."""


class ProgramNotFoundError(ProcessError):
    """There is no such program."""


class NotStartedError(ProcessError):
    """It is there, and the system cannot run it."""


class TooSlowError(ProcessError):
    """It took longer than it may."""


class TooMuchOutputError(ProcessError):
    """It printed more than it may."""


class OutOfMemoryError(ProcessError):
    """It asked for more memory than it may have."""


class StoppedError(ProcessError):
    """It was stopped from outside."""


class Programs:
    """Runs programs, from any number of threads, and can stop all of them at once."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._lock = Lock()
        self._running: set[int] = set()
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        offline: bool = False,
        scratch: str | None = None,
    ) -> Finished:
        """What a program answers; it and all that it starts are gone afterwards.

        environment is added to the few variables that every program gets. offline takes the network away, if this
        system can do that. scratch is the folder that it runs in, which stays; without one each run has its own.
        """
        name = os.path.basename(command[0])
        program = shutil.which(command[0])
        if program is None:
            hint = "check the path, and that it may be executed"
            raise ProgramNotFoundError(f"there is no program {command[0]}", hint)
        with _folder(scratch) as folder:
            around = {**_environment(folder), **(environment or {})}
            whole = [*(cut_off() if offline else ()), os.path.abspath(program), *command[1:]]
            with self._started(whole, folder, around) as process:
                code, stdout, stderr = _PipeExchange(name, process, stdin, self._limits).finish()
        if self._stopped:
            raise StoppedError(f"{name} was stopped", "run it again")
        # If it was killed, and not by us, the kernel killed it because the machine itself had no memory left.
        killed = code in (-signal.SIGKILL, 128 + signal.SIGKILL)
        if code and (killed or _OUT_OF_MEMORY.search(stderr) is not None):
            amount = f"{self._limits.memory / 1_000_000:,.0f} MB"
            raise OutOfMemoryError(f"{name} ran out of memory ({amount})", "let it do less at once")
        return Finished(code, stdout, stderr)

    def opened(self, command: Sequence[str], scratch: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """A program that goes on running, in a folder; it and all that it starts are gone when the context ends."""
        return self._started([os.path.abspath(command[0]), *command[1:]], scratch, _environment(scratch))

    def stop(self) -> None:
        """End everything that runs; nothing is started any more."""
        with self._lock:
            self._stopped = True
            for group in self._running:
                _kill(group)

    @contextmanager
    def _started(
        self, command: list[str], scratch: str, environment: dict[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        bounds = getattr(resource, "prlimit", None)
        shell = ["/bin/sh", "-c", _BOUNDED, "sh", str(self._limits.memory // 1024)] if bounds is None else []
        with self._lock:
            if self._stopped:
                raise StoppedError("we were told to stop", "run it again")
            process = _popen(
                [*shell, *command],
                scratch,
                environment,
            )
            self._running.add(process.pid)
            if bounds is not None:
                # It is still being loaded. A shell in between would cost as much as starting most plugins.
                with suppress(ProcessLookupError, PermissionError):
                    bounds(process.pid, resource.RLIMIT_DATA, (self._limits.memory, self._limits.memory))
        try:
            yield process
        finally:
            _kill(process.pid)
            with self._lock:
                self._running.discard(process.pid)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def _environment(folder: str) -> dict[str, str]:
    """Nothing of ours but the path: no kubeconfig, no token, no proxy, no settings of the tool's own."""
    homes = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR")
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **dict.fromkeys(homes, folder)}


def _popen(command: list[str], scratch: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=scratch,
            env=environment,
            # A group of its own: all that it starts can be ended with it. A session of its own takes our terminal away
            # from it; on a busy machine that makes starting it twice as slow, so only where there is a terminal.
            start_new_session=_has_terminal(),
            process_group=None if _has_terminal() else 0,
        )
    except OSError as error:
        name = os.path.basename(command[0])
        hint = "check its first line, and that it is built for this machine"
        raise NotStartedError(f"{name} cannot be started: {error.strerror}", hint) from error


@cache
def _has_terminal() -> bool:
    """Whether a program that we start could open our terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _folder(scratch: str | None) -> AbstractContextManager[str]:
    if scratch is not None:
        return nullcontext(scratch)
    return tempfile.TemporaryDirectory(prefix="fleetform-", ignore_cleanup_errors=True)


@cache
def cut_off() -> tuple[str, ...]:
    """The command that runs another one without network, not even this machine's own; empty if there is none."""
    program, nothing = shutil.which("unshare"), shutil.which("true")
    if program is None or nothing is None:
        return ()
    command = (os.path.abspath(program), "--map-root-user", "--net", "--")
    try:
        tried = subprocess.run([*command, nothing], capture_output=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if tried.returncode == 0 else ()


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _await_end(process: int, seconds: float) -> None:
    """Wait until a process has ended, where this system can tell at once; it is still to be reaped."""
    try:
        descriptor = os.pidfd_open(process)
    except (AttributeError, OSError):
        return
    try:
        select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)


class _PipeExchange:
    """Writes a program's input and reads its outputs at the same time, so that neither side waits for the other."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], stdin: bytes, limits: Limits) -> None:
        self._name, self._process, self._limits = name, process, limits
        self._deadline = time.monotonic() + limits.seconds
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._left = memoryview(stdin)
        self._read: dict[IO[bytes], bytearray] = {self._stdout: bytearray(), self._stderr: bytearray()}

    def finish(self) -> Finished:
        """What it prints until it ends."""
        self._exchange()
        try:
            # Waiting with a timeout looks now and then; most are gone by now, or a moment later.
            _await_end(self._process.pid, self._time_left())
            code = self._process.wait(timeout=self._time_left())
        except subprocess.TimeoutExpired:
            raise self._too_slow() from None
        return Finished(code, bytes(self._read[self._stdout]), bytes(self._read[self._stderr]))

    def _exchange(self) -> None:
        with selectors.DefaultSelector() as selector:
            os.set_blocking(self._stdin.fileno(), False)
            selector.register(self._stdin, selectors.EVENT_WRITE)
            for output in self._read:
                selector.register(output, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(min(self._time_left(), _GLANCE))
                if not ready and self._process.poll() is not None:
                    # It ended, and something that it started holds its outputs open.
                    break
                if not ready and not self._time_left():
                    raise self._too_slow()
                for key, _ in ready:
                    pipe = cast(IO[bytes], key.fileobj)
                    # Unregistered before it is closed: a closed pipe has no number to be unregistered by.
                    selector.unregister(pipe)
                    if self._write() if pipe is self._stdin else self._read_part(pipe):
                        selector.register(pipe, key.events)

    def _time_left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)

    def _too_slow(self) -> TooSlowError:
        return TooSlowError(f"{self._name} took longer than {self._limits.seconds:g} s", "let it do less at once")

    def _write(self) -> bool:
        """Write a part of the input; whether there is more."""
        try:
            written = self._stdin.write(self._left[:_CHUNK]) if self._left else 0
        except BrokenPipeError:
            # The program reads no more.
            self._left = memoryview(b"")
            written = 0
        self._left = self._left[written or 0 :]
        if not self._left:
            with suppress(BrokenPipeError):
                self._stdin.close()
        return bool(self._left)

    def _read_part(self, pipe: IO[bytes]) -> bool:
        """Read a part of an output; whether there may be more."""
        part = pipe.read(_CHUNK)
        read = self._read[pipe]
        read += part
        if len(read) > self._limits.output:
            amount = f"{self._limits.output / 1_000_000:,g} MB"
            raise TooMuchOutputError(f"{self._name} printed more than {amount}", "let it print less")
        return bool(part)
