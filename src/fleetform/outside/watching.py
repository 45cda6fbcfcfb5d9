"""File events as hints: something changed below some folders. Who gets one looks for himself what it was.

Events get lost, and a system has only so many watches: whoever relies on them must look from time to time anyway.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Event, Thread

# Milliseconds: so long quiet ends a batch, as a checkout writes many files; no batch lasts longer than the second.
_QUIET, _LONGEST = 100, 500


class FileWatcher:
    """Calls changed after each batch of changes, in a thread of its own; failed once if there are no events (any more).

    What is below hidden folders, and in folders that hold a file of the name of mark, does not count; hidden are files
    that do although they are.
    """

    def __init__(
        self,
        names: Sequence[str],
        mark: str,
        hidden: Sequence[str],
        changed: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._roots = [os.path.realpath(name) for name in names]
        self._mark, self._hidden, self._changed, self._failed = mark, hidden, changed, failed
        self._stop, self.watching = Event(), Event()
        self._thread = Thread(target=self._run, daemon=True, name="fleetform watcher")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        # Imported where it is needed: only a control plane that goes on watches files.
        from watchfiles import watch

        # A file is replaced by another under its name, which only its folder notices.
        folders = {each if os.path.isdir(each) else os.path.dirname(each) for each in self._roots}
        try:
            found = watch(
                *folders,
                watch_filter=lambda _, path: self._counts(path),
                debounce=_LONGEST,
                step=_QUIET,
                stop_event=self._stop,
                rust_timeout=1_000,
                yield_on_timeout=True,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
            for batch in found:
                self.watching.set()
                if batch:
                    self._changed()
        except (OSError, RuntimeError) as error:
            self._failed(getattr(error, "strerror", None) or str(error))
        finally:
            self.watching.set()

    def _counts(self, path: str) -> bool:
        root = next((each for each in self._roots if path == each or path.startswith(f"{each}/")), None)
        if root is None:
            return False
        folder = root
        for step in path.removeprefix(root).strip("/").split("/"):
            if step.startswith(".") or os.path.exists(os.path.join(folder, self._mark)):
                return step in self._hidden
            folder = os.path.join(folder, step)
        return True
