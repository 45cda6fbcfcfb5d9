"""Refused sign-ins for the audit log. Whoever tries tokens must not be able to fill a disk with what is said about it:
the first is told at once, those that follow are counted and told together, at growing intervals while it goes on."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from threading import Lock, Timer

# Seconds: a day of trying is some thirty entries.
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0
_MOST_NAMED, _MOST_COUNTED, _LONGEST = 5, 1000, 200


class Refusals:
    """Told of each refusal, it tells record a sentence about some of them."""

    def __init__(
        self,
        record: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], None]], None] | None = None,
    ) -> None:
        self._record, self._clock, self._later = record, clock, later or _in_a_while
        self._lock = Lock()
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._pause = 0.0
        self._told_at = -_LONGEST_PAUSE

    def add(self, address: str, reason: str) -> None:
        with self._lock:
            # The rest is counted under no name: names are made up by who asks, too.
            key = (address, re.sub(r"\s+", " ", reason)[:_LONGEST])
            self._waiting[key if key in self._waiting or len(self._waiting) < _MOST_COUNTED else ("", "")] += 1
            if self._waiting.total() > 1:
                return
            now = self._clock()
            quiet = now - self._told_at
            if quiet >= max(2 * self._pause, _FIRST_PAUSE):
                self._pause = 0.0
            wait = max(self._told_at + self._pause - now, 0.0)
        if wait > 0:
            self._later(wait, self._tell)
        else:
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            found, self._waiting = self._waiting, Counter()
            self._told_at = self._clock()
            self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        if found:
            self._record(_sentence(found))


def _sentence(found: Counter[tuple[str, str]]) -> str:
    addresses = list(dict.fromkeys(address for (address, _), _ in found.most_common() if address))
    reasons = list(dict.fromkeys(reason for (_, reason), _ in found.most_common() if reason))
    number = found.total()
    what = "a token was refused" if number == 1 else f"{number:,} tokens were refused"
    return f"{what}, from {_few(addresses)}: {_few(reasons, '; ')}"


def _few(names: list[str], between: str = ", ") -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return between.join(names[:_MOST_NAMED]) + more


def _in_a_while(seconds: float, do: Callable[[], None]) -> None:
    timer = Timer(seconds, do)
    timer.daemon = True
    timer.start()
